"""The strategy of the SPL runtime (Gedik et al., TPDS 2014): congestion, throughput, and the memory of past levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rivals.bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class Level:
    """What was seen when this number of replicas was last in use; `first_*`: at the begin of that stay."""

    congested: bool
    tuples_s: float
    first_congested: bool
    first_tuples_s: float


@dataclass(frozen=True, slots=True)
class SplState:
    """Levels not forgotten, the level of the period before, and the end of the last period."""

    levels: Mapping[int, Level] = field(default_factory=dict)
    previous: int | None = None
    decided_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Spl:
    """Up while congested unless the next level is known to bring nothing; down while the level below is not congested.

    A level that is congested and no faster than the one below waits for something else: down.  When congestion or
    throughput change while the level stays, the load has changed: what is known of the levels above (more load) or
    below (less load) is forgotten.
    """

    congestion: float = 0.1
    sensitivity: float = 0.9
    adaptation_s: float = 4.0
    bounds: Bounds = FULL_RANGE
    name: str = "spl"

    def start(self) -> SplState:
        return SplState()

    def decide(self, state: SplState, seen: ControlStep) -> tuple[SplState, Decision]:
        if state.decided_at_s is not None and seen.ended_at_s < state.decided_at_s + self.adaptation_s - 1e-9:
            return state, Hold("between two adaptation periods")
        at = seen.setting.replicas
        index = congestion_index(seen)
        congested, rate = index > self.congestion, seen.served_tuples_s
        levels = self._remembered(state, at, congested, rate)
        state = SplState(levels, at, seen.ended_at_s)
        return state, self.bounds.to(seen, self._next(levels, at), f"congestion index {index:.2f}")

    def _remembered(self, state: SplState, at: int, congested: bool, rate: float) -> dict[int, Level]:
        levels = dict(state.levels)
        stayed = state.previous == at and at in levels
        if not stayed:
            levels[at] = Level(congested, rate, congested, rate)
            return levels
        first = levels[at]
        more = (congested and not first.first_congested) or rate > first.first_tuples_s / self.sensitivity
        less = (first.first_congested and not congested) or rate < first.first_tuples_s * self.sensitivity
        if more or less:
            levels = {i: level for i, level in levels.items() if not (more and i > at) and not (less and i < at)}
            levels[at] = Level(congested, rate, congested, rate)
        else:
            levels[at] = replace(first, congested=congested, tuples_s=rate)
        return levels

    def _next(self, levels: Mapping[int, Level], at: int) -> int:
        own, below, above = levels[at], levels.get(at - 1), levels.get(at + 1)
        if own.congested:
            if below is not None and below.congested and own.tuples_s * self.sensitivity <= below.tuples_s:
                return at - 1  # as fast with fewer: the congestion is elsewhere
            helps = above is None or above.tuples_s * self.sensitivity > own.tuples_s
            return at + 1 if helps else at
        return at - 1 if below is None or not below.congested else at


def congestion_index(seen: ControlStep) -> float:
    """The share of its time that the source is blocked; here, tuples left behind beyond what a micro-batch collects."""
    if seen.arrived_tuples <= 0:
        return 1.0 if seen.backlog_tuples > 0 else 0.0
    collected = seen.rate_tuples_s * (seen.micro_batch_s or 0.0)
    waiting = max(seen.backlog_tuples - collected, 0.0) / seen.arrived_tuples
    ratio = seen.offered_ratio
    short = 0.0 if ratio is None or ratio <= 1 else 1 - 1 / ratio
    return min(max(waiting, short), 1.0)
