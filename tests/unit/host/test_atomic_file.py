"""Files and folders of a checkpoint are as private as the checkpoint's folder, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.host.atomic_file import make_folder, open_new, write_whole
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.logs import Logs
from penstock.state.token import Token


@pytest.fixture(params=[0o022, 0o077, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.rglob("*")}


def fill(folder: Path) -> None:
    Lease(str(folder)).release()
    write_whole("writing", str(folder / "plans" / "1"), b"plan")
    with Logs(str(folder / "logs" / "window")).writer(Token(1, 1, 1)):
        pass
    os.close(open_new(str(folder / "journal"), os.O_WRONLY | os.O_APPEND))


@pytest.mark.usefixtures("umask")
def test_a_new_checkpoint_is_its_user_s_alone(tmp_path: Path) -> None:
    fill(tmp_path / "checkpoint")
    found = modes(tmp_path)
    assert set(found.values()) == {"0o700", "0o600"}
    folders = {"checkpoint", "checkpoint/plans", "checkpoint/logs", "checkpoint/logs/window"}
    assert {path for path, mode in found.items() if mode == "0o700"} == folders


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("mode", "file"), [(0o770, "0o660"), (0o750, "0o640"), (0o755, "0o644"), (0o700, "0o600")])
def test_a_folder_that_was_there_says_who_may_read_and_write(tmp_path: Path, mode: int, file: str) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    folder.chmod(mode)
    fill(folder)
    assert set(modes(folder).values()) == {oct(mode), file}


def test_a_folder_keeps_its_group_s_bit(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)
    make_folder(str(tmp_path / "logs" / "window"))
    assert set(modes(tmp_path).values()) == {"0o2770"}


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        open_new(str(tmp_path / "file" / "other"), os.O_WRONLY)
