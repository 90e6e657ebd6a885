"""`penstock replay`: what a policy would have decided in a recorded run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.cli.options.control_options import ControlOptions, control_arguments
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change
from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks, breaks_p95_apart, is_measured
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.journal.journal import RecordedRun, read_journal
from penstock.control.journal.replay import Replayed, replay
from penstock.control.loop.control_request import ControlRequest, control_request, policy_of
from penstock.control.loop.observed_steps import COLD_BATCHES, ObservedBatch, control_steps
from penstock.control.setting import Grid
from penstock.errors import InputError
from penstock.host.paths.local_path import local_path


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What was asked for on the command line; what was not is as in the run, as far as its journal tells."""

    journal: Path
    control: ControlOptions = field(default_factory=ControlOptions)
    speed_up: float | None = None
    as_json: bool = False


def replay_command(request: ReplayRequest) -> None:
    """Prints where the policy would have changed something, and a summary."""
    result, body = replayed_run(request)
    if request.as_json:
        print(json.dumps(body))
    else:
        _print(Console(), result, body)


def replayed_run(request: ReplayRequest) -> tuple[Sequence[Replayed], dict[str, Any]]:
    """Each recorded step with what the policy would have done, and the summary."""
    asked = _checked(request)
    journal = Path(local_path(request.journal, "the journal"))
    path = journal / "journal.jsonl" if journal.is_dir() else journal
    run = read_journal(path)
    asked = as_started(asked, request.control, run)
    speed_up = run.start.speed_up if request.speed_up is None else request.speed_up
    steps = steps_of(run)
    if not steps:
        raise InputError(
            f"the journal '{path}' has no whole control step of a second after the {COLD_BATCHES} cold micro-batches "
            "of a start"
        )
    grid = grid_of(steps, asked.limits)
    policy = policy_of(asked, grid, speed_up=speed_up)
    result = replay(steps, policy, grid)
    return result, summary(run.application, policy.name, result, asked.goal) | {"speed_up": speed_up}


def _checked(request: ReplayRequest) -> ControlRequest:
    """The options as `penstock run` takes them; without a goal, it is to keep up with the stream."""
    problems: list[str] = []
    if request.speed_up is not None and not 0 < request.speed_up < math.inf:
        problems.append(f"--speed-up is above 0; got {request.speed_up:g}")
    try:
        arguments = control_arguments(replace(request.control, goal=request.control.goal or "throughput"))
    except InputError as error:
        problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    asked = control_request(**arguments)
    assert asked is not None  # since there is a goal
    return asked


def as_started(asked: ControlRequest, options: ControlOptions, run: RecordedRun) -> ControlRequest:
    """The request with the goal and each limit that was not asked for as the run had them."""
    given = {word.partition("=")[0] for text in options.limits for word in text.split()}
    limits = replace(run.start.limits, **{name: getattr(asked.limits, name) for name in given})
    is_set = any(line.configuration.frequency_ghz is not None for line in run.lines)
    if "frequencies_ghz" not in given and not is_set and not limits.frequency_dry_run:
        limits = replace(limits, frequencies_ghz=())  # the machine had none
    if problems := limits.problems():
        raise InputError("\n".join(problems))
    goal = run.start.goal if options.goal is None else None
    return replace(asked, goal=goal or asked.goal, limits=limits)


def steps_of(run: RecordedRun) -> list[ControlStep]:
    """The control steps of all starts, each without its cold micro-batches."""
    found = (
        step
        for lines in run.by_start()
        for step in control_steps(
            (ObservedBatch(line.observation, line.configuration) for line in lines[COLD_BATCHES:]), single=run.single
        )
    )
    return [replace(step, step=number) for number, step in enumerate(found, 1)]


def grid_of(steps: Sequence[ControlStep], limits: Limits) -> Grid:
    """What the policy may choose from: within the limits, else what the run had."""
    highest = limits.max_replicas or max(limits.min_replicas, *(step.setting.replicas for step in steps))
    most_tuples = limits.max_micro_batch_tuples or max(step.setting.micro_batch_tuples for step in steps)
    return grid_within(limits, highest, most_tuples, limits.frequencies_ghz)


def short_options(control: ControlOptions, p95_ms: float | None, max_replicas: int | None) -> ControlOptions:
    """The options with the two that have a short form of their own.

    >>> short_options(ControlOptions(), 500, 4)
    ControlOptions(goal='latency p95_ms=500', policy=None, prices=(), limits=('max_replicas=4',), passive=False, \
payback=None)
    """
    if p95_ms is not None:
        if control.goal is not None:
            raise InputError("--p95-ms is short for --goal 'latency p95_ms=...'; give one of them")
        control = replace(control, goal=f"latency p95_ms={p95_ms:g}")
    if max_replicas is not None:
        control = replace(control, limits=(*control.limits, f"max_replicas={max_replicas}"))
    return control


def summary(application: str, policy: str, result: Sequence[Replayed], goal: Goal) -> dict[str, Any]:
    """The JSON object."""
    return {
        "application": application,
        "policy": policy,
        "steps": len(result),
        "violations": sum(breaks(goal, one.seen) for one in result),
        "not_measured": sum(not is_measured(goal, one.seen) and not breaks(goal, one.seen) for one in result),
        "would_change": sum(isinstance(one.decision, Change) for one in result),
        "agreed": sum(one.agrees for one in result),
        "violations_p95": _p95_violations(goal, result),
        "mean_replicas_used": round(sum(one.seen.setting.replicas for one in result) / len(result), 3),
        "mean_replicas_wanted": round(sum(one.desired.replicas for one in result) / len(result), 3),
        "decisions": [
            {
                "step": one.seen.step, "ended_at_s": round(one.seen.ended_at_s, 3), "used": one.seen.setting.replicas,
                "wanted": one.desired.replicas, "setting": str(one.desired), "followed": one.followed.replicas,
                "because": one.decision.because,
            }
            for one in result
        ],
    }  # fmt: skip


def _p95_violations(goal: Goal, result: Sequence[Replayed]) -> int | None:
    """Steps whose 95th percentile was above its bound, where that is judged apart; else None."""
    apart = [breaks_p95_apart(goal, one.seen) for one in result]
    return None if None in apart else sum(map(bool, apart))


def _wanted(one: Replayed) -> str:
    """Replicas; frequency and cap where they would change, too."""
    now, desired = one.seen.setting, one.desired
    parts = [str(desired.replicas)]
    if desired.frequency_ghz != now.frequency_ghz and desired.frequency_ghz is not None:
        parts.append(f"{desired.frequency_ghz:g} GHz")
    if desired.micro_batch_tuples != now.micro_batch_tuples:
        parts.append(f"cap {desired.micro_batch_tuples:,}")
    return ", ".join(parts)


def _violations(body: dict[str, Any]) -> str:
    text, apart = f"the goal broken in {body['violations']}", body["violations_p95"]
    return text if apart is None else f"{text}, the 95th percentile above its bound in {apart}"


def _backlog(one: Replayed) -> str:
    return f"{one.seen.backlog_tuples:,.0f}" if one.seen.measured or one.seen.backlog_tuples else "not measured"


def _print(console: Console, result: Sequence[Replayed], body: dict[str, Any]) -> None:
    table = Table(title=f"{body['application']}: {body['policy']} over {body['steps']} recorded steps")
    for name in ("step", "tuples/s", "backlog", "used", "wanted", "followed"):
        table.add_column(name, justify="right")
    table.add_column("because")
    for one in result:
        if isinstance(one.decision, Change) or not one.agrees:
            table.add_row(
                str(one.seen.step), f"{one.seen.rate_tuples_s:,.0f}", _backlog(one),
                str(one.seen.setting.replicas), _wanted(one), str(one.followed.replicas),
                one.decision.because,
            )  # fmt: skip
    console.print(table)
    console.print(
        f"would change {body['would_change']} times; agreed with what followed in {body['agreed']} of {body['steps']} "
        f"steps; {_violations(body)}; replicas used {body['mean_replicas_used']:g}, wanted "
        f"{body['mean_replicas_wanted']:g} on average "
        f"(each step as recorded: what the policy's own changes would have led to is not simulated)",
        soft_wrap=True,
        highlight=False,
    )
