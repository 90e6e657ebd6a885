"""What the demonstration says at its end: figures, changes, the comparison, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.cli.demo.check import Counted
from penstock.cli.screen import rate, show_table
from penstock.measure.observation import Latency, Observation, latency_over
from penstock.plan.configuration import Configuration
from penstock.watch.changes import Effect, effects_of
from penstock.watch.figures import count_text, time_text
from penstock.watch.gauges import latency_text
from penstock.watch.summary import summary_of
from penstock.watch.timeline import committed_at_s

_TIME_AXIS = "seconds of the run (100 s of the market each: it opens at 09:30)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the run gave; `began_at_s` is when the trace's clock began, `complete` whether all its tuples are done."""

    title: str
    began_at_s: float
    observations: Sequence[Observation]
    configurations: Sequence[Configuration]
    counted: Counted
    complete: bool

    @property
    def effects(self) -> list[Effect]:
        return effects_of(self.observations, self.configurations)

    @property
    def tuples_in(self) -> int:
        return sum(o.tuples_in for o in self.observations)


def effect_text(effect: Effect) -> str:
    """One line about a change that is in force."""
    gap = f"{time_text(effect.gap_s)} between results, usually {time_text(effect.usual_gap_s)}"
    return f"{effect.text}: {gap}, {effect.slots_rebuilt} slots rebuilt"


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
        lines.append(f"latency       {latency_text(summary.latency)} of all results, those of the start included")
    later = _latency_from_first_change(outcome)
    if later is not None:
        lines.append(f"              {latency_text(later)} from the first change on")
    if summary.highest_backlog_tuples is not None:
        lines.append(f"backlog       {count_text(summary.highest_backlog_tuples)} tuples at its highest")
    lines.append(f"state         {summary.slots_rebuilt} slots rebuilt; dead letters {summary.dead_letters:,}")
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)
    if outcome.effects:
        show_table(screen, "changes while it ran: the gap between results", _changes(outcome))


def _latency_from_first_change(outcome: Outcome) -> Latency | None:
    """By then the backlog of the start is worked off, so that this is what the changes themselves cost."""
    effects = outcome.effects
    if not effects:
        return None
    return latency_over(o for o in outcome.observations if committed_at_s(o) > effects[0].began_at_s)


def _changes(outcome: Outcome) -> Table:
    table = Table("at", "change")
    for name in ("micro-batch", "gap", "gap before", "usual gap", "slots rebuilt"):
        table.add_column(name, justify="right")
    for effect in outcome.effects:
        table.add_row(
            f"{effect.began_at_s - outcome.began_at_s:.1f} s",
            effect.text,
            str(effect.batch),
            time_text(effect.gap_s),
            time_text(effect.gap_before_s),
            time_text(effect.usual_gap_s),
            str(effect.slots_rebuilt),
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
    save_run(outcome.observations, outcome.configurations, text, paths, begin_s=outcome.began_at_s)
    return paths


def _caption(outcome: Outcome, expected: Counted | None) -> str:
    equal = "; results equal to the in-process engine's" if expected == outcome.counted else ""
    text = f"{count_text(outcome.tuples_in)} tuples in, {count_text(outcome.counted.results)} results{equal}."
    if not outcome.effects:
        return text
    gap = max(outcome.effects, key=lambda e: e.gap_s)
    return (f"{text} Dashed: the Configuration changes while the query runs; the longest gap between results at a "
            f"change was {time_text(gap.gap_s)} (usually {time_text(gap.usual_gap_s)}).")  # fmt: skip
