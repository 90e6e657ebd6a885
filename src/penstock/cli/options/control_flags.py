"""The options of commands that set a goal, a policy, prices and limits."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.control.policy_parameters import POLICY_NAMES, parameters_text

CONTROL = "Goals and control"
_POLICIES = "\n\n".join(f"- `{name}`: {parameters_text(name)}" for name in POLICY_NAMES)
POLICIES_HELP = f"Policies, with their parameters and defaults:\n\n{_POLICIES}"
GoalFlag = Annotated[
    str | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help="'throughput', 'latency p95_ms=500' or 'latency mean_ms=300': "
        "change replicas, routes and micro-batches so that it is met.",
        rich_help_panel=CONTROL,
    ),
]
PolicyFlag = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="NAME or NAME:PARAMETER=X,...: mpc (default), ds2, th-node:horizon=3; the list is below. MODULE:CLASS or "
        "FILE.py:CLASS: a policy of your own, such as policies.py:Busy.",
        rich_help_panel=CONTROL,
    ),
]
PriceFlag = Annotated[
    list[str] | None,
    typer.Option("--price", metavar="NAME=X", help="Price of resources: core_hour=X, kwh=X.", rich_help_panel=CONTROL),
]
PaybackFlag = Annotated[
    str | None,
    typer.Option(
        "--payback",
        metavar="calm|balanced|eager|SECONDS",
        help="Seconds within which a change by mpc must pay for itself: calm is 10, balanced 5, eager 2.",
        rich_help_panel=CONTROL,
    ),
]
OldPaybackFlag = Annotated[str | None, typer.Option("--willingness", hidden=True)]  # its name before 0.2
LimitFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=X",
        help="min_replicas, max_replicas, max_executors, max_micro_batch_tuples, max_imbalance (0.05), "
        "frequencies_ghz=1.2,1.6,..., frequency_dry_run=yes (logs the frequencies and sets none).",
        rich_help_panel=CONTROL,
    ),
]
PassiveFlag = Annotated[
    bool,
    typer.Option("--passive", help="Print what control would decide; change nothing.", rich_help_panel=CONTROL),
]


def chosen_payback(payback: str | None, willingness: str | None) -> str | None:
    """What `--payback` says, or its old name, which warns."""
    if willingness is not None:
        typer.echo("penstock: --willingness is now --payback; the old name goes in 0.2", err=True)
    return payback or willingness
