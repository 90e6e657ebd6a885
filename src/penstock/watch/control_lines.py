"""What control thinks and does, in lines for a console: forecast, decision, because."""

from __future__ import annotations

from penstock.control.decision import Expectation
from penstock.control.journal.recorded_decision import RecordedDecision, StepFigures
from penstock.watch.figures import count_text, time_text


def control_lines(decision: RecordedDecision | None, advice: str | None = None) -> list[tuple[str, str]]:
    """Label and text of each line; one that says so before the first decision."""
    if decision is None:
        return [("control", "waiting for the first control step")]
    lines = [
        ("measured", _measured(decision.seen) + _goal_text(decision)),
        ("forecast", _forecast(decision.expected)),
        ("decision", _decision(decision)),
        ("because", decision.because),
        ("p95", "above its bound, which is judged apart" if decision.broken_p95 else ""),
    ]
    return [(label, text) for label, text in [*lines, ("hot slot", advice or "")] if text]


def _goal_text(decision: RecordedDecision) -> str:
    if decision.broken:
        return "; the goal is broken"
    return "" if decision.measured else "; whether the goal is met is not measured"


def _measured(seen: StepFigures) -> str:
    latency = "" if seen.latency_mean_s is None else f", latency {time_text(seen.latency_mean_s)}"
    power = "" if seen.watts is None else f", {seen.watts:.1f} W"
    if seen.watts is None and seen.watts_estimated is not None:
        power = f", {seen.watts_estimated:.1f} W (estimated)"
    served = f"{count_text(seen.rate_tuples_s)} tuples/s arrive, {count_text(seen.served_tuples_s)} served"
    return f"{served}{latency}{power}"


def _forecast(expected: Expectation) -> str:
    """What the models say of the next step; nothing for a policy without any."""
    found = []
    if expected.rate_tuples_s is not None:
        found.append(f"{count_text(expected.rate_tuples_s)} tuples/s")
    if expected.capacity_tuples_s is not None:
        found.append(f"capacity {count_text(expected.capacity_tuples_s)}")
    if expected.latency_mean_s is not None:
        found.append(f"latency {time_text(expected.latency_mean_s)}")
    if expected.watts_estimated is not None:
        found.append(f"{expected.watts_estimated:.1f} W (estimated)")
    if expected.saturated:
        found.append(f"models at their limit: {', '.join(expected.saturated)}")
    return ", ".join(found)


def _decision(decision: RecordedDecision) -> str:
    if decision.decided != decision.setting:
        verb = "would go" if decision.passive else "go"
        return f"step {decision.step}: {verb} from {decision.setting} to {decision.decided}"
    is_refused = decision.wanted.replicas != decision.decided.replicas
    refused = f" ({decision.policy} wants {decision.wanted})" if is_refused else ""
    moved = f", {decision.moved_slots} slots move" if decision.moved_slots else ""
    return f"step {decision.step}: stay at {decision.setting}{moved}{refused}"
