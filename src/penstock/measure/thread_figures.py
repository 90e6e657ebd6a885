"""What a threaded element tells about a period, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadFigures:
    """A period from one look to the next.

    `tuples` came out of sources and are done; `rate_tuples_s` goes by the moments at which steps were complete, and
    counts only time in which there was input: `complete_s` between the first and the last. `samples` says how often a
    thread was seen in each operator, older periods counting half as much each.
    """

    busy_s: float
    tuples: int
    rate_tuples_s: float
    threads: int
    max_threads: int
    queued: frozenset[str]
    samples: Mapping[str, float]
    most_in_queue: Mapping[str, int]
    in_flight: int
    holds_gil: frozenset[str]
    complete_s: float = 0.0


def gil_advice(operators: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each operator that threads cannot speed up, and what to do about it.

    What was measured is the wait for the GIL while all busy threads were in one operator, also where one ran alone.
    """
    return tuple(
        f"operator '{name}' held the GIL in most samples: threads cannot speed it up; use replicas instead"
        for name in sorted(set(operators))
    )
