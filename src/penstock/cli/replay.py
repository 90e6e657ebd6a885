"""`penstock replay`: what a policy would have decided in a recorded run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.control.decision import Change
from penstock.control.goal import Goal, latency, throughput
from penstock.control.journal import read_journal
from penstock.control.named_policies import named_policy
from penstock.control.observed_steps import ObservedBatch, control_steps
from penstock.control.qos import breaks
from penstock.control.replay import Replayed, replay
from penstock.control.setting import Grid
from penstock.errors import InputError


@dataclass(frozen=True, slots=True)
class ReplayWish:
    """What was asked for on the command line."""

    journal: Path
    policy: str
    p95_ms: float | None
    highest: int | None
    speed_up: float
    as_json: bool


def replay_command(wish: ReplayWish) -> None:
    """Prints where the policy would have changed something, and a summary."""
    if wish.speed_up <= 0:
        raise InputError(f"--speed-up is above 0; got {wish.speed_up:g}")
    path = wish.journal / "journal.jsonl" if wish.journal.is_dir() else wish.journal
    run = read_journal(path)
    batches = [ObservedBatch(line.observation, line.configuration) for line in run.lines]
    steps = list(control_steps(batches, single=run.single))
    if not steps:
        raise InputError(f"the journal '{path}' has no whole control step of a second")
    goal = throughput() if wish.p95_ms is None else latency(p95_ms=wish.p95_ms)
    highest = wish.highest if wish.highest is not None else max(step.setting.replicas for step in steps)
    if highest < 1:
        raise InputError(f"--max-replicas is at least 1; got {highest}")
    grid = Grid(tuple(range(1, highest + 1)), caps_tuples=(steps[0].setting.micro_batch_tuples,))
    policy = named_policy(wish.policy, goal, grid, wish.speed_up)
    result = replay(steps, policy)
    body = summary(run.application, policy.name, result, goal)
    if wish.as_json:
        print(json.dumps(body))
    else:
        _print(Console(), result, body)


def summary(application: str, policy: str, result: Sequence[Replayed], goal: Goal) -> dict[str, Any]:
    """The JSON object."""
    return {
        "application": application,
        "policy": policy,
        "steps": len(result),
        "violations": sum(breaks(goal, one.seen) for one in result),
        "would_change": sum(isinstance(one.decision, Change) for one in result),
        "agreed": sum(one.agrees for one in result),
        "mean_replicas_used": round(sum(one.seen.setting.replicas for one in result) / len(result), 3),
        "mean_replicas_wanted": round(sum(one.desired.replicas for one in result) / len(result), 3),
        "decisions": [
            {
                "step": one.seen.step, "ended_at_s": round(one.seen.ended_at_s, 3), "used": one.seen.setting.replicas,
                "wanted": one.desired.replicas, "followed": one.followed.replicas, "because": one.decision.because,
            }
            for one in result
        ],
    }  # fmt: skip


def _print(console: Console, result: Sequence[Replayed], body: dict[str, Any]) -> None:
    table = Table(title=f"{body['application']}: {body['policy']} over {body['steps']} recorded steps")
    for name in ("step", "tuples/s", "backlog", "used", "wanted", "followed"):
        table.add_column(name, justify="right")
    table.add_column("because")
    for one in result:
        if isinstance(one.decision, Change) or not one.agrees:
            table.add_row(
                str(one.seen.step), f"{one.seen.rate_tuples_s:,.0f}", f"{one.seen.backlog_tuples:,.0f}",
                str(one.seen.setting.replicas), str(one.desired.replicas), str(one.followed.replicas),
                one.decision.because,
            )  # fmt: skip
    console.print(table)
    console.print(
        f"would change {body['would_change']} times; agreed with what followed in {body['agreed']} of {body['steps']} "
        f"steps; replicas used {body['mean_replicas_used']:g}, wanted {body['mean_replicas_wanted']:g} on average "
        f"(each step as recorded: what the policy's own changes would have led to is not simulated)",
        soft_wrap=True,
        highlight=False,
    )
