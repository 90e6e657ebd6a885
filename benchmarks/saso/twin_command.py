"""What `python -m benchmarks saso --engine twin` does: rows, the table, the trade-off curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.pictures import figure_of, plain
from benchmarks.report import finish, wide_console
from benchmarks.saso.made_loads import made_loads
from benchmarks.saso.twin_engine import RESTARTS_S, Row, twin_cases, twin_rows
from benchmarks.saso.twin_report import print_twin, summary
from penstock.errors import InputError

STEPS, QUICK_STEPS = 900, 200
_CONFIDENCES, _PAYBACKS_S = (0.6, 1.2, 2.0, 3.0, 4.5), (2.0, 5.0, 10.0)


def run_saso_twin(
    traces: Sequence[Path],
    seeds: int,
    pictures: Path | None,
    json_file: Path | None,
    *,
    quick: bool,
    steps: int | None = None,
    made: Sequence[int] = (),
) -> None:
    """Every policy on every trace and seed, and on loads of our own that are made from the seeds `made`.

    With `pictures`, also MPC along its two settings.
    """
    if not traces and not made:
        raise InputError("--engine twin needs at least one --trace FILE.csv, or --made SEED for loads of our own")
    with TemporaryDirectory() as folder:
        own = [path for seed in made for path in made_loads(Path(folder), seed)]
        _run_all([*traces, *own], seeds, pictures, json_file, quick=quick, steps=steps)


def _run_all(
    traces: Sequence[Path], seeds: int, pictures: Path | None, json_file: Path | None, *, quick: bool, steps: int | None
) -> None:
    if seeds < 1:
        raise InputError(f"--seeds is at least 1; got {seeds}")
    if steps is not None and steps < 1:
        raise InputError(f"--steps is at least 1; got {steps}")
    console, errors, machine = wide_console(150), Console(stderr=True), this_machine()
    steps, restarts_s = steps or (QUICK_STEPS if quick else STEPS), (0.0, *RESTARTS_S)
    cases = twin_cases(traces, range(1, seeds + 1), steps, restarts_s)
    rows: list[Row] = []
    for case, own in zip(cases, twin_rows(cases), strict=True):
        rows += own
        text = f"{case.trace.stem}, {case.application}, {case.goal}, seed {case.seed}"
        errors.print(text, style="dim", soft_wrap=True, highlight=False)
    console.print(f"{machine}; twin, {steps} intervals of a trace, one a second", soft_wrap=True)
    print_twin(console, rows, restarts_s)
    body = summary(rows, restarts_s)
    if pictures is not None:
        settings = twin_cases(traces, [1], steps, (), _CONFIDENCES, _PAYBACKS_S)
        along = [row for own in twin_rows(settings) for row in own if row.kind == "mpc"]
        body["curve"] = curve(along)
        draw_curve(along, rows, pictures)
    finish(body, machine, json_file)


def curve(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Mean violations and replicas of MPC by setting."""
    found = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        found.append({"policy": policy, "violations": mean(row.violations for row in own),
                      "mean_replicas": mean(row.mean_replicas for row in own)})  # fmt: skip
    return found


def draw_curve(along: Sequence[Row], rows: Sequence[Row], folder: Path) -> None:
    """Replicas against violations: MPC along confidence, a line for each payback; the others as points."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = figure_of(8, 5)
    axes = figure.subplots()
    for payback_s in _PAYBACKS_S:
        own = [point for point in curve(along) if str(point["policy"]).endswith(f"payback {payback_s:g}")]
        axes.plot(
            [p["mean_replicas"] for p in own], [p["violations"] for p in own], "o-", label=f"payback {payback_s:g} s"
        )
    for point in curve([row for row in rows if row.kind != "mpc" and row.restart_s == 0.0]):
        axes.plot([point["mean_replicas"]], [point["violations"]], "x", color="grey")
        axes.annotate(str(point["policy"]), (point["mean_replicas"], point["violations"]), fontsize=6)
    axes.set_yscale("symlog")
    axes.legend(fontsize=7)
    plain(axes, "MPC along confidence (0.6 to 4.5)", "mean replicas", "violations (s)")
    figure.savefig(folder / "trade_off.png", dpi=120)
