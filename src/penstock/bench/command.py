"""`penstock bench`: measures, prints a table, ends with one JSON object."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Measure ours beside limits and peers, in one process and run.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure ours beside limits and peers, in one process and run."""


@app.command()
def measuring(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter rounds; figures are rougher.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")] = None,
) -> None:
    """What the figures of an Observation cost: the same blocks through the same operators with and without meters."""
    from rich.console import Console

    from penstock.bench.machine import this_machine
    from penstock.bench.measuring import BLOCK_ROWS, measure, print_costs, summary

    tuples, pairs, machine = (262_144, 8, this_machine()) if quick else (2_097_152, 40, this_machine())
    costs = [measure(rows, tuples, pairs) for rows in BLOCK_ROWS]
    console = Console()
    print_costs(Console(width=max(console.width, 120)), costs, machine, tuples)
    line = json.dumps(summary(costs, machine, pairs))
    if json_file is not None:
        json_file.write_text(line + "\n")
    print(line)


@app.command()
def kernels(
    case: Annotated[
        list[str] | None, typer.Option(help="Only cases of this name or pattern ('vwap_*'); may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter rounds, windows filled less; figures are rougher.")
    ] = False,
    peers: Annotated[bool, typer.Option(help="Run polars and DuckDB too.")] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the ratios into this file (PNG, SVG, PDF).")] = None,
) -> None:
    """Kernels of an element on one thread, beside the plain numba loop for the same job and beside batch engines."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before anything imports polars
    from rich.console import Console

    from penstock.bench.cases import chosen_cases
    from penstock.bench.machine import this_machine
    from penstock.bench.measurement import QUICK, Effort
    from penstock.bench.picture import draw
    from penstock.bench.report import print_report, summary
    from penstock.bench.run import run_cases

    effort, machine = QUICK if quick else Effort(), this_machine()
    results = run_cases(chosen_cases(case or ()), effort, with_peers=peers)
    console = Console()
    print_report(Console(width=max(console.width, 180)), results, machine, effort)
    if picture is not None:
        draw(results, machine, picture)
    line = json.dumps(summary(results, machine, effort))
    if json_file is not None:
        json_file.write_text(line + "\n")
    print(line)


@app.command()
def mpc(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems; figures are rougher.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")] = None,
) -> None:
    """Optimisation of MPC: exhaustive, branch and bound, dynamic programming; time, nodes, and the same optimum."""
    from rich.console import Console

    from penstock.bench.machine import this_machine
    from penstock.bench.mpc import QUICK, MpcEffort, measure, print_report, summary

    effort, machine = QUICK if quick else MpcEffort(), this_machine()
    rows = measure(effort)
    print_report(Console(width=max(Console().width, 140)), rows, machine)
    line = json.dumps(summary(rows, machine, effort))
    if json_file is not None:
        json_file.write_text(line + "\n")
    print(line)


@app.command()
def saso(
    trace: Annotated[
        list[Path] | None, typer.Option(help="Also this CSV of counts ('timestamp,value'); may be repeated.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="comparisons|paper|situations", help="One part alone.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer settings of rivals, shorter traces, one seed.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same runs; MPC was tuned on 1 to 3.")] = 11,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw every case and situation into this directory.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")] = None,
) -> None:
    """Policies for replicas on the queue model: MPC beside its rivals at their best, and an oracle."""
    from penstock.bench.saso_command import run_saso
    from penstock.errors import InputError

    if only not in (None, "comparisons", "paper", "situations"):
        raise InputError(f"--only is comparisons, paper or situations; got '{only}'")
    run_saso(trace or [], seed, pictures, json_file, only, quick=quick)


@app.command()
def forecast(
    trace: Annotated[
        list[Path] | None, typer.Option(help="Also this CSV of counts ('timestamp,value'); may be repeated.")
    ] = None,
    steps: Annotated[int, typer.Option(help="How many intervals of a trace, from its middle.")] = 2000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same loads.")] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")] = None,
) -> None:
    """Forecasters of a rate: how far each is off, by how many steps it looks ahead."""
    from rich.console import Console

    from penstock.bench.forecast import loads, measure, print_report, summary
    from penstock.bench.machine import this_machine

    rows = measure(loads(seed, trace or [], steps))
    print_report(Console(width=max(Console().width, 100)), rows)
    line = json.dumps(summary(rows, this_machine(), seed))
    if json_file is not None:
        json_file.write_text(line + "\n")
    print(line)
