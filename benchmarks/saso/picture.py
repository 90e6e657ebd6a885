"""Pictures of runs: the load with what each policy gave it, and what waited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.pictures import figure_of, plain
from penstock.control.loop.loop import Record

_COLOURS = ("#2a7f62", "#c2483d", "#3b6ea8", "#b98a2f", "#7a5ca8", "#8a94a0")


def draw_runs(
    title: str, records: Mapping[str, Sequence[Record]], path: Path, time_axis: str = "s (simulated)"
) -> None:
    """Rate, replicas and backlog over time, one line per policy; the file's ending says its format."""
    figure = figure_of(9, 6)
    rate, replicas, backlog = figure.subplots(3, 1, sharex=True, height_ratios=(1, 2, 1.2))
    first = next(iter(records.values()))
    times, rates = [r.seen.ended_at_s for r in first], [r.seen.rate_tuples_s for r in first]
    rate.plot(times, rates, color="#333333", linewidth=1.2)
    for colour, (name, own) in zip(_COLOURS, records.items(), strict=False):
        wide = 2.0 if name == "mpc" else 1.0
        times = [r.seen.ended_at_s for r in own]
        replicas.step(times, [r.seen.setting.replicas for r in own], where="pre", color=colour, lw=wide, label=name)
        waiting_s = [r.seen.backlog_tuples / max(r.seen.rate_tuples_s, 1.0) for r in own]
        backlog.plot(times, waiting_s, color=colour, linewidth=wide)
    replicas.legend(fontsize=7, ncols=6, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.99))
    backlog.set_yscale("symlog", linthresh=1.0)
    plain(rate, title, y="tuples/s")
    plain(replicas, y="replicas")
    plain(backlog, x=time_axis, y="backlog (s of arrivals)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def file_name(title: str) -> str:
    """A title as the name of a PNG file."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split()) + ".png"
