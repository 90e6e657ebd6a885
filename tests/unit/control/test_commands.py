"""Commands to a running application: what they may say, and what they make of control."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.control.commands import (
    ControlChange,
    check_command,
    configuration_from,
    control_change,
    goal_from,
    limits_from,
)
from penstock.control.goals.goal import Goal, latency, throughput
from penstock.control.goals.limits import Limits
from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration, configuration_to_json
from penstock.runtime.driver.command_files import EVERY_S, FOLDER, CommandFiles, command_name
from penstock.watch.recorded.commands import write_command

NOW = Configuration((ElementConfiguration("trades", 2), ElementConfiguration("window", 2, (0, 0, 1, 1))))


@pytest.mark.parametrize(
    ("given", "goal"),
    [
        ("throughput", throughput()),
        ("throughput served_ratio=0.9", throughput(0.9)),
        ("latency p95_ms=500", latency(p95_ms=500)),
        ("p95_ms=500, mean_ms=200", latency(p95_ms=500, mean_ms=200)),
        ({"mean_ms": 100}, latency(mean_ms=100)),
        ({"served_ratio": 0.99}, throughput(0.99)),
    ],
)
def test_a_goal_is_a_text_or_an_object(given: object, goal: Goal) -> None:
    assert goal_from(given) == goal


@pytest.mark.parametrize(
    "given", ["", "soon", "latency", "latency p95=5", "latency p95_ms=x", 5, None, {"p95_ms": "5"}]
)
def test_what_is_no_goal_is_told(given: object) -> None:
    with pytest.raises(InputError, match=r"goal is 'throughput'|a latency goal needs a bound"):
        goal_from(given)


def test_limits_that_are_not_named_stay() -> None:
    now = Limits(min_replicas=2, max_replicas=8)
    assert limits_from({"max_replicas": 4, "frequencies_ghz": [1.2, 2.0]}, now) == Limits(
        2, 4, frequencies_ghz=(1.2, 2.0)
    )
    with pytest.raises(InputError, match="max_replicas of the limits is at least min_replicas, 2; got 1"):
        limits_from({"max_replicas": 1}, now)


def test_a_command_becomes_a_change_of_control() -> None:
    body = {"passive": True, "goal": "latency p95_ms=5"}
    check_command(body)
    assert control_change(body, Limits()) == ControlChange(True, None, latency(p95_ms=5), None)
    assert control_change({"stop": True}, Limits()).is_empty


def test_a_configuration_by_hand() -> None:
    made = configuration_from({"replicas": {"window": 1}, "micro_batch_tuples": 500}, NOW)
    assert (made.element("window").replicas, made.element("trades").replicas, made.micro_batch_tuples) == (1, 2, 500)
    assert configuration_from(configuration_to_json(made), NOW) == made


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "a Configuration by hand has replicas and micro_batch_tuples"),
        ({"replicas": 3}, "replicas are numbers by element; got 3"),
        ({"replicas": {"windo": 3}}, "did you mean 'window'"),
        ({"replicas": {"window": 0}}, "an element has at least one replica"),
        ({"micro_batch_tuples": 0}, "micro_batch_tuples is a whole number of at least 1; got 0"),
        ({"elements": 3}, "a Configuration cannot be read"),
    ],
)
def test_a_configuration_that_is_none_is_told(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        configuration_from(body, NOW)


def test_commands_are_taken_once_in_their_order_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    write_command(tmp_path, {"stop": True})
    now_s = 0.0
    files = CommandFiles(tmp_path, lambda: now_s)
    assert files.taken() == [], "it was meant for the driver before"
    ids = [write_command(tmp_path, {"paused": paused}) for paused in (True, False)]
    assert files.taken() == [], "it has looked just now"
    now_s += EVERY_S
    assert files.taken() == [(ids[0], {"paused": True}), (ids[1], {"paused": False})]
    now_s += EVERY_S
    assert files.taken() == []


@pytest.mark.parametrize("text", ["", "[]", '{"command": 3}', "{" * 9999])
def test_a_file_that_is_no_command_is_taken_as_none(tmp_path: Path, text: str) -> None:
    files = CommandFiles(tmp_path)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1.json").write_text(text)
    assert files.taken() == [("1", None)]
    assert not list((tmp_path / FOLDER).iterdir())


def test_names_of_commands_ascend_with_time() -> None:
    assert command_name(1.0) < command_name(2.0) < command_name(1e9)


def test_a_draft_is_no_command(tmp_path: Path) -> None:
    files = CommandFiles(tmp_path)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / ".1.draft").write_text(json.dumps({"command": {"stop": True}}))
    assert files.taken() == []
