"""The decisions of a recorded run: what each expected, and what came of it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.screen import show_table
from penstock.control.journal.recorded_decision import Judged, StepFigures
from penstock.measure.html_table import amount

_SHOWN = 40


def show_decisions(screen: Console, decisions: Sequence[Judged]) -> None:
    """A table of the changes, and how good the expectations of all decisions were; nothing where there was no goal."""
    if not decisions:
        return
    changes = [own for own in decisions if own.decision.requested or own.decision.decided != own.decision.setting]
    if changes:
        policy, passive = decisions[-1].decision.policy, decisions[-1].decision.passive
        title = f"what {policy} changed" + (" or would have" if passive else "")
        if len(changes) > _SHOWN:
            title += f": the last {_SHOWN} of {len(changes)} changes"
        show_table(screen, title, _table(changes[-_SHOWN:]))
    for line in summary_lines(decisions, len(changes)):
        screen.print(line, markup=False, soft_wrap=True)


def summary_lines(decisions: Sequence[Judged], changes: int) -> list[str]:
    broken = sum(own.decision.broken for own in decisions)
    unknown = sum(not own.decision.measured and not own.decision.broken for own in decisions)
    words = f"the goal broken in {broken}" + (f" and not measured in {unknown}" if unknown else "")
    lines = [
        f"control: {amount(len(decisions), 'step')}, {amount(changes, 'change')}, {words}, "
        f"{statistics.fmean(own.decision.setting.replicas for own in decisions):.2f} replicas on average"
    ]
    errors = [error for own in decisions if (error := _latency_error(own)) is not None]
    if errors:
        lines.append(
            f"latency was {statistics.median(errors):.0%} off what was expected (median of {len(errors)} steps)"
        )
    lines += _p95_lines(decisions)
    lines += _saturation_lines(decisions)
    lines += _energy_lines([own.decision.seen for own in decisions])
    useful = [own.decision.highest_useful_replicas for own in decisions if own.decision.highest_useful_replicas]
    if useful:
        lines.append(f"the heaviest slot makes at most {useful[-1]} replicas useful (last step)")
    return lines


def _p95_lines(decisions: Sequence[Judged]) -> list[str]:
    """Of a goal that bounds mean and percentile, which goes by the mean: the latter by itself."""
    apart = [own.decision.broken_p95 for own in decisions if own.decision.broken_p95 is not None]
    return [f"the 95th percentile was above its bound in {sum(apart)} of {amount(len(apart), 'step')}"] if apart else []


def _saturation_lines(decisions: Sequence[Judged]) -> list[str]:
    """Which models were at a limit, where their formula breaks and a bound stands in, and in how many steps."""
    counts = Counter(limit for own in decisions for limit in own.decision.expected.saturated)
    if not counts:
        return []
    words = ", ".join(f"{limit} (in {amount(steps, 'step')})" for limit, steps in counts.most_common())
    return [f"models at their limit, a bound in place of the formula: {words}"]


def _energy_lines(steps: Sequence[StepFigures]) -> list[str]:
    """What was measured, and what was not; nothing for journals from before either was kept."""
    watts = [step.watts for step in steps if step.watts is not None]
    estimated = [step.watts_estimated for step in steps if step.watts_estimated is not None]
    lines = []
    if watts:
        joules = sum(step.joules or 0.0 for step in steps)
        lines.append(
            f"energy: {joules:,.0f} J in {amount(len(watts), 'step')}, {statistics.fmean(watts):.1f} W, measured"
        )
    if estimated:
        steps_text = amount(len(estimated), "step")
        lines.append(
            f"energy: {statistics.fmean(estimated):.1f} W (estimated) in {steps_text}, by the model of cores at a "
            "frequency: no energy counters were read"
        )
    return lines


def _latency_error(own: Judged) -> float | None:
    """How far the next step's mean latency was off, as a share of it."""
    expected_s = own.decision.expected.latency_mean_s
    measured_s = None if own.outcome is None else own.outcome.latency_mean_s
    return None if expected_s is None or not measured_s else abs(expected_s - measured_s) / measured_s


def _table(changes: Sequence[Judged]) -> Table:
    table = Table()
    columns = ("step", "from", "to", "slots", "tuples/s", "expected", "came", "latency", "expected", "came", "because")
    for name in columns:
        table.add_column(name, justify="left" if name in ("from", "to", "because") else "right", overflow="fold")
    for own in changes:
        d, outcome = own.decision, own.outcome
        table.add_row(
            str(d.step), str(d.setting), str(d.decided), str(d.moved_slots or ""),
            f"{d.seen.rate_tuples_s:,.0f}", _number(d.expected.rate_tuples_s),
            _number(None if outcome is None else outcome.rate_tuples_s),
            _ms(d.seen.latency_mean_s), _ms(d.expected.latency_mean_s),
            _ms(None if outcome is None else outcome.latency_mean_s), escape(d.because),
        )  # fmt: skip
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:,.0f} ms"
