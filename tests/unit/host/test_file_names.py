"""Names of operators never lead out of their folder, and no two of them to the same place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.host.paths.file_names import file_name
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.memory.host_directory import host_directory

NAMES = st.text(st.characters() | st.sampled_from("./%\0\ud800"), max_size=300)
HOSTILE = ["/abs", "..", ".", "a/b", "../../etc", "x" * 400, "é" * 200, "a\0b", "\ud800", "%2Fabs", ""]


@given(NAMES)
@example("/abs")
@example("..")
@example("x" * 400)
def test_a_name_is_one_part_of_a_path_that_linux_takes(name: str) -> None:
    own = file_name(name)
    assert os.path.normpath(f"/logs/{own}") == f"/logs/{own}"
    assert "/" not in own
    assert 0 < len(os.fsencode(own)) <= 200


@given(NAMES, NAMES)
def test_different_names_are_different_files(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)
    long = "x" * 300
    assert (file_name(long + one) == file_name(long + other)) == (one == other)


@pytest.mark.parametrize("name", HOSTILE)
def test_logs_and_state_of_an_operator_stay_where_they_belong(tmp_path: Path, name: str) -> None:
    logs = Path(Checkpoint(tmp_path / "c").logs(name))
    assert logs.parent == tmp_path / "c" / "logs"
    logs.mkdir(parents=True)
    assert Checkpoint(tmp_path / "c").logs(name) == str(logs)
    state = Path(host_directory("id", name, root=str(tmp_path)).path)
    assert len(state.relative_to(tmp_path).parts) == 4


@pytest.mark.parametrize("name", ["window", "été", "a b", "50%", "a/b"])
def test_logs_of_checkpoints_of_before_are_found_under_plain_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "logs" / name).mkdir(parents=True)
    assert Checkpoint(tmp_path).logs(name) == str(tmp_path / "logs" / name)
