"""`python -m benchmarks NAME`: measures, prints a table, ends with one JSON object."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from benchmarks.machine import this_machine
from benchmarks.report import finish, measured, progress_shown, report, verdict, wide_console
from benchmarks.threads import command as element_command
from penstock.cli import run_and_exit

QuickOption = Annotated[bool, typer.Option("--quick", help="A minute or two; figures are rougher.")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")]
FolderOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Where checkpoints and files go meanwhile.")]
TracesOption = Annotated[
    list[Path] | None, typer.Option(help="Also this CSV of counts ('timestamp,value'); may be repeated.")
]

app = typer.Typer(help="Measure ours beside limits and peers, in one process and run.")


@app.callback()
def bench() -> None:
    """Measure ours beside limits and peers, in one process and run."""


@app.command()
def measuring(
    quick: QuickOption = False,
    spark: Annotated[bool, typer.Option(help="Also run it on local Spark.")] = True,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """What the figures of an Observation cost: blocks with and without meters, the driver's part, runs on Spark."""
    from benchmarks.measuring.measuring_report import run_measuring

    run_measuring(quick=quick, spark=spark, json_file=json_file, folder=folder)


@app.command()
def kernels(
    case: Annotated[
        list[str] | None, typer.Option(help="Only cases of this name or pattern ('vwap_*'); may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter rounds, windows filled less; figures are rougher.")
    ] = False,
    peers: Annotated[bool, typer.Option(help="Run polars and DuckDB too.")] = True,
    json_file: JsonOption = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the ratios into this file (PNG, SVG, PDF).")] = None,
) -> None:
    """Kernels of an element on one thread, beside the plain numba loop for the same job and beside batch engines."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before anything imports polars
    from benchmarks.kernels.cases.kernel_cases import chosen_cases
    from benchmarks.kernels.measurement import QUICK, Effort, run_cases
    from benchmarks.kernels.report import draw, print_report, summary

    effort, machine = QUICK if quick else Effort(), this_machine()
    results = run_cases(chosen_cases(case or ()), effort, with_peers=peers)
    print_report(wide_console(180), results, machine, effort)
    if picture is not None:
        draw(results, machine, picture)
    finish(summary(results, effort), machine, json_file)


@app.command()
def threads(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs; figures are rougher.")] = False,
    json_file: JsonOption = None,
    picture: Annotated[Path, typer.Option(help="Draw shares, gains and grids into this file.")] = Path("threads.png"),
) -> None:
    """What threads cost at level one, what decoupled ingestion gains, and a shared grid against own ones."""
    from benchmarks.threads.threads_command import run_threads

    run_threads(quick=quick, json_file=json_file, picture=picture)


@app.command(name="spark-threads")
def spark_threads(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """Threads inside Spark's workers: waiting and computing loads at fixed numbers of threads, and elastic."""
    from benchmarks.spark import spark_threads as bench

    effort = bench.QUICK if quick else bench.SparkThreadsEffort()
    rows = measured(bench.run_spark_threads, effort, folder)
    figures = bench.spark_threads_figures(rows, effort)
    notes = [verdict(figures["goals_missed"])]
    report("threads in Spark's workers, local[2]", [bench.spark_threads_table(rows)], notes, figures, json_file)


@app.command()
def vwap(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """Throughput and latency of `vwap_per_ticker` on local Spark, beside the in-process engine and stock PySpark."""
    from benchmarks.spark.vwap.vwap import QUICK, VwapEffort, run_vwap
    from benchmarks.spark.vwap.vwap_report import vwap_figures, vwap_notes, vwap_tables

    effort = QUICK if quick else VwapEffort()
    result = measured(run_vwap, effort, folder)
    figures = vwap_figures(result, effort)
    report("vwap_per_ticker on local[2]", vwap_tables(result), vwap_notes(result, figures), figures, json_file)


@app.command()
def floor(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """The cost of a micro-batch with few tuples, and where it goes."""
    from benchmarks.spark.floor import QUICK, FloorEffort, floor_figures, floor_notes, floor_tables, run_floor

    effort = QUICK if quick else FloorEffort()
    result = measured(run_floor, effort, folder)
    title = f"micro-batches of {effort.tuples} tuples, one exchange, state, journal and commit on; local[2]"
    report(title, floor_tables(result), floor_notes(result), floor_figures(result, effort), json_file)


@app.command()
def rescale(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """From 2 to 4 replicas at half of the highest rate, beside Spark's own way: stop, repartition, restart."""
    from benchmarks.spark.rescale import rescale as bench

    effort = bench.QUICK if quick else bench.RescaleEffort()
    result = measured(bench.run_rescale, effort, folder)
    title = f"vwap_per_ticker with {effort.keys:,} keys on two cores"
    figures = bench.rescale_figures(result, effort)
    report(title, bench.rescale_tables(result), bench.rescale_notes(result), figures, json_file)


@app.command()
def state(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """Keyed state by number of keys and length of windows: rate, memory, change logs, what a kill costs; a cluster."""
    from benchmarks.spark import state as bench

    effort = bench.QUICK if quick else bench.StateEffort()
    result = measured(bench.run_state, effort, folder)
    title = "sum of each ticker's last volumes, integer tickers, trades and quotes half and half, local[2]"
    report(title, bench.state_tables(result), bench.state_notes(result), bench.state_figures(result), json_file)


@app.command()
def migrate(
    quick: QuickOption = False,
    json_file: JsonOption = None,
    folder: FolderOption = None,
    picture: Annotated[Path, typer.Option(help="Draw latency around a change into this file.")] = Path("migrate.png"),
) -> None:
    """State that moves between two hosts while the load steps up: ours, two rivals, and stop and restart."""
    from benchmarks.spark.migrate import migrate as bench
    from benchmarks.spark.migrate import migrate_report as about
    from benchmarks.spark.migrate.migrate_scene import QUICK, MigrateEffort

    effort = QUICK if quick else MigrateEffort()
    result = measured(bench.run_migrate, effort, folder)
    about.draw_migrate(result, picture)
    title = f"windows of {effort.window_tuples} tuples of {effort.keys:,} keys on a standalone cluster of two hosts"
    figures = about.migrate_figures(result, effort)
    report(title, about.migrate_tables(result), about.migrate_notes(result), figures, json_file)


@app.command()
def control(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """What measuring and control cost under a goal that is kept anyway, of all CPU."""
    from benchmarks.spark import control_cost as bench

    effort = bench.QUICK if quick else bench.ControlEffort()
    cost = measured(bench.run_control, effort, folder)
    title = f"vwap_per_ticker at {effort.rate_tuples_s:,.0f} tuples/s with a goal and nothing to do, local[2]"
    report(title, bench.control_tables(cost), bench.control_notes(cost), bench.control_figures(cost, effort), json_file)


@app.command("elastic-map")
def elastic_map(
    quick: Annotated[
        bool, typer.Option("--quick", help="About two minutes instead of four; figures are rougher.")
    ] = False,
    json_file: JsonOption = None,
    picture: Annotated[Path, typer.Option(help="Draw throughput by level into this file.")] = Path("elastic_map.png"),
) -> None:
    """A function that calls a service, inside Spark: the elastic pool beside plain calls and fixed pools."""
    from benchmarks.elastic_map.elastic_map import QUICK, Effort, measure
    from benchmarks.elastic_map.report import draw, print_report

    machine = this_machine(packages=("pyspark", "pandas"))
    with progress_shown() as show:
        found = measure(QUICK if quick else Effort(), show)
    print_report(wide_console(140), found, machine)
    draw(found, picture)
    print(f"drew {picture}")
    finish(found.summary(), machine, json_file)


element_command.register(app)


@app.command()
def mpc(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems; figures are rougher.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Optimisation of MPC: exhaustive, branch and bound, dynamic programming; time, nodes, and the same optimum."""
    from benchmarks.mpc.mpc import QUICK, MpcEffort, measure, measure_live, print_report, summary

    effort, machine = QUICK if quick else MpcEffort(), this_machine()
    rows = [*measure(effort), *measure_live(effort)]
    print_report(wide_console(140), rows, machine)
    finish(summary(rows, effort), machine, json_file)


_SASO_PARTS = ("comparisons", "paper", "situations", "spark", "live")


@app.command()
def saso(
    trace: TracesOption = None,
    only: Annotated[str | None, typer.Option(metavar="|".join(_SASO_PARTS), help="One part alone.")] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Fewer settings of rivals, traces cut to 300 steps, the paper's strategies with three seeds and not "
            "ten; on Spark shorter loads, the throughput goal alone, and no live situations.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same runs; MPC was set on 21 to 23.")] = 11,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw every case and situation into this directory.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Policies for replicas: all of them on the queue model, MPC and the two best rivals on Spark."""
    from benchmarks.saso.command import run_saso
    from penstock.errors import InputError

    if only not in (None, *_SASO_PARTS):
        raise InputError(f"--only is one of {', '.join(_SASO_PARTS)}; got '{only}'")
    run_saso(trace or [], seed, pictures, json_file, only, quick=quick)


@app.command()
def forecast(
    trace: TracesOption = None,
    steps: Annotated[int, typer.Option(help="How many intervals of a trace, from its middle.")] = 2000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same loads.")] = 3,
    json_file: JsonOption = None,
) -> None:
    """Forecasters of a rate: how far each is off, by how many steps it looks ahead."""
    from benchmarks.forecast import loads, measure, print_report, summary

    rows = measure(loads(seed, trace or [], steps))
    print_report(wide_console(100), rows)
    finish(summary(rows, seed), this_machine(), json_file)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a benchmark and ends the process; lists them all where none is named."""
    given = sys.argv[1:] if arguments is None else arguments
    run_and_exit(app, given or ["--help"], "python -m benchmarks")


if __name__ == "__main__":
    main()
