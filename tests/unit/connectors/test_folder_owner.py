"""A folder is of one run alone: no run overwrites the files of another, and no start that failed keeps others out."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.connectors.files.folder_owner import Run, claim
from penstock.errors import InputError, StateFileError
from tests.unit.full_disk import REASON, full_disk

WHOSE = "the files of sink 'out'"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run_in(tmp_path: Path, name: str, newest: int | None = None, *, has_begun: bool = True) -> Run:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    if has_begun:
        (folder / "application").touch()
    return Run(f"{name:0>16}", str(folder), newest)


@pytest.mark.parametrize(
    "file", ["batch-000000000000.csv", "batch-000000000002-replica-0001.parquet", "before-all.parquet"]
)
def test_the_files_of_another_run_are_never_touched(tmp_path: Path, out: Path, file: str) -> None:
    one, two = run_in(tmp_path, "1"), run_in(tmp_path, "2")
    claim(WHOSE, out, one)
    (out / file).touch()
    claim(WHOSE, out, one)
    with pytest.raises(InputError) as raised:
        claim(WHOSE, out, two)
    assert str(raised.value) == (
        f"the files of sink 'out' would go to the folder '{out}', which has the files of another run; empty it, take "
        f"another folder, or go on with checkpoint '{tmp_path}/1'"
    )


def test_a_run_that_has_written_nothing_yet_keeps_its_folder(tmp_path: Path, out: Path) -> None:
    claim(WHOSE, out, run_in(tmp_path, "1"))
    with pytest.raises(InputError, match="of another run"):
        claim(WHOSE, out, run_in(tmp_path, "2"))


def test_a_start_that_failed_keeps_nobody_out(tmp_path: Path, out: Path) -> None:
    claim(WHOSE, out, run_in(tmp_path, "1", has_begun=False))
    claim(WHOSE, out, run_in(tmp_path, "2"))
    with pytest.raises(InputError, match=r"go on with checkpoint '.*/2'"):
        claim(WHOSE, out, run_in(tmp_path, "3"))


def test_files_of_a_run_whose_checkpoint_is_gone_are_kept(tmp_path: Path, out: Path) -> None:
    claim(WHOSE, out, run_in(tmp_path, "1", has_begun=False))
    (out / "batch-000000000007.csv").touch()
    with pytest.raises(InputError, match=r"files of another run; empty it or take another folder$"):
        claim(WHOSE, out, run_in(tmp_path, "2"))


def test_a_full_disk_leaves_no_owner_that_keeps_others_out(tmp_path: Path, out: Path) -> None:
    with full_disk(), pytest.raises(StateFileError, match=f"claiming the folder by '.*' failed: {REASON}"):
        claim(WHOSE, out, run_in(tmp_path, "1"))
    assert list(out.iterdir()) == []
    claim(WHOSE, out, run_in(tmp_path, "2"))


@pytest.mark.parametrize("torn", [b"", b"0123", b"0000000000000001\n/tmp/chec", b"\xff"])
def test_an_owner_that_was_torn_owns_nothing(tmp_path: Path, out: Path, torn: bytes) -> None:
    out.mkdir()
    (out / "_penstock").write_bytes(torn)
    claim(WHOSE, out, run_in(tmp_path, "2"))
    with pytest.raises(InputError, match="of another run"):
        claim(WHOSE, out, run_in(tmp_path, "1"))


def test_an_owner_of_a_version_of_before_still_owns(tmp_path: Path, out: Path) -> None:
    out.mkdir()
    (out / "_penstock").write_text(run_in(tmp_path, "1").checkpoint_id)
    with pytest.raises(InputError, match="or go on with that run's checkpoint"):
        claim(WHOSE, out, run_in(tmp_path, "2"))
    claim(WHOSE, out, run_in(tmp_path, "1", newest=3))


@pytest.mark.parametrize(("newest", "is_taken"), [(None, False), (-1, False), (4, False), (5, True), (9, True)])
def test_a_folder_without_an_owner_is_taken_by_a_run_that_may_have_written_it(
    tmp_path: Path, out: Path, newest: int | None, is_taken: bool
) -> None:
    out.mkdir()
    for batch in (3, 5):
        (out / f"batch-{batch:012d}.csv").touch()
    if is_taken:
        claim(WHOSE, out, run_in(tmp_path, "1", newest))
    else:
        with pytest.raises(InputError, match=r"has the files of another run; empty it or take another folder$"):
            claim(WHOSE, out, run_in(tmp_path, "1", newest))
        assert sorted(os.listdir(out)) == ["batch-000000000003.csv", "batch-000000000005.csv"]


def test_other_files_in_a_folder_do_no_harm(tmp_path: Path, out: Path) -> None:
    out.mkdir()
    (out / "README.txt").touch()
    claim(WHOSE, out, run_in(tmp_path, "1"))


def test_of_starts_at_once_one_gets_the_folder(tmp_path: Path, out: Path) -> None:
    runs = [run_in(tmp_path, str(number)) for number in range(8)]

    def taken(run: Run) -> bool:
        try:
            claim(WHOSE, out, run)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(taken, runs)) == 1


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(InputError, match=r"would go to the folder '.*out', which is a file; take another"):
        claim(WHOSE, tmp_path / "out", Run("one", ""))
