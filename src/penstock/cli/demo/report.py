"""What the demonstration says at its end: figures, changes, the comparison, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from penstock.cli.demo.check import Counted
from penstock.cli.screen import rate, show_table
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.changes import Effect, effects_of
from penstock.watch.figures import count_text, time_text
from penstock.watch.gauges import latency_text
from penstock.watch.summary import summary_of

_TIME_AXIS = "seconds of the run, which are a day from midnight to midnight"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the run gave; `began_at_s` is when the trace's clock began, `complete` whether all its tuples are done."""

    title: str
    began_at_s: float
    observations: Sequence[Observation]
    configurations: Sequence[Configuration]
    decisions: Sequence[RecordedDecision]
    counted: Counted
    complete: bool
    goal_p95_ms: float

    @property
    def effects(self) -> list[Effect]:
        """What every change of replicas did; the cap of micro-batches changes more often, and without a gap."""
        one_cap = [replace(own, micro_batch_tuples=1) for own in self.configurations]
        return effects_of(self.observations, one_cap)

    @property
    def mean_replicas(self) -> float:
        """Of the element that asks the service, over the control steps."""
        return fmean(own.setting.replicas for own in self.decisions) if self.decisions else 0.0

    @property
    def highest_replicas(self) -> int:
        return max((own.setting.replicas for own in self.decisions), default=0)

    @property
    def tuples_in(self) -> int:
        return sum(o.tuples_in for o in self.observations)


def show_summary(screen: Console, outcome: Outcome) -> None:
    """Sums, latency, and a table of the changes."""
    summary = summary_of(outcome.observations)
    if summary is None:
        screen.print("stopped before the first micro-batch was done")
        return
    screen.print(outcome.title, style="bold", markup=False, soft_wrap=True)
    lines = [
        f"tuples        {summary.tuples_in:,} in, {summary.tuples_out:,} out over {summary.seconds:.1f} s: "
        f"{rate(summary.tuples_in, summary.seconds)}",
        f"micro-batches {summary.micro_batches:,}, one every {time_text(summary.median_gap_s)} (median), longest gap "
        f"between results {time_text(summary.longest_gap_s)}",
    ]
    if summary.latency is not None:
        lines.append(f"latency       {latency_text(summary.latency)} of all results")
    lines += goal_lines(outcome)
    if summary.highest_backlog_tuples is not None:
        lines.append(f"backlog       {count_text(summary.highest_backlog_tuples)} tuples at its highest")
    lines.append(f"state         {summary.slots_rebuilt} slots rebuilt; dead letters {summary.dead_letters:,}")
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)
    if outcome.effects:
        show_table(screen, "changes while it ran: the gap between results, and the reason", _changes(outcome))


def goal_lines(outcome: Outcome) -> list[str]:
    """Whether the goal was met, and on how many replicas."""
    if not outcome.decisions:
        return ["goal          no control step was completed"]
    broken = sum(own.broken for own in outcome.decisions)
    return [
        f"goal          p95 {outcome.goal_p95_ms:g} ms: met in {len(outcome.decisions) - broken} of "
        f"{len(outcome.decisions)} control steps",
        f"replicas      {outcome.mean_replicas:.1f} on average, {outcome.highest_replicas} at most: "
        f"{1 - outcome.mean_replicas / max(outcome.highest_replicas, 1):.0%} fewer than a fixed number for the peak",
    ]


def _changes(outcome: Outcome) -> Table:
    table = Table("at", "change")
    for name in ("gap", "usual gap"):
        table.add_column(name, justify="right")
    table.add_column("because")
    reasons = iter(
        [own.because for own in outcome.decisions if own.requested and own.decided.replicas != own.setting.replicas]
    )
    for effect in outcome.effects:
        is_of_replicas = "→" in effect.text  # routes change without a decision of their own
        table.add_row(
            f"{effect.began_at_s - outcome.began_at_s:.1f} s",
            effect.text,
            time_text(effect.gap_s),
            time_text(effect.usual_gap_s),
            next(reasons, "") if is_of_replicas else "",
        )
    return table


def check_line(outcome: Outcome, expected: Counted | None) -> str:
    """Whether the results are the in-process engine's; says so only where both were counted."""
    own = f"{outcome.counted.results:,} results with checksum {outcome.counted.checksum:016x}"
    if expected is None:
        return f"exactness     {own}; not compared, since the run was cut short"
    if expected == outcome.counted:
        return f"exactness     {own}: equal to the in-process engine's over the same {outcome.tuples_in:,} tuples"
    return (f"exactness     {own}: NOT EQUAL to the in-process engine's {expected.results:,} with checksum "
            f"{expected.checksum:016x}")  # fmt: skip


def draw(outcome: Outcome, expected: Counted | None, output: Path) -> tuple[Path, ...]:
    """The picture of the run, as PNG and SVG; none where nothing ran."""
    from penstock.watch.pictures.timeline_chart import ChartText, save_run

    if not outcome.observations:
        return ()
    paths = (output / "demo.png", output / "demo.svg")
    text = ChartText(outcome.title, _caption(outcome, expected), _TIME_AXIS)
    save_run(
        outcome.observations,
        outcome.configurations,
        text,
        paths,
        begin_s=outcome.began_at_s,
        goal_ms=outcome.goal_p95_ms,
    )
    return paths


def _caption(outcome: Outcome, expected: Counted | None) -> str:
    equal = "; results equal to the in-process engine's" if expected == outcome.counted else ""
    text = f"{count_text(outcome.tuples_in)} tuples in, {count_text(outcome.counted.results)} results{equal}."
    met = sum(not own.broken for own in outcome.decisions)
    if not outcome.decisions:
        return text
    return (f"{text} The goal (p95 {outcome.goal_p95_ms:g} ms) was met in {met} of {len(outcome.decisions)} control "
            f"steps, with {outcome.mean_replicas:.1f} replicas on average and {outcome.highest_replicas} at most. "
            "Dashed: replicas change while the query runs.")  # fmt: skip
