"""Sinks that the driver serves, batch after batch, once a batch counts and before Spark notes that it is done.

A batch that runs again after a failure is delivered again, under the same id and with the same tuples: files are
replaced, functions are called again.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from penstock.app.graph import Graph
from penstock.app.operators import Sink
from penstock.block.block import Block
from penstock.block.schema import TIMESTAMP
from penstock.connectors.csv import CsvSink
from penstock.connectors.files.writers import write_for
from penstock.connectors.functions import ForeachBatchSink, call_sink, deliver_to_user
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink
from penstock.host.atomic_file import sync
from penstock.state.checkpoint.checkpoint import BatchPlan


class SinkDelivery:
    """Gives each batch's tuples, in order, to sinks in memory, files in order, functions and the console.

    `graph` is the application's own, with the functions that a stored one lacks; `durable` files are synced to disk.
    """

    def __init__(self, graph: Graph, session: SparkSession, *, durable: bool = False) -> None:
        self._session, self._durable = session, durable
        self._sinks = {sink.name: sink for sink in graph.sinks}
        self._kept: dict[str, list[pa.RecordBatch]] = {
            sink.name: [] for sink in graph.sinks if isinstance(sink.connector, MemorySink)
        }

    def deliver(self, plan: BatchPlan, sink: str, block: Block) -> None:
        """Delivers what one sink got in one batch."""
        own = self._sinks[sink]
        if isinstance(own.connector, MemorySink):
            self._kept[sink].append(block.to_arrow())
            return
        table = pa.Table.from_batches([block.to_arrow()])
        if isinstance(own.connector, ParquetSink | CsvSink):
            path = write_for(own.connector, table, f"batch-{plan.batch:012d}")
            if self._durable:
                sync(str(path))
                sync(str(path.parent))
        elif isinstance(own.connector, ForeachBatchSink):
            call_sink(own.name, own.connector, dataframe_of(self._session, table), plan.batch)
        else:
            deliver_to_user(own.name, own.connector, table, plan.batch)

    def tables(self) -> dict[str, pa.Table]:
        """All tuples of the sinks in memory, in order."""
        return {name: self._table(self._sinks[name], batches) for name, batches in self._kept.items()}

    def _table(self, sink: Sink, batches: list[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(batches, sink.schema).unify_dictionaries()


def dataframe_of(session: SparkSession, table: pa.Table) -> DataFrame:
    """A DataFrame over tuples that are there already, in types that Spark has."""
    columns = [_for_spark(table.column(i)) for i in range(table.num_columns)]
    return session.createDataFrame(pa.table(columns, names=table.column_names))


def _for_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    wanted = _spark_type(column.type)
    return column if column.type == wanted else pc.cast(column, wanted)


def _spark_type(type_: pa.DataType) -> pa.DataType:
    """Coded strings as strings, moments as UTC, numbers without a sign in the next wider type that has one."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_):
        return pa.list_(_spark_type(type_.value_type))
    return _TYPE_IN_SPARK.get(type_, type_)


_TYPE_IN_SPARK = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    TIMESTAMP: pa.timestamp("us", "UTC"),
}
