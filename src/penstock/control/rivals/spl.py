"""The strategy of the SPL runtime (Gedik et al., TPDS 2014): congestion, throughput, and the memory of past levels.

The rules are those that PROACTIVE compares with, as its authors published them with their system (elastic-hft).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class Level:
    """What was seen in the last adaptation period at this level."""

    congested: bool
    tuples_s: float


@dataclass(frozen=True, slots=True)
class SplState:
    """Levels not forgotten, the level of the period before, the throughput when it was entered, and steps since."""

    levels: Mapping[int, Level] = field(default_factory=dict)
    previous: int | None = None
    first_tuples_s: float = 0.0
    gathered: tuple[ControlStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Spl:
    """Up while congested unless the level above was slower; down unless the level below was congested.

    Congested right after going up from a level that was congested and no slower: the congestion is elsewhere, and back
    down.  A sign of more load forgets the levels above, one of less load those below.  Signs are congestion that comes
    or goes, throughput that moves against the change of level, and at the same level throughput that has moved by
    `sensitivity` of what the next level would add.  `rapid`: levels grow by the root of two, as in the SPL runtime;
    PROACTIVE's are single replicas.
    """

    congestion: float = 0.1
    sensitivity: float = 0.9
    adaptation_s: float = 4.0
    rapid: bool = False
    bounds: Bounds = FULL_RANGE
    name: str = "spl"

    def start(self) -> SplState:
        return SplState()

    def decide(self, state: SplState, seen: ControlStep) -> tuple[SplState, Decision]:
        gathered = (*state.gathered, seen)
        span_s = sum(s.period_s for s in gathered)
        if state.previous is not None and span_s < self.adaptation_s - 1e-9:
            return replace(state, gathered=gathered), Hold("between two adaptation periods")
        index = sum(congestion_index(s) * s.period_s for s in gathered) / span_s
        now = Level(index > self.congestion, sum(s.served_tuples for s in gathered) / span_s)
        replicas = self.replicas_by_level()
        at = max((i for i, n in enumerate(replicas) if n <= seen.setting.replicas), default=0)
        levels = self._remembered(state, at, now, replicas)
        first = state.first_tuples_s if state.previous == at else now.tuples_s
        wanted = replicas[min(_next(levels, at, came_up=state.previous == at - 1), len(replicas) - 1)]
        return SplState(levels, at, first), self.bounds.to(seen, wanted, f"congestion index {index:.2f}")

    def replicas_by_level(self) -> tuple[int, ...]:
        """Of every level within the bounds."""
        lowest, highest = self.bounds.lowest, self.bounds.highest
        if not self.rapid:
            return tuple(range(lowest, highest + 1))
        grown = (int(0.5 + 2 ** (0.5 * (level + 1))) for level in range(2 * highest.bit_length() + 1))
        return tuple(sorted({lowest, highest} | {n for n in grown if lowest <= n <= highest}))

    def _remembered(self, state: SplState, at: int, now: Level, replicas: Sequence[int]) -> dict[int, Level]:
        """The levels that still count, this one included."""
        more = less = False
        before = state.levels.get(state.previous) if state.previous is not None else None
        if before is not None and state.previous == at:
            more, less = now.congested and not before.congested, before.congested and not now.congested
            of_one = state.first_tuples_s / replicas[at]
            added = replicas[at + 1] - replicas[at] if at + 1 < len(replicas) else 1
            taken = replicas[at] - (replicas[at - 1] if at > 0 else 0)
            more |= now.tuples_s - state.first_tuples_s > self.sensitivity * added * of_one
            less |= state.first_tuples_s - now.tuples_s > self.sensitivity * taken * of_one
        elif before is not None and state.previous == at + 1:
            more, less = now.tuples_s > before.tuples_s, before.congested and not now.congested
        elif before is not None and state.previous == at - 1:
            more, less = now.congested and not before.congested, now.tuples_s < before.tuples_s
        remaining = {i: level for i, level in state.levels.items() if not (more and i > at) and not (less and i < at)}
        return {**remaining, at: now}


def _next(levels: Mapping[int, Level], at: int, *, came_up: bool) -> int:
    own, below, above = levels[at], levels.get(at - 1), levels.get(at + 1)
    if not own.congested:
        return at if at == 0 or (below is not None and below.congested) else at - 1
    if came_up and below is not None and below.congested and own.tuples_s <= below.tuples_s:
        return at - 1
    return at + 1 if above is None or above.tuples_s >= own.tuples_s else at


def congestion_index(seen: ControlStep) -> float:
    """The share of its time that the source is blocked; here, tuples left behind beyond what a micro-batch collects."""
    if seen.arrived_tuples <= 0:
        return 1.0 if seen.backlog_tuples > 0 else 0.0
    collected = seen.rate_tuples_s * (seen.micro_batch_s or 0.0)
    waiting = max(seen.backlog_tuples - collected, 0.0) / seen.arrived_tuples
    ratio = seen.offered_ratio
    short = 0.0 if ratio is None or ratio <= 1 else 1 - 1 / ratio
    return min(max(waiting, short), 1.0)
