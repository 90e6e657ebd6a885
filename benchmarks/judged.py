"""The figures of a bench that is simulated and measured: each kind judged by itself, the worse of both on top."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Judged:
    """The figures of what the goals are for, which of these it misses, and how it was got."""

    figures: Mapping[str, Any]
    goals_missed: Sequence[str]
    by_policy: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, by_policy: Mapping[str, Mapping[str, Any]], judged: str,
        missed_goals: Callable[[Mapping[str, Any]], list[str]], made: Mapping[str, Any],
    ) -> Judged:  # fmt: skip
        """The figures of the policy that is judged, beside those of others."""
        return cls(by_policy[judged], missed_goals(by_policy[judged]), by_policy, made)

    def to_json(self) -> dict[str, Any]:
        goals = {"goals_missed": list(self.goals_missed)}
        return {**self.figures, **goals, "by_policy": dict(self.by_policy), **self.made}


def worse(one: Mapping[str, Any], other: Mapping[str, Any], more_is_better: Collection[str]) -> dict[str, Any]:
    """The worse figure of each name; one that only one of them has is that one's. None is for "never", the worst.

    >>> worse({"ratio": 0.9, "periods": 3, "own": 1}, {"ratio": 0.8, "periods": None}, {"ratio"})
    {'ratio': 0.8, 'periods': None, 'own': 1}
    """
    figures = {**other, **one}
    for name in one.keys() & other.keys():
        values = [one[name], other[name]]
        figures[name] = None if None in values else min(values) if name in more_is_better else max(values)
    return {name: figures[name] for name in {**one, **other}}


def body_of(bench: str, simulated: Judged, measured: Judged | None, more_is_better: Collection[str]) -> dict[str, Any]:
    """The JSON object; `measured` is null where nothing was."""
    kinds = [("simulated", simulated), *([] if measured is None else [("measured", measured)])]
    return {
        "bench": bench,
        **worse(simulated.figures, {} if measured is None else measured.figures, more_is_better),
        "goals_missed": [f"{kind}: {goal}" for kind, own in kinds for goal in own.goals_missed],
        "simulated": simulated.to_json(),
        "measured": None if measured is None else measured.to_json(),
    }
