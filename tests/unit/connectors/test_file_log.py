"""The log of files survives a crash in the middle of a line, and deals files out to tasks in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors.files.file_log import FileLog
from penstock.spark.sources.file_reader import FilePart, shares


def test_files_are_noted_once_in_the_order_found(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "logs" / "in")
    log.add([Path("/b"), Path("/a")])
    log.add([Path("/a"), Path("/per%0Acent"), Path("/two\nlines"), Path("/b")])
    again = FileLog(tmp_path / "logs" / "in")
    assert again.files == ["/b", "/a", "/per%0Acent", "/two\nlines"]


@pytest.mark.parametrize("cut", [1, 3])
def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path, cut: int) -> None:
    log = FileLog(tmp_path / "in")
    log.add([Path("/one"), Path("/two")])
    text = (tmp_path / "in").read_bytes()
    (tmp_path / "in").write_bytes(text[:-cut])
    again = FileLog(tmp_path / "in")
    assert again.files == ["/one"]
    again.add([Path("/three")])
    assert FileLog(tmp_path / "in").files == ["/one", "/three"]


@pytest.mark.parametrize("tasks", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [[], [0], [5, 5, 5, 5], [100, 1, 1, 1], [0, 0, 0, 90, 7]])
def test_every_part_is_read_once_in_order_by_few_tasks(sizes: list[int], tasks: int) -> None:
    parts = [FilePart(i, f"/{i}", size) for i, size in enumerate(sizes)]
    dealt = list(shares(parts, tasks))
    assert [part for share in dealt for part in share] == parts
    assert len(dealt) <= tasks
    assert all(dealt)


def test_equal_parts_are_dealt_out_evenly() -> None:
    parts = [FilePart(i, f"/{i}", 10) for i in range(8)]
    assert [len(share) for share in shares(parts, 4)] == [2, 2, 2, 2]
