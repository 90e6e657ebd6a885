"""The command line of `penstock replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.control_flags import (
    GoalFlag,
    LimitFlag,
    OldPaybackFlag,
    PaybackFlag,
    PolicyFlag,
    PriceFlag,
    chosen_payback,
)


def replay(
    path: Annotated[
        Path,
        typer.Argument(metavar="JOURNAL", help="A journal, or the checkpoint that has one.", show_default=False),
    ],
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    payback: PaybackFlag = None,
    willingness: OldPaybackFlag = None,
    limit: LimitFlag = None,
    p95_ms: Annotated[
        float | None, typer.Option(metavar="MS", help="Short for --goal 'latency p95_ms=MS'. Default: as in the run.")
    ] = None,
    max_replicas: Annotated[
        int | None, typer.Option(metavar="N", help="Short for --limit max_replicas=N. Default: as in the run.")
    ] = None,
    speed_up: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="How many times as fast as real time the trace was replayed. Default: as in the journal."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Show what another policy would have decided in a recorded run.

    Goal, limits and the speed-up of a trace are those of the run, unless you give others.

    Examples:

    - `penstock replay out/checkpoint --policy mpc --max-replicas 8`

    - `penstock replay out/checkpoint --goal "latency mean_ms=300" --policy th-node:horizon=3,switching=no`

    - `penstock replay out/checkpoint/journal.jsonl --policy flink-autoscaler --speed-up 100 --json`
    """
    from penstock.cli.options.control_options import ControlOptions
    from penstock.cli.replay import ReplayRequest, replay_command, short_options

    control = ControlOptions(
        goal, policy, tuple(price or ()), tuple(limit or ()), False, chosen_payback(payback, willingness)
    )
    replay_command(ReplayRequest(path, short_options(control, p95_ms, max_replicas), speed_up, json))
