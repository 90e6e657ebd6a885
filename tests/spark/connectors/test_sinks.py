"""Each sink gets a batch's tuples in order; a batch that comes again replaces files and calls again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.block.block import block_of
from penstock.errors import OperatorError
from penstock.plan.configuration import Configuration
from penstock.spark.driver.sink_delivery import SinkDelivery
from penstock.state.checkpoint.checkpoint import BatchPlan

SCHEMA = {"n": "int64", "key": "symbol", "small": "uint8", "large": "uint64", "tags": "list<symbol>", "at": "timestamp"}


def delivered(
    session: SparkSession, sink: Any, batches: dict[int, list[int]], again: tuple[int, ...] = ()
) -> SinkDelivery:
    app = ps.Application("delivered")
    app.source("in", schema=SCHEMA).sink("out", sink)
    schema = app.graph.sinks[0].schema
    delivery = SinkDelivery(app.graph, session)
    for batch in (*batches, *again):
        rows = [
            {"n": n, "key": f"k{n}", "small": 200, "large": (1 << 63) + n, "tags": ["t", None], "at": 1_000_000}
            for n in batches[batch]
        ]
        table = pa.Table.from_pylist(rows, schema)
        delivery.deliver(BatchPlan(batch, 1, None, Configuration(())), "out", block_of(table, schema))
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
    assert len(list((tmp_path / "out").iterdir())) == 2


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
