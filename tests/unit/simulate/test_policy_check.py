"""`ps.testing.check_policy` passes all of Penstock's policies and names each rule that a bad one breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import penstock as ps
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.goals.goal import throughput
from penstock.control.loop.named_policies import named_policy
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.control.setting import Grid


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_policies_of_penstock_pass(name: str) -> None:
    ps.testing.check_policy(named_policy(name, throughput(), Grid(tuple(range(1, 13)), caps_tuples=(24_000,))))


class Good:
    name = "good"

    def start(self) -> Any:
        return 0

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        return state + 1, Hold("fine")


class Remembers(Good):
    def __init__(self) -> None:
        self.seen = 0

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        self.seen += 1
        return state, Hold(f"step {self.seen}")


class ChangesItsState(Good):
    def start(self) -> Any:
        return []

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        state.append(seen.step)
        return state, Hold("fine")


class HalfReplicas(Good):
    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        return state, Change(replace(seen.setting, replicas=0), "fewer")


class Divides(Good):
    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        return state, Hold(f"served {seen.served_tuples / seen.arrived_tuples}")


class NoTuple(Good):
    def decide(self, state: Any, seen: ControlStep) -> Any:
        return Hold("fine")


class Stays(Good):
    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        return state, Change(seen.setting, "as it is")


def test_a_good_policy_passes() -> None:
    ps.testing.check_policy(Good())


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (Remembers(), "other decisions"),
        (ChangesItsState(), "changes the state that it is given"),
        (HalfReplicas(), "whole number of replicas, at least 1; got 0"),
        (Divides(), "under no load at all, decide raised ZeroDivisionError"),
        (NoTuple(), r"decide gives \(state, Change"),
        (Stays(), "the setting that it has already"),
        (object(), "has no name, start, decide"),
    ],
)
def test_a_bad_one_is_told_what_it_breaks(policy: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        ps.testing.check_policy(policy)
