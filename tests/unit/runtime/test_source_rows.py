"""Rows of files are numbered in order, however many files there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.planned import row_numbers
from penstock.connectors.planned.row_numbers import first_of, place_of
from penstock.connectors.planned.source_port import Split
from penstock.errors import InputError
from penstock.runtime.replica.split_blocks import SplitBlocks

INT64 = (1 << 63) - 1
EDGES = [0, (1 << 22) - 1, 1 << 22, (1 << 23) - 1, 1 << 23, (1 << 30) - 1]


def blocks(tmp_path: Path, *numbers: int) -> tuple[list[tuple[int, int]], DeadLetters]:
    """The first number and the rows of each block of a file that has several numbers in the log."""
    app = ps.Application("files")
    app.source("in", ps.sources.csv(tmp_path), {"n": "int64"}).sink("out")
    (source,), letters, found = app.graph.sources, DeadLetters(), []
    for number in numbers:
        split = Split({"path": str(tmp_path / "a.csv"), "begin": 0, "end": None}, first_of(number), 2)
        read = SplitBlocks(app.graph, source, letters, 100).read(split.to_json())
        found += [(first, block.rows) for first, block in read]
    return found, letters


@pytest.mark.parametrize("number", EDGES)
def test_a_file_is_read_whatever_its_number(tmp_path: Path, number: int) -> None:
    (tmp_path / "a.csv").write_text("n\n7\n8\n")
    (one, two), _ = blocks(tmp_path, number, number + 1)
    assert (one[1], two[1]) == (2, 2)
    assert one[0] + 2 <= two[0]


@given(st.integers(0, (1 << 22) + (1 << 30) - 3) | st.sampled_from(EDGES))
def test_all_rows_of_a_file_come_before_the_next_file(place: int) -> None:
    assert first_of(place) + (1 << 32) <= first_of(place + 1) <= INT64


@given(st.integers(0, (1 << 22) - 1))
def test_numbers_in_checkpoints_of_before_still_mean_the_same_rows(place: int) -> None:
    assert first_of(place) == place << 40


def test_more_rows_than_a_file_has_numbers_for_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_numbers, "NARROW_BITS", 1)
    (tmp_path / "a.csv").write_text("n\n7\n8\n9\n")
    found, letters = blocks(tmp_path, 1 << 23)
    assert not found
    assert "takes at most 2 rows of one file here" in letters.table().column("reason")[0].as_py()


@given(st.integers(0, (1 << 22) + (1 << 30) - 3) | st.sampled_from(EDGES), st.integers(0, (1 << 32) - 1))
def test_a_number_tells_its_file(place: int, row: int) -> None:
    assert place_of(first_of(place) + row) == place


def test_too_many_files_are_one_sentence() -> None:
    with pytest.raises(InputError, match="at most 1,077,936,127 files for the life of a checkpoint"):
        first_of((1 << 22) + (1 << 30) - 1)
