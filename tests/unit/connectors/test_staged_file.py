"""A replica's Parquet file: few row groups, the compression asked for, and no name before its batch counts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.block.block import block_of
from penstock.connectors.files import staged_file
from penstock.connectors.files.staged_file import StagedFile, claim, publish_files, sweep_before


def test_blocks_are_gathered_into_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_file, "ROW_GROUP_ROWS", 250)
    app = ps.Application("staged")
    app.source("in", schema={"x": "int64"}).sink("out", ps.sinks.parquet(tmp_path / "out", compression="zstd"))
    (sink,) = app.graph.sinks
    file = StagedFile(sink.connector, sink.schema, batch=5, epoch=1, replica=2, attempt=77)  # type: ignore[arg-type]
    for start in range(0, 700, 100):
        file.write(block_of(pa.table({"x": range(start, start + 100)}), sink.schema))
    staged = file.close()
    assert list((tmp_path / "out").glob("*.parquet")) == []
    publish_files(sink.connector, 5, [staged])  # type: ignore[arg-type]
    (path,) = (tmp_path / "out").glob("*.parquet")
    footer = pyarrow.parquet.read_metadata(path)
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [300, 300, 100]
    assert footer.row_group(0).column(0).compression == "ZSTD"
    assert pyarrow.parquet.read_table(path).column("x").to_pylist() == list(range(700))


def test_a_batch_that_runs_again_with_fewer_replicas_leaves_nothing_of_before(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path / "out")
    schema = pa.schema({"x": pa.int64()})
    for attempt, replicas in ((1, 4), (2, 2), (3, 0)):
        names = []
        for replica in range(replicas):
            file = StagedFile(sink, schema, batch=5, epoch=1, replica=replica, attempt=attempt)
            file.write(block_of(pa.table({"x": [replica]}), schema))
            names.append(file.close())
        publish_files(sink, 5, names)
        assert len(list((tmp_path / "out").glob("*.parquet"))) == replicas


def test_a_folder_is_of_one_run_alone(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path / "out")
    claim(sink, "one")
    claim(sink, "one")
    with pytest.raises(ps.errors.InputError, match="has the files of another run; empty it"):
        claim(sink, "two")


def test_what_lost_tasks_staged_is_deleted_when_no_batch_can_need_it(tmp_path: Path) -> None:
    app = ps.Application("staged")
    app.source("in", schema={"x": "int64"}).sink("out", ps.sinks.parquet(tmp_path / "out"))
    (sink,) = app.graph.sinks
    for batch in (3, 4, 5):
        StagedFile(sink.connector, sink.schema, batch=batch, epoch=1, replica=2, attempt=77).close()  # type: ignore[arg-type]
    sweep_before(sink.connector, 5)  # type: ignore[arg-type]
    (left,) = (tmp_path / "out" / ".penstock").iterdir()
    assert left.name.startswith("batch-000000000005")
