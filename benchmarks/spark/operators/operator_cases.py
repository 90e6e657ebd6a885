"""The jobs of benchmark `operators`: each as an application of ours and as stock PySpark would do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.spark.applications import SINK
from benchmarks.spark.operators import stock_ways
from benchmarks.spark.operators.operator_files import LATE, SCHEMA, VENUES
from benchmarks.spark.operators.stock_ways import JOIN_S, OUT_OF_ORDER_S, WINDOW_S, Stock
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.app.stream import Stream
from penstock.app.windows import sliding, tumbling
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.errors import InputError

NOTIONAL = {"ticker": "string", "notional": "float64"}
TOTAL = {"ticker": "string", "total": "float64"}
TRADES = {"ticker": "ticker", "price": "price", "volume": "volume"}
WINDOW = {"ticker": "any(ticker)", "n": "count()", "volume": "sum(volume)", "high": "max(price)"}


@dataclass(frozen=True, slots=True)
class OperatorCase:
    """A job: the operators between sources and sink, the kind of sink, and stock PySpark's way.

    `is_slow`: it calls Python for every tuple, or stock PySpark is slow at it, so that it gets fewer tuples.
    """

    name: str
    build: Callable[[Sequence[Stream]], Stream]
    way: str
    stock: Stock
    venues: tuple[str, ...] = VENUES[:1]
    sink: str = "discard"
    has_event_time: bool = False
    is_slow: bool = False


@dataclass(slots=True)
class Tally:
    """What a sink that calls a function was given."""

    rows: int = 0

    def take(self, table: pa.Table, batch: int) -> None:
        self.rows += table.num_rows

    def take_frame(self, frame: Any, batch: int) -> None:
        self.rows += stock_ways.count_and_sum(frame)


def application(case: OperatorCase, folders: Sequence[Path] | None, sink: SinkPort) -> Application:
    """The case's application over directories of files; without them its tuples are fed to it."""
    app, streams = Application("operators"), []
    for place, venue in enumerate(case.venues):
        connector = None if folders is None else sources.parquet(folders[place])
        time = {"event_time": "at", "out_of_order_s": OUT_OF_ORDER_S} if case.has_event_time else {}
        streams.append(app.source(venue, connector, SCHEMA, **time))  # type: ignore[arg-type]
    case.build(streams).sink(SINK, sink)
    return app


def sink_of(case: OperatorCase, folder: Path, tally: Tally) -> SinkPort:
    """The sink that the case measures."""
    made: dict[str, Callable[[], SinkPort]] = {
        "discard": sinks.discard,
        "parquet": lambda: sinks.parquet(folder),
        "callback": lambda: sinks.callback(tally.take),
        "foreach_batch": lambda: sinks.foreach_batch(tally.take_frame),
    }
    return made[case.sink]()


def notional_of_block(batch: pa.RecordBatch) -> pa.RecordBatch:
    notional = pc.multiply(batch.column("price"), batch.column("volume"))
    return pa.RecordBatch.from_arrays([batch.column("ticker"), notional], names=list(NOTIONAL))


def notional_of_tuple(row: dict[str, Any]) -> dict[str, Any]:
    return {"ticker": row["ticker"], "notional": row["price"] * row["volume"]}


class KeyedTotal:
    """The volume of a ticker so far, with each of its tuples."""

    def state(self) -> list[float]:
        return [0.0]

    def process(self, row: dict[str, Any], state: list[float]) -> dict[str, Any]:
        state[0] += row["volume"]
        return {"ticker": row["ticker"], "total": state[0]}


def _map_blocks(streams: Sequence[Stream]) -> Stream:
    return streams[0].map("notional", notional_of_block, NOTIONAL)


def _map_tuples(streams: Sequence[Stream]) -> Stream:
    return streams[0].map("notional", notional_of_tuple, NOTIONAL, per_tuple=True)


def _user_state(streams: Sequence[Stream]) -> Stream:
    return streams[0].operator("total", KeyedTotal(), schema=TOTAL, by="ticker")


def _trades(streams: Sequence[Stream]) -> Stream:
    return streams[0].functor("trades", where="ttype = 'Trade'", emit=TRADES)


def _windows(streams: Sequence[Stream]) -> Stream:
    window = tumbling(time_s=WINDOW_S, on="at")
    return streams[0].aggregate("window", by="ticker", window=window, emit=WINDOW)


def _join(streams: Sequence[Stream]) -> Stream:
    left, right = streams
    window = sliding(time_s=JOIN_S, on="at", per_group=True)
    emit = {"ticker": "left.ticker", "spread": "left.price - right.price"}
    return left.join("join", right, left_window=window, right_window=window, on="ticker", emit=emit)


def _several(streams: Sequence[Stream]) -> Stream:
    left, right = streams
    return _windows([left.union("both", right)])


CASES = (
    OperatorCase("map on blocks", _map_blocks, "mapInArrow", stock_ways.map_blocks),
    OperatorCase("map per tuple", _map_tuples, "Python UDF", stock_ways.map_tuples, is_slow=True),
    OperatorCase(
        "user operator, state by key", _user_state, "applyInPandasWithState", stock_ways.user_state, is_slow=True
    ),
    OperatorCase("sink: Parquet", _trades, "writeStream.parquet", stock_ways.into_parquet, sink="parquet"),
    OperatorCase("sink: callback", _trades, "foreachBatch, toArrow", stock_ways.into_callback, sink="callback"),
    OperatorCase("sink: foreach_batch", _trades, "foreachBatch", stock_ways.into_function, sink="foreach_batch"),
    OperatorCase("time windows", _windows, "groupBy(window)", stock_ways.windows, has_event_time=True),
    OperatorCase(
        "join over time", _join, "stream-stream join", stock_ways.join, VENUES, has_event_time=True, is_slow=True
    ),
    OperatorCase("several sources", _several, "union, by window", stock_ways.several, VENUES, has_event_time=True),
    OperatorCase(
        "late tuples", _windows, "groupBy(window), dropped", stock_ways.windows, (LATE,), has_event_time=True
    ),
)  # fmt: skip


def chosen_cases(names: Sequence[str]) -> tuple[OperatorCase, ...]:
    """The cases whose names begin so; all where none is named."""
    for name in names:
        if not any(case.name.startswith(name) for case in CASES):
            raise InputError(f"--case is how one of these begins: {', '.join(_names())}; got '{name}'")
    return tuple(case for case in CASES if not names or case.name.startswith(tuple(names)))


def _names() -> Iterator[str]:
    yield from (case.name for case in CASES)
