"""The options of commands that say what is asked of control."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.control.policy_parameters import POLICY_NAMES, parameters_text

_POLICIES = "\n\n".join(f"- `{name}`: {parameters_text(name)}" for name in POLICY_NAMES)
POLICIES_HELP = f"Policies with their settings, each as it is where it is not given:\n\n{_POLICIES}"
GoalFlag = Annotated[
    str | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help="'throughput', 'latency p95_ms=500' or 'latency mean_ms=300': keep to it, changing what it takes.",
    ),
]
PolicyFlag = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME[:SETTING=X,...]|MODULE:CLASS",
        help="mpc (default), ds2, th-node:horizon=3, ...; all of them below. Or your own: policies.py:Busy, "
        "my_package.policies:Busy (see `penstock.policies`, and `penstock.testing.check_policy`).",
    ),
]
PriceFlag = Annotated[
    list[str] | None, typer.Option("--price", metavar="NAME=X", help="core_hour=X, kwh=X: what resources cost.")
]
PaybackFlag = Annotated[
    str | None,
    typer.Option(
        "--payback",
        metavar="calm|balanced|eager|SECONDS",
        help="How readily mpc changes something: within so many seconds a change has to pay (10, 5 or 2).",
    ),
]
OldPaybackFlag = Annotated[str | None, typer.Option("--willingness", hidden=True)]  # its name before 0.2
LimitFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=X",
        help="min_replicas, max_replicas, max_executors, max_micro_batch_tuples, max_imbalance (0.05), "
        "frequencies_ghz=1.2,1.6,..., frequency_dry_run=yes: tell what would be written, and write nothing.",
    ),
]
PassiveFlag = Annotated[bool, typer.Option("--passive", help="Say what would be done for the goal, and do nothing.")]


def chosen_payback(payback: str | None, willingness: str | None) -> str | None:
    """What `--payback` says, or its old name, which warns."""
    if willingness is not None:
        typer.echo("penstock: --willingness is now --payback; the old name goes in 0.2", err=True)
    return payback or willingness
