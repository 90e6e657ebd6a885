"""One run of the trading application on Spark under a policy, and its figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.saso.live.loads import write_trace
from benchmarks.saso.loads import Load
from benchmarks.saso.metrics import Saso, saso
from benchmarks.spark.batches import throughput as throughput_of
from benchmarks.spark.sustained import configuration_of
from penstock import sinks
from penstock.app.application import Application
from penstock.cli.demo.trading import market, trading
from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.loop.control_request import ControlRequest, policy_of
from penstock.control.loop.loop import Record
from penstock.control.policy import Policy
from penstock.control.setting import Grid
from penstock.errors import InputError
from penstock.plan.configuration import Configuration
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start

Meanwhile = Callable[[float], object]
Bound = Literal["computing", "service-bound"]
ELEMENT = "windows"
SYMBOLS = 400  # few enough that windows are full within a short run, so that costs stay the same
_CALIBRATION_QUOTES = {"computing": 3_000_000, "service-bound": 200_000}
LEAD_S = 6.0  # of a calm load before the one that is judged
_LOOK_S = 0.5
_CAP_S = 2.0  # the largest micro-batch is so many seconds of all replicas' work


@dataclass(slots=True)
class Watched:
    """A policy whose control steps and decisions are kept."""

    policy: Policy
    seen: list[ControlStep] = field(default_factory=list)
    wanted: list[Decision] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.policy.name

    def start(self) -> Any:
        return self.policy.start()

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        state, decision = self.policy.decide(state, seen)
        self.seen.append(seen)
        self.wanted.append(decision)
        return state, decision

    def records(self) -> list[Record]:
        """As the loop has them; what was requested is what the next step ran with, where that differs.

        The plant moves the cap of micro-batches by itself, which is no change of a policy's.
        """
        after = [*self.seen[1:], *self.seen[-1:]]
        return [
            Record(now, want, want, later.setting if later.setting.replicas != now.setting.replicas else None)
            for now, want, later in zip(self.seen, self.wanted, after, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Controlled:
    """What came of a run; `fingerprint`: number and checksum of its results."""

    saso: Saso
    records: list[Record]
    fingerprint: tuple[int, int]
    dead_letters: int


def capacity_tuples_s(session: Any, replicas: int, service: int | None) -> float:
    """What the application takes in a second on all replicas, as fast as it can; the first third warms up."""
    bound: Bound = "computing" if service is None else "service-bound"
    total = _CALIBRATION_QUOTES[bound]
    app = _application(market("unbounded", speed_up=1.0, symbols=SYMBOLS, total=total), service)
    configuration = replace(_configuration(app, replicas), micro_batch_tuples=total // 12)
    handle = start(app, session=session, configuration=configuration)
    try:
        handle.wait(120.0)
    finally:
        observations = handle.stop().observations
    return throughput_of(observations[len(observations) // 3 :]).tuples_s


def run_controlled(
    session: Any,
    bound: Bound,
    load: Load,
    goal: Goal,
    policy: str | Policy,
    setting: str,
    *,
    highest: int,
    capacity: float,
    service: int | None,
    folder: Path,
    first: int | None = None,
    meanwhile: Meanwhile | None = None,
) -> Controlled:
    """The application under a load until all of it is served; at first on `first` replicas, else on half of them.

    `meanwhile` is called again and again with the seconds since the load began.
    """
    trace = write_trace(load, folder / "load.csv", LEAD_S)
    source = market(trace, None, speed_up=1.0, symbols=SYMBOLS)
    app = _application(source, service)
    cap = round(_CAP_S * capacity)
    limits = Limits(max_replicas=highest, max_micro_batch_tuples=cap)
    watched = Watched(as_a_user_gets_it(policy, goal, limits, highest, cap))
    configuration = replace(_configuration(app, first or max(highest // 2, 1)), micro_batch_tuples=cap)
    handle = start(app, session=session, configuration=configuration, goal=goal, policy=watched, limits=limits)
    try:
        _wait(handle, LEAD_S + 3 * load.end_s + 60.0, meanwhile)
    finally:
        result = handle.stop()
    records = since(watched.records(), handle.fixed.started_at_s + LEAD_S)
    if not records:
        raise InputError(f"{load.name} on Spark under {watched.name} ended before a control step; is the machine busy?")
    replicas = Grid(tuple(range(1, highest + 1)), caps_tuples=(cap,))
    figures = saso(watched.name, setting, records, goal, replicas)
    return Controlled(figures, records, result.discarded["out"], result.dead_letter_count)


def as_a_user_gets_it(policy: str | Policy, goal: Goal, limits: Limits, highest: int, cap_tuples: int) -> Policy:
    """The policy as `start` makes it of a name, over the settings within the limits; an object is as it is."""
    return policy_of(ControlRequest(goal, limits=limits, policy=policy), grid_within(limits, highest, cap_tuples))


def since(records: Sequence[Record], time_s: float) -> list[Record]:
    """What was seen from a moment on; times count from there.  Before it, a query and its workers grow warm."""
    after = [r for r in records if r.seen.ended_at_s > time_s]
    return [replace(r, seen=replace(r.seen, ended_at_s=r.seen.ended_at_s - time_s)) for r in after]


def _wait(handle: Handle, patience_s: float, meanwhile: Meanwhile | None) -> None:
    began_s = time.monotonic()
    while (past_s := time.monotonic() - began_s) < patience_s and not handle.wait(_LOOK_S):
        if meanwhile is not None:
            meanwhile(past_s - LEAD_S)


def _application(source: Any, service: int | None) -> Application:
    return trading(source, service=service, sink=sinks.discard())


def _configuration(app: Application, replicas: int) -> Configuration:
    return configuration_of(app).with_replicas(ELEMENT, replicas)
