"""Profiles as JSON: written and read back, and every mistake in a hand-written one told at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.model.costs.profile_file import profile_from_json
from tests.reference.costs import random_profile


def by_hand() -> dict[str, Any]:
    """The JSON of the issue, as a person would write it."""
    return {
        "version": 1,
        "fixed": {"micro_batch_cpu_s": 0.1, "task_cpu_s": 0.02, "envelope_cpu_s": 0.0},
        "operators": {
            "a": {"key": "a1", "class": "functor", "cpu": [{"powers": [1], "coefficient": 2e-6}],
                  "covariance": [[1e-14]], "outputs": {"a": [{"powers": [1], "coefficient": 0.5}]}},
            "b": {"key": "b1", "class": "functor", "cpu": [{"powers": [1], "coefficient": 1e-6}], "covariance": [],
                  "outputs": {"b": [{"powers": [1], "coefficient": 1.0}]}},
            "c": {"key": "c1", "class": "aggregate", "cpu": [{"powers": [1], "coefficient": 4e-6}], "covariance": [],
                  "outputs": {}},
        },
        "communication": {"bytes_per_tuple": [8], "max_rate_tuples_s": [1e6], "send_cores": [1.0],
                          "receive_cores": [0.5]},
        "node": {"speed": {"functor": 1.0, "aggregate": 1.0}},
    }  # fmt: skip


def test_a_profile_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    for seed in range(5):
        profile = random_profile(seed, 6)
        profile.save(tmp_path / "p.json")
        assert ps.Profile.load(tmp_path / "p.json") == profile


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(by_hand()))
    profile = ps.Profile.load(str(path))
    assert profile.names == ("a", "b", "c")
    assert profile.operator("a").cpu.covariance == ((1e-14,),)


def test_communication_that_is_cheaper_than_the_table_says_is_kept(tmp_path: Path) -> None:
    body = by_hand()
    plain = profile_from_json(body).predict({"source": 5e4}).elements["a"]
    body["operators"]["a"]["communication_factor"] = 0.5
    path = tmp_path / "p.json"
    profile_from_json(body).save(path)
    own = ps.Profile.load(path).predict({"source": 5e4}).elements["a"]
    for part in ("send", "receive"):
        assert own.parts[part] == pytest.approx(plain.parts[part] / 2)
    body["operators"]["a"]["communication_factor"] = -1
    path.write_text(json.dumps(body))
    with pytest.raises(InputError, match="communication_factor of operator 'a' is a number of at least 0; got -1"):
        ps.Profile.load(path)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    body = by_hand()
    body["version"] = 2
    body["fixd"] = {}
    body["fixed"]["task_cpu_s"] = -1
    body["communication"]["send_cores"] = [1.0, 2.0]
    body["operators"]["a"]["cpu"] = [{"powers": [1.5], "coefficient": "x"}]
    body["operators"]["b"]["covariance"] = [[1, 2]]
    body["operators"]["b"]["outputs"] = {"a": [{"powers": [1, 1], "coefficient": 1}]}
    del body["operators"]["c"]["cpu"]
    body["node"] = {"speed": {"functor": 0}}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(body))
    with pytest.raises(InputError) as error:
        ps.Profile.load(path)
    lines = str(error.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    assert [line.removeprefix(f"{path}: ") for line in lines] == [
        "the profile has the unknown key 'fixd'; known are: version, fixed, operators, communication, node, nodes, "
        "contention, sources; did you mean 'fixed'?",
        "version is 1; got 2",
        "task_cpu_s of fixed is a number of at least 0; got -1",
        "the lists of communication are equally long; got 1 and 2 values",
        "speed of node is an object with a number above 0 for each operator class; got {'functor': 0}",
        "powers of cpu of operator 'a' are whole numbers of at least 0, one for each input port; got [1.5]",
        "coefficient of cpu of operator 'a' is a number; got 'x'",
        "operator 'b' has one power for each input port in every term; got 1 and 2 of them",
        "covariance of operator 'b' is 1 rows of 1 numbers, one for each term of cpu; got [[1, 2]]",
        "operator 'c' needs cpu",
        "stream 'a' comes out of operator 'a' and of operator 'b'",
    ]


OTHERS: list[tuple[Any, str]] = [
    ([], "a profile is an object; got []"),
    ({"version": 1}, "operators is an object with at least one operator; got None"),
    ({"version": 1, "operators": {"a": 3}}, "operator 'a' is an object with cpu and outputs; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": 3}}},
     "cpu of operator 'a' is a list of terms with powers and coefficient; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": [3]}}},
     "a term of cpu of operator 'a' has powers and coefficient; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": [], "outputs": 3}}},
     "outputs of operator 'a' is an object by stream; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": [], "scope": "all"}}},
     "scope of operator 'a' is one of none, key, stream; got 'all'"),
    ({"version": 1, "operators": {"a": {"cpu": [], "inputs": "s"}}},
     "inputs of operator 'a' is a list of names; got 's'"),
    ({"version": 1, "operators": {"a": {"cpu": [], "class": 3}}}, "class of operator 'a' is text; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": [], "noise": -1}}},
     "noise of operator 'a' is a number of at least 0; got -1"),
    ({"version": 1, "operators": {"a": {"cpu": []}}, "communication": 3}, "communication is an object; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": []}}, "node": 3}, "node is an object with speed; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": []}}, "fixed": 3}, "fixed is an object of numbers; got 3"),
    ({"version": 1, "operators": {"a": {"cpu": []}}, "contention": -1},
     "contention is a number of at least 0; got -1"),
    ({"version": 1, "operators": {"a": {"cpu": [], "inputs": ["b"]}, "b": {"cpu": [], "outputs": {"b": []}}}},
     "operator 'a' reads 'b', which comes out of 'b' further down; put operators after those they read"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "sentence"), OTHERS)
def test_each_other_mistake_has_its_sentence(tmp_path: Path, body: Any, sentence: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(body))
    with pytest.raises(InputError) as error:
        ps.Profile.load(path)
    assert str(error.value) == f"{path}: {sentence}"


def test_what_is_no_file_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: no such file or directory"):
        ps.Profile.load(tmp_path / "none.json")
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON: "):
        ps.Profile.load(tmp_path / "p.json")
