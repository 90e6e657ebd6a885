"""Threads of an element that a policy finds while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from penstock.arguments import FLAG, TEXT, check_arguments, checked_calls, number, or_none, whole
from penstock.errors import InputError

ThreadPolicyName = Literal["elastic", "elastic_operator", "multilevel"]
POLICIES: tuple[str, ...] = get_args(ThreadPolicyName)
MOST_THREADS = 64
_PERIODS_S = {"multilevel": 5.0}  # the papers': 1 s in ELASTIC, 5 s in MULTILEVEL


@checked_calls("ElasticThreads")
@dataclass(frozen=True, slots=True)
class ElasticThreads:
    """Between `least` and `most` threads in each replica; a policy chooses how many while the element runs.

    `policy` is `elastic` (the elastic operator with doubling steps), `elastic_operator` (the algorithm as printed in
    ELASTIC) or `multilevel` (queues and threads together, as in MULTILEVEL; `least` is 1).  It decides once per
    `period_s` of busy time: 1 s, or 5 s for `multilevel`.  An element that computes gets no more threads than it has
    cores, whatever `most` says.

    Of `elastic_operator`: `tolerance` is the least relative difference that counts, `decay_rate` how fast a peak is
    forgotten that is no longer reached.  Of `multilevel`: `sensitivity` (SENS) is the least relative gain for which the
    search goes on (None: 0.01, or the paper's 0.05 with `as_printed`); queues stay as they are if a change of threads
    brings more than `satisfaction` of what equal efficiency would bring (None: they are always searched again);
    `as_printed` uses the paper's groups of similar cost and ends with the last setting tried.

    >>> ElasticThreads(least=2, most=16).busy_period_s
    1.0
    """

    least: int = 1
    most: int = MOST_THREADS
    policy: ThreadPolicyName = "elastic"
    period_s: float | None = None
    tolerance: float = 0.05
    decay_rate: float = 0.01
    sensitivity: float | None = None
    satisfaction: float | None = 0.6
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_arguments(
            "ps.ElasticThreads", least=(self.least, whole()), most=(self.most, whole()), policy=(self.policy, TEXT),
            period_s=(self.period_s, or_none(number())), tolerance=(self.tolerance, number()),
            decay_rate=(self.decay_rate, number()), sensitivity=(self.sensitivity, or_none(number())),
            satisfaction=(self.satisfaction, or_none(number())), as_printed=(self.as_printed, FLAG),
        )  # fmt: skip

    @property
    def busy_period_s(self) -> float:
        """The period in force, in seconds in which the element is busy."""
        return _PERIODS_S.get(self.policy, 1.0) if self.period_s is None else self.period_s


def check_threads(element: str, threads: int | ElasticThreads) -> None:
    """Raises InputError where an element cannot have so many."""
    if not isinstance(threads, ElasticThreads):
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
            raise InputError(f"element '{element}' has from 1 to {MOST_THREADS} threads; got {threads!r}")
        return
    if not 1 <= threads.least <= threads.most <= MOST_THREADS:
        raise InputError(f"the threads of element '{element}' are bounded within 1 to {MOST_THREADS}, the least first; "
                         f"got {threads.least} to {threads.most}")  # fmt: skip
    if threads.policy not in POLICIES:
        raise InputError(f"the threads of element '{element}' are found by one of {', '.join(POLICIES)}; "
                         f"got {threads.policy!r}")  # fmt: skip
    if threads.policy == "multilevel" and threads.least > 1:
        raise InputError(f"the threads of element '{element}' by multilevel begin at 1, since without queues one "
                         f"does it all; got {threads.least} to {threads.most}; did you mean "
                         f"elastic:{threads.least}-{threads.most}?")  # fmt: skip
    if not threads.busy_period_s > 0:
        raise InputError(f"a period of element '{element}' takes more than 0 s; got {threads.period_s!r}")
    for name in ("tolerance", "decay_rate", "sensitivity", "satisfaction"):
        value = getattr(threads, name)
        if value is not None and not 0 <= value < 1:
            raise InputError(f"{name} of element '{element}' is from 0 to less than 1; got {value!r}")


def threads_to_json(threads: int | ElasticThreads) -> dict[str, Any]:
    """Nothing for the one thread that is usual."""
    if isinstance(threads, ElasticThreads):
        return {"threads": asdict(threads)}
    return {} if threads == 1 else {"threads": threads}


def threads_from_json(element: Mapping[str, Any]) -> int | ElasticThreads:
    body = element.get("threads", 1)
    return ElasticThreads(**body) if isinstance(body, dict) else int(body)
