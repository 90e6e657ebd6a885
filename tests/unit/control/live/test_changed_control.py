"""Control that is changed while it runs: passive, paused, another goal; what was learned stays."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import pytest

from penstock.control.commands import ControlChange
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.goals.goal import latency, throughput
from penstock.control.goals.limits import Limits
from penstock.control.live.controller import Controller, ControlParts
from penstock.control.live.micro_batch_plant import SparkPlant
from penstock.control.loop.control_request import ControlRequest
from penstock.control.loop.loop import Loop
from penstock.control.routes.routing import Routing
from penstock.control.rules.batch_cap import first_pace
from penstock.control.setting import Setting
from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration


@dataclass(frozen=True, slots=True)
class Counts:
    """Wants one replica more at each step, and says how many steps it has learned from."""

    name: str = "counts"

    def start(self) -> int:
        return 0

    def decide(self, state: int, seen: ControlStep) -> tuple[int, Decision]:
        return state + 1, Change(replace(seen.setting, replicas=seen.setting.replicas + 1), f"learned {state + 1}")


class Running:
    """An application that notes what was asked of it."""

    def __init__(self) -> None:
        self.configuration = Configuration((ElementConfiguration("window", 1, (0, 0)),), micro_batch_tuples=65_536)
        self.applied: list[int] = []

    def apply(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.applied.append(configuration.element("window").replicas)

    def apply_cap(self, tuples: int) -> None:
        self.configuration = replace(self.configuration, micro_batch_tuples=tuples)

    def clear_frequency(self) -> None:
        raise AssertionError

    def beat(self) -> None:
        raise AssertionError


class Notes:
    def __init__(self) -> None:
        self.decisions: list[Any] = []

    def decided(self, batch: int, decision: Any) -> None:
        self.decisions.append(decision)

    def spent(self, cpu_s: float) -> None:
        pass


def step(number: int, replicas: int = 1) -> ControlStep:
    return ControlStep(number, float(number), 1.0, Setting(replicas), 10.0, 10.0, 0.0, 0.5, last_batch=number)


class Controlled:
    """A controller whose steps the test gives, one at a time, without its thread."""

    def __init__(self, **request: Any) -> None:
        self.application, self.notes = Running(), Notes()
        asked = ControlRequest(throughput(), limits=Limits(max_replicas=9), **request)
        self.steps: list[ControlStep] = []
        self.plant = SparkPlant(self.application, pace=None if asked.passive else first_pace(65_536))
        self.plant.observe = lambda: self.steps.pop(0) if self.steps else None  # type: ignore[method-assign]
        self.controller = Controller(
            self.plant, self.parts(asked).loop, self.notes, request=asked, remake=self.parts, tell=lambda text: None
        )

    def parts(self, request: ControlRequest) -> ControlParts:
        if request.limits.max_replicas == 99:
            raise InputError("there is capacity for 9")
        loop = Loop(Counts(), request.goal, routing=Routing(), passive=request.passive)
        return ControlParts(loop, pace=None if request.passive else first_pace(65_536))

    def run(self, *steps: ControlStep) -> list[Any]:
        self.steps += steps
        self.controller._run()
        assert self.controller.failure is None
        return self.notes.decisions


def test_paused_tuning_holds_and_learns_on() -> None:
    own = Controlled()
    own.controller.change(ControlChange(paused=True))
    found = own.run(step(1), step(2))
    assert [decision.because for decision in found] == ["tuning is paused"] * 2
    assert [decision.rules for decision in found] == [("paused",)] * 2
    assert [decision.wanted.replicas for decision in found] == [2, 2]
    assert own.application.applied == []
    assert own.controller.is_paused


def test_a_new_goal_keeps_what_was_learned() -> None:
    own = Controlled()
    turns = iter((None, ControlChange(goal=latency(p95_ms=5))))
    give = own.plant.observe

    def observed() -> ControlStep | None:
        change = next(turns, None)
        if change is not None:
            own.controller.change(change)
        return give()

    own.plant.observe = observed  # type: ignore[method-assign]
    found = own.run(step(1), step(2, 2))
    assert [decision.because for decision in found] == ["learned 1", "learned 2"]
    assert own.controller.goal == latency(p95_ms=5)


def test_passive_and_active_again() -> None:
    own = Controlled(passive=True)
    assert own.run(step(1))[-1].passive
    assert own.application.applied == []
    own.controller.change(ControlChange(passive=False))
    assert not own.run(step(2))[-1].passive
    assert own.application.applied == [2]
    own.application.apply_cap(4096)
    own.controller.change(ControlChange(passive=True))
    assert own.application.configuration.micro_batch_tuples == 65_536, "the cap is given back"


def test_what_cannot_be_done_changes_nothing() -> None:
    own = Controlled()
    with pytest.raises(InputError, match="there is capacity for 9"):
        own.controller.change(ControlChange(limits=Limits(max_replicas=99)))
    assert own.controller.limits == Limits(max_replicas=9)


def test_control_goes_on_while_a_change_waits_for_an_answer_of_the_cluster() -> None:
    own, is_asked, answers = Controlled(), threading.Event(), threading.Event()

    def parts(request: ControlRequest) -> ControlParts:
        is_asked.set()
        assert answers.wait(60)
        return own.parts(request)

    own.controller._remake = parts
    changing = threading.Thread(target=own.controller.change, args=(ControlChange(passive=True),), daemon=True)
    changing.start()
    assert is_asked.wait(30)
    working = threading.Thread(target=own.run, args=(step(1),), daemon=True)
    working.start()
    working.join(20)
    is_held = working.is_alive()
    answers.set()
    changing.join(20)
    assert not is_held, "a lock was held while the cluster was asked"
    assert [decision.passive for decision in own.notes.decisions] == [False]
    assert own.controller.is_passive


def test_a_controller_that_was_made_by_hand_cannot_be_changed() -> None:
    plant = SparkPlant(Running())
    controller = Controller(plant, Loop(Counts(), throughput()), Notes())
    with pytest.raises(InputError, match="this controller cannot be changed while it runs"):
        controller.change(ControlChange(paused=True))


def test_a_hold_of_the_guard_says_for_how_long() -> None:
    from penstock.control.rules.guard import Guard

    unsettled = replace(step(3), settled_below=False)
    held = Guard()(unsettled, Change(Setting(2), "more"))
    assert isinstance(held, Hold)
    assert held.until_s == 5.0
