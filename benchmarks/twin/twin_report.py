"""What `python -m benchmarks twin` prints and draws, and its JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.pictures import figure_of, plain
from benchmarks.report import measured, report, table_of, verdict
from benchmarks.twin.closed_loop import ClosedLoop
from benchmarks.twin.twin import QUICK, Point, TwinEffort, TwinFindings, run_twin

_TITLE = "the twin, fitted to one journal of each application, against other runs on local[2]"
_GOALS = {"throughput_error_worst": 0.05, "p95_error_worst": 0.15}
_LEAST_AGREEMENT, _MOST_CONSTANT = 0.8, 0.5


def run_benchmark(
    *, quick: bool, only: Sequence[str], picture: Path, json_file: Path | None, folder: Path | None
) -> None:
    """Runs, prints tables, draws, and ends with one JSON object."""
    effort = QUICK if quick else TwinEffort()
    found = measured(partial(run_twin, only=tuple(only)), effort, folder)
    figures = figures_of(found, quick=quick)
    draw(found, picture)
    report(
        _TITLE,
        tables(found),
        [*_notes(found), *found.problems, verdict(missed(figures)), f"drew {picture}"],
        figures,
        json_file,
    )


def figures_of(found: TwinFindings, *, quick: bool) -> dict[str, Any]:
    """The JSON object; the run that was fitted is not judged."""
    return {
        "throughput_error_worst": _worst(found.throughput),
        "p95_error_worst": _worst(found.latency),
        "decision_agreement": found.decisions,
        "best_constant_agreement": found.best_constant,
        "live_agreement": found.live_agreement,
        "twin_agreement": found.twin_agreement,
        "quick": quick,
        "throughput": [_point(own) for own in found.throughput],
        "p95": [_point(own) for own in found.latency],
        "problems": found.problems,
        "loops": [_loop(own) for own in found.loops],
    }


def _loop(own: ClosedLoop) -> dict[str, Any]:
    """`fields`: each figure of the control steps, live and on the twin under the replicas of the live run."""
    return {
        "times_s": own.times_s, "live": own.live, "simulated": own.simulated,
        "fields": [
            {"field": field.name, "off": field.off, "bias": field.bias, "differs_from_s": field.differs_from_s,
             "live": field.live, "simulated": field.simulated}
            for field in own.fields
        ],
    }  # fmt: skip


def _worst(points: Sequence[Point]) -> float | None:
    return max((own.error for own in points if not own.is_fitted), default=None)


def _point(own: Point) -> dict[str, Any]:
    return {"application": own.scene, "what": own.what, "measured": list(own.measured), "simulated": own.simulated,
            "error": own.error, "fitted": own.is_fitted}  # fmt: skip


def missed(figures: Mapping[str, Any]) -> list[str]:
    """The goals that were not reached, or not tried."""
    found = [
        f"{name} {figures[name]:.3g} is above {goal:g}"
        for name, goal in _GOALS.items()
        if figures[name] is not None and figures[name] > goal
    ]
    found += [f"{name} was not measured" for name in (*_GOALS, "decision_agreement") if figures[name] is None]
    agreement, constant = figures["decision_agreement"], figures["best_constant_agreement"]
    if agreement is not None and agreement < _LEAST_AGREEMENT:
        found.append(f"decision_agreement {agreement:.3g} is below {_LEAST_AGREEMENT:g}")
    if constant is not None and constant > _MOST_CONSTANT:
        found.append(f"the best constant agrees in {constant:.0%} of steps, above {_MOST_CONSTANT:.0%}")
    return found


def tables(found: TwinFindings) -> list[Table]:
    return [
        _table("highest throughput (thousand tuples/s)", found.throughput, 1e-3),
        _table("p95 of latency (ms)", found.latency, 1e3),
        *(_fields_table(own) for own in found.loops if own.fields),
    ]


def _fields_table(loop: ClosedLoop) -> Table:
    """The fields of control steps, those that are off by most first."""
    title = "control steps, the twin under the replicas of the live run"
    table = table_of(title, "field", "off (median)", "twin over live", "differs from (s)")
    for own in sorted(loop.fields, key=lambda field: -(field.off or 0.0)):
        cells = ("" if x is None else f"{x:{form}}" for x, form in (
            (own.off, ".1%"), (own.bias, "+.1%"), (own.differs_from_s, ".1f")))  # fmt: skip
        table.add_row(own.name, *cells)
    return table


def _table(title: str, points: Sequence[Point], factor: float) -> Table:
    table = table_of(title, "application", "<what", "measured", "lowest", "highest", "simulated", "off", "<run")
    for own in points:
        values = [factor * value for value in own.measured]
        table.add_row(
            own.scene, own.what, f"{median(values):,.1f}", f"{min(values):,.1f}", f"{max(values):,.1f}",
            f"{factor * own.simulated:,.1f}", f"{own.error:.1%}", "fitted" if own.is_fitted else "predicted",
        )  # fmt: skip
    return table


def _notes(found: TwinFindings) -> list[str]:
    notes = [f"{name}: {line}" for name, lines in found.fits.items() for line in lines]
    notes += [
        f"closed loop: the same replicas in {own.agreement:.0%} of {len(own.live)} steps; the best constant in "
        f"{own.best_constant:.0%}"
        for own in found.loops
    ]
    for kind, own in (("live runs", found.live_agreement), ("runs of the twin", found.twin_agreement)):
        if own is not None:
            notes.append(f"closed loop: two {kind} have the same replicas in {own:.0%} of steps, on average")
    return notes


def draw(found: TwinFindings, path: Path) -> None:
    """Measured against simulated with the diagonal, the fitted run in its own colour; replicas of both over time."""
    figure = figure_of(12, 4)
    panels = figure.subplots(1, 3)
    _diagonal(panels[0], found.throughput, "highest throughput, tuples/s")
    _diagonal(panels[1], found.latency, "p95 of latency, s")
    _replicas(panels[2], found.loops)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _diagonal(axes: Any, points: Sequence[Point], title: str) -> None:
    for is_fitted, colour, label in ((False, "tab:blue", "predicted"), (True, "tab:orange", "fitted run")):
        own = [point for point in points if point.is_fitted is is_fitted]
        if own:
            axes.plot([median(p.measured) for p in own], [p.simulated for p in own], "o", color=colour, label=label)
    both = [value for point in points for value in (median(point.measured), point.simulated)]
    if both:
        axes.plot([min(both), max(both)], [min(both), max(both)], color="grey", linewidth=0.8, label="equal")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(fontsize=7)
    plain(axes, title, "measured", "simulated")


def _replicas(axes: Any, loops: Sequence[ClosedLoop]) -> None:
    for own in loops[:1]:
        axes.step(own.times_s, own.live, where="pre", label="live")
        axes.step(own.times_s, own.simulated, where="pre", linestyle="--", label="simulated")
        axes.legend(fontsize=7)
    plain(axes, "replicas in closed loop", "s", "replicas")
