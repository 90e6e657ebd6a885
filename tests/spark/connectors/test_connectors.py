"""Applications on Spark from any source to any sink, with dead letters kept, written or fatal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import run, start


def put(folder: Path, name: str, text: str) -> None:
    """A file that is whole when it is seen."""
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").replace(folder / name)


def until(handle: Handle, enough: Callable[[], bool], timeout_s: float = 200) -> None:
    deadline = time.monotonic() + timeout_s
    while not enough():
        assert not handle.wait(0.05)
        assert time.monotonic() < deadline


def sums(source: Any, sink: Any) -> ps.Application:
    """A running sum over the whole stream, which shows any tuple that is lost, doubled or out of order."""
    app = ps.Application("sums")
    numbers = app.source("in", source, {"n": "int64", "key": "symbol"})
    window = ps.sliding(count=1_000_000, every=1)
    numbers.aggregate("sum", window=window, emit={"n": "last(n)", "sum": "sum(n)", "rows": "count()"}).sink("out", sink)
    return app


def expected(numbers: list[int]) -> list[dict[str, int]]:
    return [{"n": n, "sum": sum(numbers[: i + 1]), "rows": i + 1} for i, n in enumerate(numbers)]


def test_a_growing_directory_goes_on_after_a_stop(session: SparkSession, tmp_path: Path) -> None:
    app = sums(ps.sources.csv(tmp_path / "in"), ps.sinks.parquet(tmp_path / "out", ordered=True))
    for names in (("b", "a"), ("A",)):
        for name in names:
            put(tmp_path / "in", f"{name}.csv", f"key,n\nk,{ord(name)}\nk,x\nk,{ord(name) + 1000}\n")
        handle = start(app, session=session, checkpoint=tmp_path / "c", dead_letters=tmp_path / "dead")
        rows = 2 * len(list((tmp_path / "in").glob("*.csv")))
        until(handle, lambda rows=rows: sum(p.num_rows for p in written(tmp_path / "out")) >= rows)  # type: ignore[misc]
        result = handle.stop()
        assert result.dead_letter_count >= len(names)  # the last batch may have run again
    found = pa.concat_tables(written(tmp_path / "out")).to_pylist()
    assert found == expected([97, 1097, 98, 1098, 65, 1065])
    reasons = pa.concat_tables(written(tmp_path / "dead"))["row"].to_pylist()
    assert sorted(reasons) == ['{"n": "x", "key": "k"}'] * 3


def written(folder: Path) -> list[pa.Table]:
    return [pyarrow.parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]


def test_a_single_file_ends_and_its_bad_rows_are_told(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n,key\n1,a\nx,a\n3,b\n")
    calls: list[tuple[list[int], int]] = []
    sink = ps.sinks.callback(lambda table, batch: calls.append((table["sum"].to_pylist(), batch)))
    app = sums(ps.sources.csv(tmp_path / "in.csv"), sink)
    result = run(app, session=session, checkpoint=tmp_path / "c", dead_letters=tmp_path / "dead", duration_s=300)
    assert calls == [([1, 4], 0)]
    assert result.dead_letters["reason"].to_pylist() == ["has no int64 in 'n'"]
    assert [table.num_rows for table in written(tmp_path / "dead")] == [1]
    (tmp_path / "in.csv").unlink()  # the checkpoint has its tuples
    assert run(app, session=session, checkpoint=tmp_path / "c", duration_s=300).observations == []


def test_a_dataframe_meets_a_trace_and_leaves_as_dataframes(session: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", "1.csv", "1,Trade\n2,Quote\n")
    frame = session.readStream.schema("number long, kind string").csv(str(tmp_path / "in"))
    before = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    frames: list[tuple[int, list[Any]]] = []

    def keep(frame: DataFrame, batch: int) -> None:
        frames.append((batch, [tuple(row) for row in frame.collect()]))

    app = ps.Application("met")
    kinds = app.source("kinds", ps.sources.dataframe(frame), rate_tuples_s=0.001)  # stamps 0 and 1000
    ticks = app.source("ticks", ps.sources.trace(rate="unbounded", keys=5, total=50))
    windows = {"left_window": ps.sliding(count=100), "right_window": ps.sliding(count=100)}
    joined = kinds.join("met", ticks, on=[("kind", "ttype")], **windows, emit={"number": "number", "seq": "seq"})
    joined.sink("out", ps.sinks.foreach_batch(keep))
    handle = start(app, session=session, checkpoint=tmp_path / "c")
    trace = app.graph.operator("ticks").connector.table()  # type: ignore[union-attr]
    kinds_of = list(zip(trace["seq"].to_pylist(), trace["ttype"].to_pylist(), strict=True))
    wanted = [(1 if kind == "Trade" else 2, seq) for seq, kind in kinds_of if kind in ("Trade", "Quote")]
    until(handle, lambda: sum(len(rows) for _, rows in frames) >= len(wanted))
    handle.stop()
    # The trace has no stamps, so the order is that of micro-batches; which of them has the frame's rows is Spark's.
    assert sorted(row for _, rows in frames for row in rows) == sorted(wanted)
    assert session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == before


def test_sparks_rate_reaches_the_console(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = ps.Application("rated")
    app.source("ticks", ps.sources.rate(100)).functor("even", where="value % 2 = 0", emit={"v": "value"}).sink(
        "out", ps.sinks.console(3)
    )
    handle = start(app, session=session, checkpoint=tmp_path / "c")
    until(handle, lambda: bool(handle.observe() and handle.observe().tuples_out))  # type: ignore[union-attr]
    handle.stop()
    assert "out, batch " in capsys.readouterr().out


def fails(app: ps.Application, session: SparkSession, **options: Any) -> str:
    with pytest.raises(ps.errors.OperatorError) as raised:
        run(app, session=session, duration_s=300, **options)
    assert raised.value.__cause__ is None
    assert "Traceback" not in str(raised.value)
    return str(raised.value)


def picky(row: dict[str, Any]) -> dict[str, Any]:
    return {"n": 10 // row["n"]}


def test_on_error_fail_stops_before_anything_of_the_batch_counts(session: SparkSession, tmp_path: Path) -> None:
    app = ps.Application("picky")
    (tmp_path / "in.csv").write_text("n\n1\n0\n")
    numbers = app.source("in", ps.sources.csv(tmp_path / "in.csv"), {"n": "int64"})
    numbers.map("divided", picky, {"n": "int64"}, per_tuple=True).sink("out", ps.sinks.parquet(tmp_path / "out"))
    sentence = fails(app, session, on_error="fail")
    assert sentence.startswith("operator 'divided' ")
    assert sentence.endswith("got {\"n\": 0}; on_error='fail' stops at the first such tuple")
    assert written(tmp_path / "out") == []
    (tmp_path / "in.csv").write_text("n\n1\nx\n")
    assert fails(app, session, on_error="fail").startswith("operator 'in' has no int64 in 'n'; got")


def broken(offsets: np.ndarray) -> dict[str, Any]:
    if len(offsets) == 1:  # the driver tries it once
        return {"price": offsets}
    raise LookupError("no value is good enough")


def test_a_function_that_fails_in_a_worker_or_the_driver_is_named(session: SparkSession, tmp_path: Path) -> None:
    app = ps.Application("broken")
    trace = ps.sources.trace(rate="unbounded", total=10, function=broken)
    app.source("in", trace, {"price": "int64"}).sink("out")
    assert fails(app, session) == "the function broken of a trace failed on 10 offsets: no value is good enough"
    calls: list[int] = []
    app = sums(ps.sources.csv(tmp_path / "in.csv"), ps.sinks.callback(lambda table, batch: calls[batch]))
    (tmp_path / "in.csv").write_text("n,key\n1,a\n")
    assert fails(app, session) == "the function of sink 'out' failed at batch 0: IndexError: list index out of range"


def test_a_source_without_tuples_is_told_before_anything_starts() -> None:
    app = ps.Application("nothing")
    app.source("in", schema={"n": "int64"}).sink("out")
    with pytest.raises(ps.errors.ApplicationError, match=r"operator 'in' .* has no source of its own to run from"):
        run(app)
    with pytest.raises(ps.errors.InputError, match="on_error is 'dead_letter' or 'fail'; got 'ignore'"):
        run(sums(ps.sources.csv("in.csv"), None), on_error="ignore")
    with pytest.raises(ps.errors.InputError, match=r"source 'in' reads the file .*none\.csv, which is not there"):
        run(sums(ps.sources.csv("none.csv"), None))
