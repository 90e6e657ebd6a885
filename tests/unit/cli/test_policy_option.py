"""`--policy` takes a policy of the user's own, from a file or a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.options.control_options import ControlOptions, control_arguments
from penstock.cli.options.policy_option import policy_of_option
from penstock.errors import InputError

BUSY = """
from penstock.policies import Hold

class Busy:
    name = "busy"
    def start(self): return None
    def decide(self, state, seen): return state, Hold("nothing to do")

def made(): return Busy()
ready = Busy()
class Needs:
    def __init__(self, share): pass
number = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "own.py"
    path.write_text(BUSY, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["Busy", "made", "ready"])
def test_a_class_a_function_and_an_object_of_a_file_are_policies(file: str, name: str) -> None:
    found = policy_of_option(f"{file}:{name}")
    assert not isinstance(found, str)
    assert found.name == "busy"


def test_a_module_is_found_in_the_working_directory(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(file).parent)
    options = ControlOptions(goal="throughput", policy="own:Busy")
    assert control_arguments(options)["policy"].name == "busy"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Bussy", "has no policy 'Bussy'; did you mean 'Busy'"),
        ("Quick", "has no policy 'Quick'; it has: Busy"),
        ("Needs", "cannot be used: TypeError"),
        ("number", "no name, start, decide"),
    ],
)
def test_what_is_no_policy_gets_a_sentence(file: str, name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        control_arguments(ControlOptions(goal="throughput", policy=f"{file}:{name}"))


def test_a_missing_file_and_a_missing_module_get_a_sentence() -> None:
    with pytest.raises(InputError, match=r"there is no policy file absent\.py"):
        policy_of_option("absent.py:Busy")
    with pytest.raises(InputError, match="module 'absent_module' cannot be used"):
        policy_of_option("absent_module:Busy")


def test_names_of_penstock_with_settings_stay_texts() -> None:
    assert policy_of_option("th-node:horizon=3,switching=no") == "th-node:horizon=3,switching=no"
    assert policy_of_option("ds2") == "ds2"
