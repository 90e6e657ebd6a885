"""`python -m benchmarks NAME`: measures, prints a table, ends with one JSON object."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from benchmarks.machine import this_machine
from benchmarks.report import finish, measured, progress_shown, report, verdict, wide_console
from benchmarks.threads import command as element_command
from penstock.cli import run_and_exit
from penstock.cli.command_lines.plain_help import PlainGroup

QuickOption = Annotated[bool, typer.Option("--quick", help="A minute or two; figures are rougher.")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")]
FolderOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Where checkpoints and files go meanwhile.")]
TracesOption = Annotated[
    list[Path] | None, typer.Option(help="Also this CSV of counts ('timestamp,value'); may be repeated.")
]

app = typer.Typer(
    cls=PlainGroup, rich_markup_mode=None, help="Measure Penstock, the machine's limits and peers in one process."
)


@app.callback()
def bench() -> None:
    """Measure Penstock, the machine's limits and peers in one process."""


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
def model(
    quick: Annotated[bool, typer.Option("--quick", help="Ten minutes; figures are rougher.")] = False,
    case: Annotated[list[str] | None, typer.Option(help="Only cases that begin so; may be repeated.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="No case begins later; 55, or 8 with --quick.", show_default=False)
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw each element's CPU against its rate.")
    ] = None,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """How well the CPU of fusions that never ran is predicted: learned and measured on local Spark in one run."""
    from benchmarks.model.model_report import run_benchmark

    run_benchmark(
        quick=quick, only=tuple(case or ()), minutes=minutes, json_file=json_file, pictures=pictures, folder=folder
    )


@app.command()
def dashboard(
    quick: QuickOption = False,
    week: Annotated[bool, typer.Option("--week", help="Only: how long a week of journal takes to open.")] = False,
    part: Annotated[str | None, typer.Option(help="Only 'run' (CPU, throughput) or 'memory'.")] = None,
    pairs: Annotated[int | None, typer.Option(min=2, help="How many pairs of turns, with and without.")] = None,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """What it costs a run to be looked at: CPU of the dashboard, throughput with and without it, its memory."""
    if week:
        from benchmarks.dashboard.week import run_week

        run_week(quick=quick, json_file=json_file, folder=folder)
        return
    from benchmarks.dashboard.dashboard import PARTS, run_dashboard

    if part not in (None, *PARTS):
        raise typer.BadParameter(f"it is one of {', '.join(PARTS)}; got '{part}'", param_hint="--part")
    run_dashboard(quick=quick, pairs=pairs, part=part, json_file=json_file, folder=folder)


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
    """Kernels of an element on one thread, against the plain numba loop for the same job and batch engines."""
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
def vwap(
    way: Annotated[
        list[str] | None, typer.Option(help="Only ways of stock PySpark that begin so; may be repeated.")
    ] = None,
    stock_tuples: Annotated[list[int] | None, typer.Option(help="Tuples of their micro-batches; repeatable.")] = None,
    stock_limit_s: Annotated[float | None, typer.Option(help="The longest time for each of them.")] = None,
    quick: QuickOption = False,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """Throughput and latency of `vwap_per_ticker` on local Spark, with the in-process engine and stock PySpark."""
    from benchmarks.spark.vwap.vwap import QUICK, VwapEffort, run_vwap
    from benchmarks.spark.vwap.vwap_report import vwap_figures, vwap_notes, vwap_tables

    effort = (QUICK if quick else VwapEffort()).with_stock(way or (), tuple(stock_tuples or ()), stock_limit_s)
    result = measured(run_vwap, effort, folder)
    figures = vwap_figures(result, effort)
    report("vwap_per_ticker on local[2]", vwap_tables(result), vwap_notes(result, figures), figures, json_file)


@app.command()
def files(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """`vwap_per_ticker` from Parquet and CSV files and from a DataFrame, against a no-op, stock PySpark and polars."""
    from benchmarks.spark.files.files import QUICK, FilesEffort, run_files
    from benchmarks.spark.files.files_report import files_figures, files_notes, files_tables

    effort = QUICK if quick else FilesEffort()
    result = measured(run_files, effort, folder)
    figures = files_figures(result, effort)
    report("vwap_per_ticker from files on local[2]", files_tables(result), files_notes(figures), figures, json_file)


@app.command()
def operators(
    case: Annotated[list[str] | None, typer.Option(help="Only rows that begin so; may be repeated.")] = None,
    quick: QuickOption = False,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """Maps, user state, sinks, time windows, joins, several sources, late tuples, against stock PySpark's way."""
    from benchmarks.spark.operators.operator_cases import chosen_cases
    from benchmarks.spark.operators.operator_jobs import QUICK, OperatorsEffort, run_operators
    from benchmarks.spark.operators.operators_report import operators_figures, operators_notes, operators_tables

    effort = replace(QUICK if quick else OperatorsEffort(), cases=chosen_cases(case or ()))
    rows = measured(run_operators, effort, folder)
    figures = operators_figures(rows, effort)
    report("operators from Parquet files on local[2]", operators_tables(rows), operators_notes(figures), figures,
           json_file)  # fmt: skip


@app.command()
def kafka(
    quick: QuickOption = False,
    goal: Annotated[
        str | None,
        typer.Option(metavar="FEED", help="Instead: a latency goal; kafka or files (the rate triples), outage."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="With --goal: draw the run, PNG or SVG.")] = None,
    peers: Annotated[bool, typer.Option(help="Also others: spark, quix, connector.")] = True,
    peer: Annotated[
        list[str] | None, typer.Option(help="Only these of them: spark, quix or connector; may be repeated.")
    ] = None,
    message: Annotated[
        list[str] | None, typer.Option("--format", help="Only these messages: json or arrow; may be repeated.")
    ] = None,
    messages: Annotated[
        int | None, typer.Option(min=1_000, help="Tuples of the JSON topic; Arrow has twice as many.")
    ] = None,
    paced: Annotated[bool, typer.Option(help="Also the latency of messages that come at a rate.")] = True,
    limit_s: Annotated[float | None, typer.Option(help="Seconds that each run may take; a peer's rate counts.")] = None,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """`vwap_per_ticker` from a Kafka topic of 12 partitions, JSON and Arrow messages, against a plain consumer."""
    from benchmarks.spark.kafka.kafka import FORMATS, PEERS, QUICK, KafkaEffort, run_kafka
    from benchmarks.spark.kafka.kafka_report import kafka_figures, kafka_notes, kafka_tables

    if goal is not None:
        from benchmarks.spark.kafka.goal_report import report_goal

        report_goal(goal, quick=quick, picture=picture, json_file=json_file, folder=folder)
        return

    effort = QUICK if quick else KafkaEffort()
    effort = effort if messages is None else effort.with_tuples(messages)
    chosen = tuple(peer or PEERS) if peers else ()
    effort = replace(effort, peers=chosen, formats=tuple(message or FORMATS), is_paced=paced)
    effort = effort if limit_s is None else replace(effort, limit_s=limit_s)
    result = measured(run_kafka, effort, folder)
    figures = kafka_figures(result, effort)
    report("vwap_per_ticker from Kafka on local[2]", kafka_tables(result), kafka_notes(result), figures, json_file)


@app.command()
def floor(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """The cost of a micro-batch with few tuples, and where it goes."""
    from benchmarks.spark.floor import QUICK, FloorEffort, floor_figures, floor_notes, floor_tables, run_floor

    effort = QUICK if quick else FloorEffort()
    result = measured(run_floor, effort, folder)
    title = f"micro-batches of {effort.tuples} tuples, one exchange, state, journal and commit on; local[2]"
    report(title, floor_tables(result), floor_notes(result), floor_figures(result, effort), json_file)


@app.command()
def start(quick: QuickOption = False, json_file: JsonOption = None, folder: FolderOption = None) -> None:
    """From a new process to the first result, by phase, against plain PySpark with one Python stage."""
    from benchmarks.spark.start import start as bench

    result = measured(bench.run_start, bench.QUICK if quick else bench.StartEffort(), folder)
    figures = bench.start_figures(result)
    report("first result of a trivial application, local[2]", bench.start_tables(result), bench.start_notes(figures),
           figures, json_file)  # fmt: skip


@app.command()
def rescale(
    quick: QuickOption = False,
    changes: Annotated[int | None, typer.Option(min=1, help="How often it goes from 2 to 4 replicas.")] = None,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Without Spark's own way.")] = False,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """From 2 to 4 replicas at half of the highest rate, against Spark's own way: stop, repartition, restart."""
    from benchmarks.spark.rescale import rescale as bench

    effort = bench.QUICK if quick else bench.RescaleEffort()
    effort = replace(
        effort, repeats=effort.repeats if changes is None else changes, stock=None if no_peers else effort.stock
    )
    result = measured(bench.run_rescale, effort, folder)
    title = f"vwap_per_ticker with {effort.keys:,} keys on two cores"
    figures = bench.rescale_figures(result, effort)
    report(title, bench.rescale_tables(result), bench.rescale_notes(result), figures, json_file)


@app.command()
def state(
    quick: QuickOption = False,
    case: Annotated[
        list[str] | None,
        typer.Option(help="Only this case ('1000000x1000', '1000000x1000:zipf'), no cluster; may be repeated."),
    ] = None,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """Keyed state by number of keys and length of windows: rate, memory, change logs, what a kill costs; a cluster."""
    from benchmarks.spark import state as bench

    effort = bench.QUICK if quick else bench.StateEffort()
    if case:
        effort = bench.only_cases(effort, case)
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
    """What measuring and control cost under a goal that is met anyway, of all CPU."""
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
    """A function that calls a service, inside Spark: the elastic pool against plain calls and fixed pools."""
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
    engine: Annotated[
        str | None,
        typer.Option(metavar="twin", help="Every policy as published over --trace and --seeds, rivals with restarts."),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="With --engine twin: runs of each case.")] = 3,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --engine twin: intervals of a trace; else 900, or 200 if quick."),
    ] = None,
    made: Annotated[
        list[int] | None,
        typer.Option(metavar="SEED", min=0, help="With --engine twin: also five loads of our own; may be repeated."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Compare this one, too: MODULE:CLASS, FILE.py:CLASS, or a name."),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Policies for replicas: all of them on the twin, MPC and the two best rivals on Spark."""
    from benchmarks.saso.command import run_saso
    from benchmarks.saso.twin_command import run_saso_twin
    from penstock.errors import InputError

    _check_given_policy(policy, engine, only)

    if engine is not None:
        if engine != "twin":
            raise InputError(f"--engine is twin, or left out; got '{engine}'")
        run_saso_twin(trace or [], seeds, pictures, json_file, quick=quick, steps=steps, made=made or ())
        return
    if only not in (None, *_SASO_PARTS):
        raise InputError(f"--only is one of {', '.join(_SASO_PARTS)}; got '{only}'")
    run_saso(trace or [], seed, pictures, json_file, only, quick=quick, policy=policy)


def _check_given_policy(policy: str | None, engine: str | None, only: str | None) -> None:
    """One sentence for a policy that cannot be had, before minutes of comparisons."""
    from penstock.cli.options.policy_option import policy_of_option
    from penstock.control.policy_text import policy_text
    from penstock.errors import InputError

    if policy is None:
        return
    if engine is not None or only not in (None, "comparisons"):
        raise InputError("--policy is for the comparisons; leave out --engine, and take --only comparisons or no part")
    found = policy_of_option(policy)
    if isinstance(found, str):
        policy_text(found)


@app.command()
def simulator(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer events and sizes; figures are rougher.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Events per second of the twin's simulator on one core, against SimPy and a plain event list, by size."""
    from benchmarks.simulator.simulator import QUICK, SimulatorEffort, measure, measure_hour, print_report, summary

    effort = QUICK if quick else SimulatorEffort()
    with progress_shown() as show:
        found, hour = measure(effort, show), measure_hour(effort, show)
    machine = this_machine(packages=("simpy",))
    print_report(wide_console(110), found, machine, hour)
    finish(summary(found, hour), machine, json_file)


@app.command()
def twin(
    quick: Annotated[bool, typer.Option("--quick", help="One round, shorter runs; figures are rougher.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="APPLICATION", help="vwap, trading or service-bound; may be repeated.")
    ] = None,
    picture: Annotated[Path, typer.Option(help="Draw measured against simulated into this file.")] = Path("twin.png"),
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """The twin, fitted to one journal of each application, against other runs on local Spark."""
    from benchmarks.twin.twin_report import run_benchmark

    run_benchmark(quick=quick, only=only or [], picture=picture, json_file=json_file, folder=folder)


@app.command()
def cloud(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and simulations; figures are rougher.")] = False,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw figures 2, 3, 4a and 4b into this directory.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """CLOUD's figures on the twin: pinned and unpinned nodes, scopes of bin-packing, the search for partitions."""
    from benchmarks.cloud.cloud import QUICK, CloudEffort, draw, measure, print_report, summary

    with progress_shown() as show:
        found = measure(QUICK if quick else CloudEffort(), show)
    machine = this_machine()
    print_report(wide_console(110), found, machine)
    if pictures is not None:
        draw(found, pictures)
    finish(summary(found), machine, json_file)


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


@app.command()
def fuzz(
    only: Annotated[
        str | None, typer.Option(metavar="KIND", help="One kind alone: rows, files, spade, options, journals, ...")
    ] = None,
    inputs: Annotated[int | None, typer.Option(min=1, help="With --only: so many inputs.")] = None,
    first: Annotated[int, typer.Option(min=0, help="With --only: the number of the first input.")] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Try no more after so many; the JSON says which number is next.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same inputs.")] = 1,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Try one input again that went wrong and was saved.")
    ] = None,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where to keep inputs that went wrong.")] = Path(
        "out/fuzz"
    ),
    quick: QuickOption = False,
    json_file: JsonOption = None,
) -> None:
    """Malformed rows, files, programs, options, journals and checkpoints: a sentence or a right result each time."""
    from benchmarks.fuzz import fuzz as bench

    if replay is not None:
        outcome = bench.replayed(replay)
        print("\n".join(text for text in (outcome.trace, f"{outcome.verdict}: {outcome.text}") if text))
        return
    with progress_shown() as show:
        effort = (bench.QUICK if quick else bench.FuzzEffort()).of_one(only, inputs, first)
        effort = effort if minutes is None else replace(effort, minutes=minutes)
        result = bench.run_fuzz(effort, seed, only, folder, show)
    report(
        "malformed inputs", [bench.fuzz_table(result)], bench.fuzz_notes(result), bench.fuzz_figures(result), json_file
    )


@app.command()
def soak(
    minutes: Annotated[
        float, typer.Option(min=0.1, help="How long; the first sixth, at most 10 minutes, warms up.")
    ] = 60,
    rate: Annotated[float, typer.Option(min=1, help="Tuples a second of each of the two sources.")] = 500,
    quick: Annotated[bool, typer.Option("--quick", help="One minute; figures are of no use but to try it.")] = False,
    json_file: JsonOption = None,
    folder: FolderOption = None,
) -> None:
    """An hour of windows, a join, user state and a change every minute: whether memory, disk or latency grow."""
    from benchmarks.soak import soak_report as about
    from benchmarks.soak.soak import run_soak
    from benchmarks.soak.soak_scene import effort_of

    effort = effort_of(1.0 if quick else minutes, rate)
    result = measured(run_soak, effort, folder)
    figures = about.soak_figures(result, effort)
    title = f"{effort.minutes:g} minutes at {2 * rate:,.0f} tuples/s with {effort.keys} keys, local[2]"
    report(title, [about.soak_table(result, effort)], about.soak_notes(result, figures), figures, json_file)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a benchmark and ends the process; lists them all where none is named."""
    given = sys.argv[1:] if arguments is None else arguments
    run_and_exit(app, given or ["--help"], "python -m benchmarks")


if __name__ == "__main__":
    main()
