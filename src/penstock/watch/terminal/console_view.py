"""The live console: what runs now, drawn from the Observations so far for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.element_rows import ElementRow, element_rows
from penstock.watch.figures import clock_text, configuration_text, count_text
from penstock.watch.gauges import cpu_text, gauges, state_text, watermark_text

_WIDE, _NARROW = 80, 56
_LABEL_WIDTH, _FIGURE_WIDTH = 13, 52
_BARS_WIDTH = 60
_OTHER_LINES = 15  # of a full view, beside elements, operators and events
_COLOURS = {"latency": "magenta", "throughput": "green", "micro-batch": "yellow", "backlog": "blue"}
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class ConsoleView:
    """One moment of a running application; printing it to a rich console draws it in that console's width."""

    title: str
    observations: Sequence[Observation]
    configuration: Configuration
    elapsed_s: float
    duration_s: float | None = None
    events: Sequence[str] = ()
    control: Sequence[tuple[str, str]] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        width = options.max_width
        yield self._header(width)
        if not self.observations:
            yield Text("waiting for the first micro-batch ...", style="dim")
            return
        yield self._gauges(width)
        rows = element_rows(self.observations)
        height = console.height - _OTHER_LINES - len(self.events) - len(self.control)
        fits = len(rows) + sum(len(row.operators) for row in rows) <= height
        yield _elements(rows, width, with_operators=fits)
        yield _labelled("in force", configuration_text(self.configuration))
        cpu = cpu_text(self.observations)
        if cpu is not None:
            yield _labelled("CPU", cpu)
        state = state_text(self.observations)
        if state is not None:
            yield _labelled("state", state)
        watermark = watermark_text(self.observations[-1])
        if watermark is not None:
            yield _labelled("watermark", watermark)
        letters = sum(o.dead_letters for o in self.observations)
        if letters:
            yield _labelled("dead letters", f"{letters:,}", "bold red")
        yield from (Text(sentence, style="yellow") for sentence in self.observations[-1].advice)
        yield from (_labelled(label, text) for label, text in self.control)
        yield from (Text(event, style="cyan") for event in self.events)

    def _header(self, width: int) -> Table:
        clock = clock_text(self.elapsed_s) + ("" if self.duration_s is None else f" of {clock_text(self.duration_s)}")
        batch = f"micro-batch {self.observations[-1].batch}   " if self.observations and width >= _NARROW else ""
        header = Table.grid(expand=True)
        header.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        header.add_column(no_wrap=True, justify="right", min_width=len(batch + clock) + 1)
        header.add_row(Text(self.title, style="bold"), Text.assemble((batch, "dim"), clock))
        return header

    def _gauges(self, width: int) -> Table:
        bins = min(width - _LABEL_WIDTH - _FIGURE_WIDTH, _BARS_WIDTH) if width >= _WIDE else 0
        grid = Table.grid()
        grid.add_column(style="dim", width=_LABEL_WIDTH, no_wrap=True)
        grid.add_column(width=_FIGURE_WIDTH if bins else None)
        grid.add_column(no_wrap=True)
        for gauge in gauges(self.observations, bins):
            bars = Text(sparkline(gauge.history), style=_COLOURS[gauge.label]) if bins else Text()
            grid.add_row(gauge.label, gauge.figure, bars)
        return grid


def _labelled(label: str, text: str, style: str = "") -> Table:
    grid = Table.grid()
    grid.add_column(style="dim", width=_LABEL_WIDTH, no_wrap=True)
    grid.add_column(style=style)
    grid.add_row(label, Text(text))
    return grid


def _elements(rows: Sequence[ElementRow], width: int, *, with_operators: bool) -> Table:
    """Elements with their operators; a narrow terminal goes without ratios, then without the replicas' shares."""
    ratios, shares = width >= 64, width >= 46
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("element", no_wrap=True, overflow="ellipsis", max_width=max(width // 3, 8))
    threads = ratios and any(row.threads for row in rows)
    for name in ("replicas", *(("threads",) if threads else ()), "in/s", "out/s", *(("busy", "CPU") if ratios else ())):
        table.add_column(name, justify="right", no_wrap=True)
    if shares:
        table.add_column("load by replica", no_wrap=True, overflow="ellipsis")
    for row in rows:
        cells = [str(len(row.tuples_by_replica)), *([row.threads or "1"] if threads else [])]
        cells += [count_text(row.in_tuples_s), count_text(row.out_tuples_s)]
        cells += [f"{row.busy_ratio:.0%}", f"{row.cpu_ratio:.0%}"] if ratios else []
        table.add_row(Text(row.name, style="bold"), *cells, *([_shares(row)] if shares else []))
        for operator in row.operators if with_operators else ():
            cells = [
                "",
                *([""] if threads else []),
                count_text(operator.in_tuples_s),
                count_text(operator.out_tuples_s),
            ]
            cells += ["", "" if operator.cpu_ratio is None else f"{operator.cpu_ratio:.0%}"] if ratios else []
            table.add_row(Text(f"· {operator.name}"), *cells, style="dim")
    return table


def _shares(row: ElementRow) -> str:
    """The replicas side by side, and how far the busiest is above an equal share."""
    tuples = row.tuples_by_replica
    if len(tuples) < 2 or not sum(tuples):
        return ""
    return f"{sparkline(tuples)}  busiest {max(tuples) / sum(tuples):.0%}"


def sparkline(values: Sequence[float | None]) -> str:
    """One bar per value between 0 and the largest; a space where there is none.

    >>> sparkline([0, 1, None, 4, 8])
    '▁▂ ▅█'
    """
    known = [value for value in values if value is not None]
    top = max(known, default=0.0)
    return "".join(" " if value is None else _bar(value, top) for value in values)


def _bar(value: float, top: float) -> str:
    share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
    return _BARS[int(share * (len(_BARS) - 1) + 0.5)]
