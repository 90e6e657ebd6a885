"""Each sink gets a batch's tuples in order; a batch that comes again replaces files and calls again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock.block.block import block_of
from penstock.errors import OperatorError
from penstock.runtime.delivery.sink_delivery import SinkDelivery

SCHEMA = {"n": "int64", "key": "symbol", "small": "uint8", "large": "uint64", "tags": "list<symbol>", "at": "timestamp"}


def delivered(
    session: SparkSession, sink: Any, batches: dict[int, list[int]], again: tuple[int, ...] = ()
) -> SinkDelivery:
    app = ps.Application("delivered")
    app.source("in", schema=SCHEMA).sink("out", sink)
    schema = app.graph.sinks[0].schema
    delivery = SinkDelivery(app.graph, session, run_id="a run", folder=Path(tempfile.mkdtemp()))
    for batch in (*batches, *again):
        rows = [
            {"n": n, "key": f"k{n}", "small": 200, "large": (1 << 63) + n, "tags": ["t", None], "at": 1_000_000}
            for n in batches[batch]
        ]
        table = pa.Table.from_pylist(rows, schema)
        blocks = {"out": [(0, block_of(table, schema))]}
        delivery.keep(blocks)
        delivery.publish(batch, delivery.stage(batch, blocks))
    return delivery


def test_memory_keeps_all_batches_in_order(session: SparkSession) -> None:
    table = delivered(session, ps.sinks.memory(), {0: [2, 1], 7: [3]}).tables()["out"]
    assert table.column("n").to_pylist() == [2, 1, 3]
    assert table.column("key").to_pylist() == ["k2", "k1", "k3"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_in_the_order_of_their_names_are_in_order(session: SparkSession, tmp_path: Path, kind: str) -> None:
    sink = ps.sinks.parquet(tmp_path / "out", ordered=True) if kind == "parquet" else ps.sinks.csv(tmp_path / "out")
    delivered(session, sink, {2: [5, 4], 11: [6]}, again=(11, 2))
    app = ps.Application("again")
    source = ps.sources.parquet if kind == "parquet" else ps.sources.csv
    app.source("in", source(tmp_path / "out"), {"n": "int64", "key": "symbol"}).sink("out")
    assert ps.evaluate(app)["out"].column("n").to_pylist() == [5, 4, 6]
    assert len(list((tmp_path / "out").glob("batch-*"))) == 2


def test_a_callback_gets_tables(session: SparkSession) -> None:
    calls: list[tuple[list[int], int]] = []
    sink = ps.sinks.callback(lambda table, batch: calls.append((table["n"].to_pylist(), batch)))
    delivered(session, sink, {0: [2, 1], 7: [3]}, again=(7,))
    assert calls == [([2, 1], 0), ([3], 7), ([3], 7)]


def test_a_function_gets_a_dataframe_that_is_computed_already(session: SparkSession) -> None:
    calls: list[Any] = []

    def keep(frame: DataFrame, batch: int) -> None:
        assert not frame.isStreaming
        assert frame.count() == 2
        calls.append((frame.dtypes, frame.orderBy("n").first(), batch))

    delivered(session, ps.sinks.foreach_batch(keep), {4: [2, 1]})
    (dtypes, row, batch) = calls[0]
    assert dict(dtypes) == {
        "n": "bigint", "key": "string", "small": "smallint", "large": "decimal(20,0)", "tags": "array<string>",
        "at": "timestamp",
    }  # fmt: skip
    assert (row.n, row.key, int(row.large), row.tags, batch) == (1, "k1", (1 << 63) + 1, ["t", None], 4)
    assert row["at"].timestamp() == 1.0


def test_the_console_names_the_batch(session: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    delivered(session, ps.sinks.console(1), {3: [2, 1]})
    assert capsys.readouterr().out.startswith("out, batch 3: 2 tuples, the first 1\nn")


def test_a_function_that_fails_is_named(session: SparkSession) -> None:
    def refuse(frame: DataFrame, batch: int) -> None:
        raise KeyError("gone")

    with pytest.raises(OperatorError, match="the function of sink 'out' failed at batch 4: KeyError: 'gone'"):
        delivered(session, ps.sinks.foreach_batch(refuse), {4: [1]})


def test_a_bounded_memory_sink_keeps_the_newest_and_the_result_says_how_many_it_dropped(session: SparkSession) -> None:
    app = ps.Application("newest")
    trades = app.source("trades", ps.sources.trace("unbounded", total=5000))
    trades.sink("few", ps.sinks.memory(max_rows=100))
    trades.sink("all", ps.sinks.memory())
    result = ps.run(app, session=session, duration_s=120)
    assert result.tables["few"].column("seq").to_pylist() == list(range(4900, 5000))
    assert result.tables["all"].num_rows == 5000
    assert result.dropped == {"few": 4900}


def test_functions_get_the_run_id_with_the_batch_id(session: SparkSession, tmp_path: Path) -> None:
    calls: list[tuple[str, int]] = []

    def keep(frame: DataFrame, batch_id: Any) -> None:
        assert frame.withColumn("batch", F.lit(batch_id)).first()["batch"] == batch_id  # type: ignore[index]
        calls.append((batch_id.run_id, batch_id))

    app = ps.Application("kept")
    app.source("trades", ps.sources.trace("unbounded", total=50)).sink("out", ps.sinks.foreach_batch(keep))
    run_ids = []
    for checkpoint in (tmp_path / "a", tmp_path / "b"):
        handle = ps.start(app, session=session, checkpoint=checkpoint)
        run_ids.append(handle.run_id)
        handle.wait(60)
        handle.stop()
    assert calls == [(run_ids[0], 0), (run_ids[1], 0)]
    assert run_ids[0] != run_ids[1], "batch 0 of a new checkpoint is not the one that was done"
    again = ps.start(app, session=session, checkpoint=tmp_path / "a")
    again.stop()
    assert again.run_id == run_ids[0]
