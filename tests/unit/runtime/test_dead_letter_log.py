"""Dead letters of a run are counted always, kept up to a limit, and written once per batch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from penstock.block.dead_letters import SCHEMA, DeadLetters
from penstock.errors import OperatorError
from penstock.runtime.driver.dead_letter_log import LetterBox


def letters(*rows: int) -> pa.Table:
    found = DeadLetters()
    for row in rows:
        found.add("in", "has no int64 in 'x'", {"x": row})
    return found.table()


def test_letters_are_counted_beyond_what_is_kept() -> None:
    box = LetterBox(limit=3)
    for batch in range(4):
        box.add(batch, [letters(batch), letters(10 + batch)])
    assert box.count == 8
    assert box.table.column("row").to_pylist() == ['{"x": 0}', '{"x": 10}', '{"x": 1}']


def test_letters_that_are_not_kept_take_no_memory() -> None:
    box = LetterBox(limit=10)
    box.add(0, [letters(*range(200))])
    before = pa.total_allocated_bytes()
    for batch in range(1, 50):
        box.add(batch, [letters(*range(200))])
    assert pa.total_allocated_bytes() <= before
    assert (box.count, box.table.num_rows) == (10_000, 10)


def test_a_batch_that_comes_again_replaces_its_file(tmp_path: Path) -> None:
    box = LetterBox(tmp_path / "dead")
    box.add(3, [letters(1, 2)])
    box.add(3, [letters(1, 2)])
    box.add(4, [])
    (path,) = (tmp_path / "dead").glob("*.parquet")
    assert path.name == "batch-000000000003.parquet"
    assert pyarrow.parquet.read_table(path).equals(letters(1, 2))


def test_a_batch_that_comes_again_without_letters_leaves_no_file(tmp_path: Path) -> None:
    box = LetterBox(tmp_path / "dead")
    box.add(3, [letters(1)])
    box.add(4, [letters(2)])
    box.add(3, [])
    assert [path.name for path in (tmp_path / "dead").glob("*.parquet")] == ["batch-000000000004.parquet"]


def test_letters_stay_in_their_folder_whatever_directory_is_worked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "before")
    box = LetterBox("dead")
    monkeypatch.chdir(tmp_path / "after")
    box.add(3, [letters(1)])
    assert [path.parent for path in tmp_path.rglob("*.parquet")] == [tmp_path / "before" / "dead"]


def test_the_first_letter_stops_where_that_is_asked_for() -> None:
    LetterBox().refuse([letters(1)])
    box = LetterBox(on_error="fail")
    box.refuse([SCHEMA.empty_table()])
    with pytest.raises(OperatorError) as raised:
        box.refuse([SCHEMA.empty_table(), letters(7, 8)])
    with pytest.raises(OperatorError) as inprocess:
        DeadLetters(fail=True).add("in", "has no int64 in 'x'", {"x": 7})
    assert str(raised.value) == str(inprocess.value)
