"""Threads of an element that a policy finds while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from penstock.errors import InputError

ThreadPolicy = Literal["elastic", "elastic_operator", "multilevel"]
POLICIES: tuple[str, ...] = get_args(ThreadPolicy)
MOST_THREADS = 64


@dataclass(frozen=True, slots=True)
class ElasticThreads:
    """From `least` to `most` threads in each replica, found anew every period of busy time.

    Computing elements keep to the cores whatever `most` says. Policies: the elastic operator that leaps (`elastic`), as
    it is printed in ELASTIC (`elastic_operator`), or queues and threads together (`multilevel`).
    """

    least: int = 1
    most: int = MOST_THREADS
    policy: ThreadPolicy = "elastic"
    period_s: float = 1.0


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
    if not threads.period_s > 0:
        raise InputError(f"a period of element '{element}' takes more than 0 s; got {threads.period_s!r}")


def threads_to_json(threads: int | ElasticThreads) -> dict[str, Any]:
    """Nothing for the one thread that is usual."""
    if isinstance(threads, ElasticThreads):
        return {"threads": asdict(threads)}
    return {} if threads == 1 else {"threads": threads}


def threads_from_json(element: Mapping[str, Any]) -> int | ElasticThreads:
    body = element.get("threads", 1)
    return ElasticThreads(**body) if isinstance(body, dict) else int(body)
