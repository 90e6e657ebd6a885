"""A neighbour that writes 10 MB of memory again and again: by how much it raises an element's CPU (Figures 21, 25)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.model.case_run import CaseRun, Measurement
from benchmarks.model.cases import Case
from penstock.model.costs.node_speed import contention_of
from penstock.runtime.profiling.neighbours import NEIGHBOURS, neighbours
from penstock.spark.session.session import Session

LEARNED_AT, JUDGED_AT = 0.4, 0.6  # of the highest rate


@dataclass(frozen=True, slots=True)
class Contention:
    """`factor`: learned at one rate; `measured`, `predicted`: CPU of the element beside neighbours at another (cores).

    `alone`: what it takes there without them.
    """

    factor: float
    alone: float
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return abs(self.predicted / self.measured - 1) if self.measured else 0.0


def run_contention(case: Case, session: Session, seconds: float, rounds: int) -> Contention:
    """The case's first element alone and beside neighbours, at two rates."""
    run = CaseRun(case, session, seconds, rounds)
    wanted = [(case.learned, share) for share in (LEARNED_AT, JUDGED_AT)]
    alone = _cpu_s(case, run.measured(wanted))
    with neighbours():
        shared = _cpu_s(case, run.measured(wanted))
    return contention(alone, shared)


def contention(alone: tuple[float, float], shared: tuple[float, float]) -> Contention:
    """Learned from the first of two rates, predicted for the second."""
    factor = contention_of(alone[0], shared[0], NEIGHBOURS)
    return Contention(factor, alone[1], shared[1], alone[1] * (1 + factor * NEIGHBOURS))


def _cpu_s(case: Case, seen: list[Measurement]) -> tuple[float, float]:
    """CPU of the learned element for a second's tuples, at the lower and at the higher rate."""
    name = case.learned[0][0]
    low, high = (
        median(each.elements[element].cpu_s for each in own.rounds if element in each.elements)
        for own in sorted(seen, key=lambda own: own.rate)
        for element in own.elements
        if name in own.elements[element]
    )
    return low, high
