"""Sinks that call back or print, in-process; and what files of sinks look like."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps

INPUT = {"numbers": {"x": [3, 1, 2]}}


def application(sink: Any) -> ps.Application:
    app = ps.Application("called")
    app.source("numbers", schema={"x": "int64"}).sink("out", sink)
    return app


def test_a_callback_is_called_once_in_order() -> None:
    calls: list[tuple[list[Any], int]] = []
    app = application(ps.sinks.callback(lambda table, batch: calls.append((table["x"].to_pylist(), batch))))
    ps.evaluate(app, INPUT)
    assert calls == [([3, 1, 2], 0)]


def test_a_callback_gets_a_batch_id_that_no_other_run_has() -> None:
    ids: list[Any] = []
    app = application(ps.sinks.callback(lambda table, batch_id: ids.append(batch_id)))
    for _ in range(2):
        ps.evaluate(app, INPUT)
    assert ids == [0, 0]
    assert ids[0].run_id != ids[1].run_id
    again = pickle.loads(pickle.dumps(ids[0]))
    assert (again, again.run_id, {again: 1}[0], json.dumps(again)) == (0, ids[0].run_id, 1, "0")


def test_a_callback_that_fails_is_named() -> None:
    def refuse(table: pa.Table, batch: int) -> None:
        raise ValueError("no room")

    with pytest.raises(
        ps.errors.OperatorError, match=r"^the function of sink 'out' failed at batch 0: ValueError: no room$"
    ) as raised:
        ps.evaluate(application(ps.sinks.callback(refuse)), INPUT)
    assert isinstance(raised.value.__cause__, ValueError)


def test_the_console_shows_the_first_rows(capsys: pytest.CaptureFixture[str]) -> None:
    ps.evaluate(application(ps.sinks.console(2)), INPUT)
    assert capsys.readouterr().out == "out, batch 0: 3 tuples, the first 2\nx\n3\n1\n"
    ps.evaluate(application(ps.sinks.console(0)), {"numbers": {"x": [5]}})
    assert capsys.readouterr().out == "out, batch 0: 1 tuple, the first 0\n"


def test_dataframes_are_sparks() -> None:
    app = application(ps.sinks.foreach_batch(lambda frame, batch: None))
    with pytest.raises(
        ps.errors.InputError, match=r"sink 'out' gives DataFrames to its function, which only engine='spark'"
    ):
        ps.evaluate(app, INPUT)


@pytest.mark.parametrize(("compression", "found"), [("zstd", "ZSTD"), ("none", "UNCOMPRESSED"), ("lz4", "LZ4")])
def test_parquet_is_compressed_as_asked(tmp_path: Path, compression: str, found: str) -> None:
    tables = ps.evaluate(application(ps.sinks.parquet(tmp_path, compression=compression)), INPUT)
    (path,) = tables.written
    assert pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).compression == found
    assert pyarrow.parquet.read_table(path).equals(tables["out"])
