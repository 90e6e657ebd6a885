"""What a run gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from penstock.block.dead_letters import SCHEMA as LETTERS
from penstock.measure.html_table import amount, html_table, rounded
from penstock.measure.observation import Observation
from penstock.watch.summary import Summary, summary_of


@dataclass(slots=True, repr=False)
class RunResult:
    """The results of a run: tables of memory sinks, counts and checksums of discarding sinks, Observations.

    `dead_letters` has the first 10,000 of them, `dead_letter_count` is their number.  `dropped` counts, by sink, the
    tuples that a bounded memory sink has dropped.  `observations` are those of the newest 2,000 micro-batches or more
    (fewer if they hold figures of more than 10,000 replicas), with counts by slot in the newest 500; `earlier` has the
    sums over all micro-batches before them, and the journal has every one.  While an application runs, `observations`
    may be a second behind; `Handle.observe` is not.

    >>> RunResult(tables={"out": pa.table({"x": [1, 2]})})
    RunResult
      micro-batches: 0
      dead letters: 0
      tables['out']: 2 tuples
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
    dead_letter_count: int = 0
    observations: list[Observation] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    earlier: Summary | None = None

    def __repr__(self) -> str:
        """The main figures, and what the attributes hold: the tables and Observations would fill pages."""
        return "\n".join(["RunResult", *(f"  {label}: {figure}" for label, figure in self._rows())])

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return html_table("RunResult", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        return [
            *_figures(summary_of(self.observations, self.earlier)),
            ("dead letters", f"{self.dead_letter_count:,}"),
            *((f"tables['{sink}']", amount(table.num_rows, "tuple")) for sink, table in self.tables.items()),
            *((f"discarded['{sink}']", amount(count, "tuple")) for sink, (count, _) in self.discarded.items()),
            *((f"dropped['{sink}']", amount(count, "tuple")) for sink, count in self.dropped.items() if count),
        ]


def _figures(summary: Summary | None) -> list[tuple[str, str]]:
    if summary is None:
        return [("micro-batches", "0")]
    rate_tuples_s = summary.tuples_in / summary.seconds if summary.seconds > 0 else None
    shown = [
        ("micro-batches", f"{summary.micro_batches:,}"),
        ("duration", rounded(summary.seconds, "s")),
        ("tuples in", f"{summary.tuples_in:,}"),
        ("tuples out", f"{summary.tuples_out:,}"),
        ("rate", rounded(rate_tuples_s, "tuples/s")),
    ]
    if summary.latency is not None:
        own = summary.latency
        shown += [(f"latency {name}", rounded(ms, "ms"))
                  for name, ms in (("p50", own.p50_ms), ("p95", own.p95_ms), ("p99", own.p99_ms))]  # fmt: skip
    return [(label, figure) for label, figure in shown if figure is not None]
