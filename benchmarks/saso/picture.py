"""Pictures of runs: the load with what each policy gave it, and what waited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.control.loop.loop import Record

_COLOURS = ("#2a7f62", "#c2483d", "#3b6ea8", "#b98a2f", "#7a5ca8", "#8a94a0")


def draw_runs(
    title: str, records: Mapping[str, Sequence[Record]], path: Path, time_axis: str = "s (simulated)"
) -> None:
    """Rate, replicas and backlog over time, one line per policy; the file's ending says its format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    rate, replicas, backlog = figure.subplots(3, 1, sharex=True, height_ratios=(1, 2, 1.2))
    first = next(iter(records.values()))
    rate.plot(*_line(first, "rate_tuples_s"), color="#333333", linewidth=1.2)
    rate.set_ylabel("tuples/s", fontsize=8)
    for colour, (name, own) in zip(_COLOURS, records.items(), strict=False):
        wide = 2.0 if name == "mpc" else 1.0
        times = [r.seen.ended_at_s for r in own]
        replicas.step(times, [r.seen.setting.replicas for r in own], where="pre", color=colour, lw=wide, label=name)
        waiting_s = [r.seen.backlog_tuples / max(r.seen.rate_tuples_s, 1.0) for r in own]
        backlog.plot(times, waiting_s, color=colour, linewidth=wide)
    replicas.set_ylabel("replicas", fontsize=8)
    replicas.legend(fontsize=7, ncols=6, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.99))
    backlog.set_ylabel("backlog (s of arrivals)", fontsize=8)
    backlog.set_yscale("symlog", linthresh=1.0)
    backlog.set_xlabel(time_axis, fontsize=8)
    rate.set_title(title, fontsize=10)
    for axes in (rate, replicas, backlog):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def _line(records: Sequence[Record], figure: str) -> tuple[list[float], list[Any]]:
    return [r.seen.ended_at_s for r in records], [getattr(r.seen, figure) for r in records]


def file_name(title: str) -> str:
    """A title as the name of a PNG file."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split()) + ".png"
