"""What the page, the terminal and the report say of a decision: in short for a list, and opened."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from penstock.watch.recorded.run_state import RunState, SeenDecision


def decision_row(own: SeenDecision) -> dict[str, Any]:
    """A decision in short, for a list."""
    decision = own.decision
    return {
        "step": decision.step, "first_step": own.first_step, "steps": own.steps, "batch": own.batch, "at_s": own.at_s,
        "kind": own.kind, "from": str(decision.setting), "to": str(decision.decided),
        "replicas": decision.decided.replicas, "policy": decision.policy, "because": decision.because,
        "rules": list(decision.rules), "until_s": decision.until_s, "broken": decision.broken,
        "passive": decision.passive, "moved_slots": decision.moved_slots,
        "highest_useful_replicas": decision.highest_useful_replicas,
    }  # fmt: skip


def decision_body(state: RunState, step: int) -> dict[str, Any] | None:
    """A decision with what was expected of it and what came; the newest of that number."""
    rows = list(state.decisions)
    for place in range(len(rows) - 1, -1, -1):
        if rows[place].first_step <= step <= rows[place].decision.step:
            later = rows[place + 1] if place + 1 < len(rows) else None
            return _opened(rows[place], later)
    return None


def _opened(own: SeenDecision, later: SeenDecision | None) -> dict[str, Any]:
    decision = own.decision
    came = later.first_seen if later is not None and later.decision.step > decision.step else None
    expected = asdict(decision.expected)
    measured = None if came is None else asdict(came)
    names = {"rate_tuples_s": "rate_tuples_s", "latency_mean_s": "latency_mean_s", "backlog_tuples": "backlog_tuples"}
    error = {}
    for name, other in names.items():
        said, was = getattr(decision.expected, name), None if came is None else getattr(came, other)
        if said is not None and was is not None:
            error[name] = said - was
    return decision_row(own) | {
        "wanted": str(decision.wanted), "seen": asdict(decision.seen), "expected": expected, "measured": measured,
        "error": error, "alternatives": [
            {"setting": str(a.setting), "cost_ratio": a.cost_ratio} for a in decision.alternatives
        ],
        "requested": decision.requested,
    }  # fmt: skip
