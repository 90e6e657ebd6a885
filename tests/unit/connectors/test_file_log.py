"""The log of files survives a crash in the middle of a line, and deals files out to tasks in order."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.connectors.files.file_log import FileLog, LoggedFile, LogView
from penstock.connectors.planned.source_port import Split
from penstock.errors import StateFileError
from penstock.runtime.planning.source_planner import dealt
from tests.unit.full_disk import REASON, full_disk


def found(*paths: str) -> list[LoggedFile]:
    return [LoggedFile(path, 7, 3, 1.5) for path in paths]


def names(log: LogView) -> list[str]:
    return [file.path for file in log.files]


def no_room(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_files_are_noted_once_in_the_order_found(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "logs" / "in")
    log.add(found("/b", "/a"))
    log.add(found("/a", "/per%0Acent", "/two\nlines", "/b"))
    again = FileLog(tmp_path / "logs" / "in")
    assert again.files == found("/b", "/a", "/per%0Acent", "/two\nlines")


def test_logs_of_before_have_paths_alone(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"/b\n/per%250Acent\n/two%0Alines\n")
    log = FileLog(tmp_path / "in")
    assert log.files == [LoggedFile("/b"), LoggedFile("/per%0Acent"), LoggedFile("/two\nlines")]
    log.add(found("/b", "/c"))
    assert FileLog(tmp_path / "in").files == [*log.files[:3], *found("/c")]


def test_who_only_looks_sees_whole_lines_as_they_come(tmp_path: Path) -> None:
    view = LogView(tmp_path / "in")
    view.refresh()
    assert names(view) == []
    (tmp_path / "in").write_bytes(b"/one\n/tw")
    view.refresh()
    assert names(view) == ["/one"]
    (tmp_path / "in").write_bytes(b"/one\n/two\n")
    view.refresh()
    assert names(view) == ["/one", "/two"]


@pytest.mark.parametrize("cut", [1, 3])
def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path, cut: int) -> None:
    log = FileLog(tmp_path / "in")
    log.add(found("/one", "/two"))
    text = (tmp_path / "in").read_bytes()
    (tmp_path / "in").write_bytes(text[:-cut])
    again = FileLog(tmp_path / "in")
    assert names(again) == ["/one"]
    again.add(found("/three"))
    assert names(FileLog(tmp_path / "in")) == ["/one", "/three"]


def test_a_full_disk_leaves_the_log_whose_last_line_was_to_be_repaired(tmp_path: Path) -> None:
    FileLog(tmp_path / "in").add(found("/one", "/two"))
    torn = (tmp_path / "in").read_bytes()[:-2]
    (tmp_path / "in").write_bytes(torn)
    with full_disk(), pytest.raises(StateFileError, match=f"repairing the log of files '.*in' failed: {REASON}"):
        FileLog(tmp_path / "in")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [torn]
    assert names(FileLog(tmp_path / "in")) == ["/one"]


def test_no_room_for_the_repaired_log_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(b"/one\n/tw")
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(StateFileError, match="no space left on device; free some space or use another directory"):
        FileLog(tmp_path / "in")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"/one\n/tw"]


def test_a_log_that_could_not_be_written_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = FileLog(tmp_path / "in")
    log.add(found("/one"))
    before = (tmp_path / "in").read_bytes()
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(StateFileError, match="free some space or use another directory"):
        log.add(found("/two"))
    monkeypatch.undo()
    assert (tmp_path / "in").read_bytes() == before
    log.add(found("/two", "/three"))
    assert FileLog(tmp_path / "in").files == log.files == found("/one", "/two", "/three")


@pytest.mark.parametrize("tasks", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [[], [0], [5, 5, 5, 5], [100, 1, 1, 1], [0, 0, 0, 90, 7]])
def test_every_part_is_read_once_in_order_by_few_tasks(sizes: list[int], tasks: int) -> None:
    parts = [Split(f"/{i}", i, size) for i, size in enumerate(sizes)]
    shares = list(dealt(parts, tasks))
    assert [part for share in shares for part in share] == parts
    assert len(shares) <= tasks
    assert all(shares)


def test_equal_parts_are_dealt_out_evenly() -> None:
    parts = [Split(f"/{i}", i, 10) for i in range(8)]
    assert [len(share) for share in dealt(parts, 4)] == [2, 2, 2, 2]
