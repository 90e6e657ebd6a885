"""Capacity over cores: latency and the bill, as a picture."""

from __future__ import annotations

from pathlib import Path

from penstock.simulate.capacity import Capacity
from penstock.watch.pictures.canvas import blank_figure, save


def draw_capacity(capacity: Capacity, title: str, path: Path) -> None:
    """Latency by cores, rows that do not keep up in red; the bill on a second axis."""
    figure = blank_figure(7.0, 4.0)
    axes = figure.add_subplot()
    rows = capacity.rows
    timed = [row for row in rows if row.latency_p95_s is not None]
    axes.plot([row.cores for row in timed], [row.latency_p95_s for row in timed], "o-", label="p95")
    axes.plot([row.cores for row in timed], [row.latency_mean_s for row in timed], "o--", label="mean")
    behind = [row for row in timed if not row.keeps_up]
    axes.plot([row.cores for row in behind], [row.latency_p95_s for row in behind], "rx", label="falls behind")
    axes.set(title=title, xlabel="cores", ylabel="latency (s)", yscale="log")
    axes.legend(loc="upper right", fontsize=8)
    if all(row.bill_hour is not None for row in rows):
        bill = axes.twinx()
        bill.plot([row.cores for row in rows], [row.bill_hour for row in rows], color="grey", linestyle=":")
        bill.set_ylabel("bill per hour (dotted)")
    save(figure, path)
