"""`penstock.elastic_map`: a Python function over a DataFrame, on as many threads at once as pay."""

from __future__ import annotations

import functools
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.accumulators import Accumulator, _accumulatorRegistry
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.arguments import checked_call
from penstock.element.pool.calls import Calls
from penstock.element.pool.computing_tasks import computing_tasks_of_host
from penstock.element.pool.level_hint import known_level_path
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.stream import ElasticStream
from penstock.element.pool.stream_cache import StreamCache
from penstock.spark.elastic_map.parameters import ERROR, Parameters, checked

_lock = threading.Lock()


@checked_call("ps.elastic_map")
def elastic_map(
    df: DataFrame,
    function: Callable[..., Any],
    schema: StructType | str,
    *,
    ordered: bool = True,
    max_threads: int = 64,
    per_tuple: bool = False,
    threads: int | None = None,
    block_rows: int = 1_000,
    retries: int = 0,
    timeout_s: float | None = None,
    on_error: str = "raise",
    keep_input: bool = False,
    period_s: float = 1.0,
    journal: str | Path | None = None,
) -> DataFrame:
    """Calls `function` for the rows of a DataFrame, batch or streaming, on an elastic pool of threads.

    `function` takes an Arrow record batch of at most `block_rows` rows and returns columns of `schema` (a record batch,
    a table, a dict).  With `per_tuple` it takes a row as a dict and returns a dict, a list of dicts, or None.  It may
    be `async`.  In each Spark task a policy measures the throughput every `period_s` and chooses how many calls run at
    once: the fewest, up to `max_threads`, that give the highest throughput; `threads` fixes the number.  With `ordered`
    rows keep their order within a Spark partition.

    A call that fails, or takes longer than `timeout_s`, is tried again up to `retries` times.  Then the task fails, or,
    with `on_error="column"`, the row has nulls and the reason in the column 'error', and with `keep_input` the input in
    the column 'input'.  A task that Spark runs again calls the function again for the same rows (at least once).

    `journal` is a file on the workers' hosts with a line for each decision.  docs/elastic-map.md has more.

    >>> import penstock as ps
    >>> numbers = ps.spark_session("local[2]").range(3)  # doctest: +SKIP
    >>> def doubled(row):
    ...     return {"double": 2 * row["id"]}
    >>> doubles = ps.elastic_map(numbers, doubled, "double long", per_tuple=True)  # doctest: +SKIP
    >>> sorted(row.double for row in doubles.collect())  # doctest: +SKIP
    [0, 2, 4]
    """
    own = Parameters(
        ordered=ordered, max_threads=max_threads, per_tuple=per_tuple, threads=threads, block_rows=block_rows,
        retries=retries, timeout_s=timeout_s, on_error=on_error, keep_input=keep_input, period_s=period_s,
        journal=journal,
    )  # fmt: skip
    schemas = checked(df, function, schema, own)
    run = functools.partial(_run, function, _Map(uuid.uuid4().hex, own, schemas.given, schemas.input_type))
    return df.mapInArrow(run, schemas.output)


@dataclass(frozen=True, slots=True)
class _Map:
    """One `elastic_map`, as its workers know it."""

    identity: str
    own: Parameters
    given: pa.Schema
    input_type: pa.DataType | None


_streams = StreamCache()


def _run(
    function: Callable[..., Any], wanted: _Map, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    lock_accumulators()
    return _streams.run(wanted.identity, function, lambda: _stream(function, wanted), batches)


def _stream(function: Callable[..., Any], wanted: _Map) -> ElasticStream:
    own = wanted.own
    name = f"elastic_map: {getattr(function, '__name__', type(function).__name__)}"
    calls = Calls(
        function, wanted.given, per_tuple=own.per_tuple, retries=own.retries, timeout_s=own.timeout_s,
        error_column=ERROR if own.on_error == "column" else None, input_type=wanted.input_type,
    )  # fmt: skip
    keeper = LevelKeeper(
        own.max_threads, own.period_s, known_level_path(wanted.identity),
        journal=None if own.journal is None else Path(own.journal), fixed=own.threads,
        computing=computing_tasks_of_host(),
    )  # fmt: skip
    return ElasticStream(calls, keeper, ordered=own.ordered, block_rows=own.block_rows, name=name)


class _LockedAccumulator(Accumulator[Any]):
    """Spark's own reads its value, adds and writes: of two threads that do so at once one is not counted."""

    def add(self, term: Any) -> None:
        with _lock:
            super().add(term)


def lock_accumulators() -> None:
    """Those of the task that begins, which Spark has registered as it unpickled the task's function."""
    for accumulator in _accumulatorRegistry.values():
        accumulator.__class__ = _LockedAccumulator
