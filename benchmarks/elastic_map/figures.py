"""What `python -m benchmarks elastic-map` measured: rates of its variants, and of the elastic pool at each knee."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.elastic_map.slow_service import PAST_KNEE

KNEES = (16, 6, 24)
SPEED_UP_GOAL, STATIC_GOAL, KNEE_GOAL, PAST_KNEE_GOAL = 20.0, 0.95, 0.9, 0.2
SPARKS_OWN = "Spark's concurrency.level"
Period = Mapping[str, Any]  # a line of the pool's journal


@dataclass(frozen=True, slots=True)
class Row:
    """One variant: rows per second as the service saw them late in the run, and of the whole job by the clock."""

    name: str
    tuples_s: float
    whole_tuples_s: float
    in_order: bool
    level: str


@dataclass(frozen=True, slots=True)
class Round:
    """The best fixed level once more, and the elastic pool right after or before it."""

    fixed: Row
    elastic: Row

    @property
    def ratio(self) -> float:
        return self.elastic.tuples_s / self.fixed.tuples_s


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which the service had one knee, and what it counted.

    `tuples_s` is of the second half, when the pool has had time to follow; `past_knee_ratio` is the share of all of the
    time in which more than 1.25 times the knee were asked at once.
    """

    knee: int
    begin_s: float
    end_s: float
    tuples_s: float
    most_calls: int
    past_knee_ratio: float


@dataclass(frozen=True, slots=True)
class Knee:
    """The elastic pool in one phase, beside the best fixed level at that knee; `level` None: it decided nothing."""

    phase: Phase
    best_static_tuples_s: float
    level: int | None

    @property
    def ratio(self) -> float:
        return self.phase.tuples_s / self.best_static_tuples_s

    def to_json(self) -> dict[str, Any]:
        phase = self.phase
        return {
            "knee": phase.knee, "tuples_s": round(phase.tuples_s, 1),
            "best_static_tuples_s": round(self.best_static_tuples_s, 1), "ratio": round(self.ratio, 3),
            "level": self.level, "most_calls_at_once": phase.most_calls,
            "past_knee_ratio": round(phase.past_knee_ratio, 3),
        }  # fmt: skip


@dataclass(slots=True)
class Report:
    """All that was measured; the row of the elastic pool is that of its middle round."""

    rows: list[Row] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    knees: list[Knee] = field(default_factory=list)
    knees_in_order: bool = True
    period_s: float = 0.5

    def summary(self) -> dict[str, Any]:
        """The figures; those of the knees are None unless every knee was measured."""
        elastic = next(r for r in self.rows if r.name == "elastic")
        plain, own = self._best("plain"), self._best(SPARKS_OWN)
        ratios = [turn.ratio for turn in self.rounds]
        rows = [*self.rows, *(row for turn in self.rounds for row in (turn.fixed, turn.elastic))]
        whole_plain = max(r.whole_tuples_s for r in self.rows if r.name.startswith("plain"))
        all_seen = [knee.phase.knee for knee in self.knees] == list(KNEES)
        figures = {
            "bench": "elastic-map",
            "speed_up": round(elastic.tuples_s / plain, 2),
            "speed_up_of_whole_jobs": round(elastic.whole_tuples_s / whole_plain, 2),
            "in_order": self.knees_in_order and all(r.in_order for r in rows),
            "ratio_to_best_static": round(statistics.median(ratios), 3),
            "ratios_to_best_static": [round(ratio, 3) for ratio in sorted(ratios)],
            "ratio_to_sparks_own": round(elastic.tuples_s / own, 3),
            "ratio_at_knee": round(min(knee.ratio for knee in self.knees), 3) if all_seen else None,
            "past_knee_ratio_worst": (
                round(max(knee.phase.past_knee_ratio for knee in self.knees), 3) if all_seen else None
            ),
        }
        return {
            **figures,
            "goals_missed": missed_goals(figures),
            "rows": [
                {"name": row.name, "level": int(row.level), "tuples_s": round(row.tuples_s, 1),
                 "whole_job_tuples_s": round(row.whole_tuples_s, 1), "in_order": row.in_order}
                for row in self.rows
            ],
            "period_s": self.period_s,
            "rounds": [
                {"fixed_tuples_s": round(turn.fixed.tuples_s, 1), "elastic_tuples_s": round(turn.elastic.tuples_s, 1)}
                for turn in self.rounds
            ],
            "knees": [knee.to_json() for knee in self.knees],
        }  # fmt: skip

    def _best(self, name: str) -> float:
        return max(r.tuples_s for r in self.rows if r.name.startswith(name))


def missed_goals(figures: Mapping[str, Any]) -> list[str]:
    """Which goals of the issue the figures miss; a knee that was not measured misses those of the knees."""
    at_knee, past_knee = figures["ratio_at_knee"], figures["past_knee_ratio_worst"]
    met = {
        f"{SPEED_UP_GOAL:g} x plain": figures["speed_up"] >= SPEED_UP_GOAL,
        f"{STATIC_GOAL:g} of the best fixed level": figures["ratio_to_best_static"] >= STATIC_GOAL,
        "order kept": figures["in_order"],
        f"{KNEE_GOAL:g} at each of the knees {', '.join(map(str, KNEES))}": at_knee is not None
        and at_knee >= KNEE_GOAL,
        f"past {PAST_KNEE:g} x the knee for {PAST_KNEE_GOAL:.0%} of the time at most": (
            past_knee is not None and past_knee <= PAST_KNEE_GOAL
        ),
    }
    return [goal for goal, reached in met.items() if not reached]


def is_in_order(ids: Sequence[int], answers: Sequence[int], rows: int) -> bool:
    """Whether rows 0, 1, ... came back as they went, each with its own answer."""
    numbers = list(range(rows))
    return list(ids) == numbers and list(answers) == numbers


def level_of(periods: Sequence[Period]) -> int | None:
    """The level of the last period in which it had settled, or of the last one."""
    settled = [period for period in periods if period["settled"]] or periods
    return int(settled[-1]["level"]) if settled else None


def knees_of(phases: Iterable[Phase], periods: Sequence[Period], best: Mapping[int, float]) -> list[Knee]:
    """Each phase with its level, by the pool's journal."""
    return [
        Knee(phase, best[phase.knee], level_of([p for p in periods if phase.begin_s <= p["at_s"] <= phase.end_s]))
        for phase in phases
    ]
