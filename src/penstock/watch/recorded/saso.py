"""How well a run is controlled so far: settling time, overshoot, changes, violations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.watch.recorded.run_state import RunState, SeenDecision

CALM_S = 10.0  # without a change of replicas, and a stretch of changes is over


def saso_figures(state: RunState) -> dict[str, Any]:
    """Changes come in stretches: one settles within `settling_s`, and goes `overshoot` replicas beyond its end.

    Counts are of the whole run, settling time and overshoot of the newest decisions, which are kept.
    """
    total = state.series.total()
    changes = [own for own in state.decisions if own.decision.decided.replicas != own.decision.setting.replicas]
    stretches = _stretches([own for own in changes if own.decision.requested])
    settling = [stretch[-1].at_s - stretch[0].at_s for stretch in stretches]
    return {
        "changes": state.kinds["up"] + state.kinds["down"],
        "settling_s": max(settling, default=0.0),
        "last_settling_s": settling[-1] if settling else 0.0,
        "overshoot": max((_overshoot(stretch) for stretch in stretches), default=0),
        "steps": 0 if total is None else total.steps,
        "violations": 0 if total is None else total.broken_steps,
    }


def _stretches(changes: Sequence[SeenDecision]) -> list[list[SeenDecision]]:
    found: list[list[SeenDecision]] = []
    for own in changes:
        if found and own.at_s - found[-1][-1].at_s <= CALM_S:
            found[-1].append(own)
        else:
            found.append([own])
    return found


def _overshoot(stretch: Sequence[SeenDecision]) -> int:
    """Replicas beyond where a stretch ends, on the side that it went to."""
    began, ended = stretch[0].decision.setting.replicas, stretch[-1].decision.decided.replicas
    own = [each.decision.decided.replicas for each in stretch]
    return max(max(own) - ended, 0) if ended >= began else max(ended - min(own), 0)
