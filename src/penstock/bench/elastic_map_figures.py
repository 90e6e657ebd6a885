"""What `bench elastic-map` measured: rates of its variants, and of the elastic pool at each knee."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

Period = Mapping[str, Any]  # a line of the pool's journal


@dataclass(frozen=True, slots=True)
class Row:
    """One variant: rows per second after it had found its level, and over all."""

    name: str
    tuples_s: float
    whole_tuples_s: float
    in_order: bool
    level: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which the service had one knee, and the most calls at once that it saw."""

    knee: int
    begin_s: float
    end_s: float
    most_calls: int


@dataclass(frozen=True, slots=True)
class Knee:
    """The elastic pool in one phase, beside the best fixed level at that knee."""

    knee: int
    tuples_s: float
    best_static_tuples_s: float
    level: int
    most_calls_at_once: int

    @property
    def ratio(self) -> float:
        return self.tuples_s / self.best_static_tuples_s


@dataclass(slots=True)
class Report:
    """All that was measured."""

    rows: list[Row] = field(default_factory=list)
    knees: list[Knee] = field(default_factory=list)
    knees_in_order: bool = True

    def summary(self) -> dict[str, Any]:
        plain = max(r.tuples_s for r in self.rows if r.name.startswith("plain"))
        fixed = max(r.tuples_s for r in self.rows if r.name.startswith("fixed"))
        elastic = next(r for r in self.rows if r.name == "elastic")
        return {
            "bench": "elastic-map",
            "speed_up": round(elastic.tuples_s / plain, 2),
            "speed_up_with_learning": round(elastic.whole_tuples_s / plain, 2),
            "in_order": self.knees_in_order and all(r.in_order for r in self.rows),
            "ratio_to_best_static": round(elastic.tuples_s / fixed, 3),
            "ratio_at_knee": round(min((own.ratio for own in self.knees), default=0.0), 3),
            "knees": [
                {"knee": own.knee, "tuples_s": round(own.tuples_s, 1),
                 "best_static_tuples_s": round(own.best_static_tuples_s, 1), "level": own.level,
                 "most_calls_at_once": own.most_calls_at_once}
                for own in self.knees
            ],
        }  # fmt: skip


def is_in_order(ids: Sequence[int], answers: Sequence[int], rows: int) -> bool:
    """Whether rows 0, 1, ... came back as they went, each with its own answer."""
    numbers = list(range(rows))
    return list(ids) == numbers and list(answers) == numbers


def pooled_row(
    name: str, rows: int, seconds: float, in_order: bool, periods: Sequence[Period], threads: int | None
) -> Row:
    """A pool by the rates of its own periods once settled, so that Spark's start of a job does not count."""
    counted = [p for p in periods if p["settled"]] or periods[-3:]
    if not counted:  # too short for a single period
        return Row(name, rows / seconds, rows / seconds, in_order, str(threads))
    rate = median(p["tuples_s"] for p in counted)
    return Row(name, rate, rows / seconds, in_order, str(counted[-1]["level"]))


def knees_of(phases: Iterable[Phase], periods: Sequence[Period], best: Mapping[int, float]) -> list[Knee]:
    """Each phase by its second half, when the level has had time to follow; phases without a period are left out."""
    knees = []
    for phase in phases:
        within = [p for p in periods if phase.begin_s <= p["at_s"] <= phase.end_s]
        found = within[len(within) // 2 :]
        if found:
            own = median(p["tuples_s"] for p in found)
            knees.append(Knee(phase.knee, own, best[phase.knee], found[-1]["level"], phase.most_calls))
    return knees
