"""`penstock.elastic_map`: a Python function over a DataFrame, on as many threads at once as pay."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from penstock.errors import InputError
from penstock.spark.elastic.calls import Calls
from penstock.spark.elastic.kept_streams import KeptStreams
from penstock.spark.elastic.level_keeper import LevelKeeper, known_level_path
from penstock.spark.elastic.stream import ElasticStream

ERROR = "error"


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
    period_s: float = 1.0,
    journal: str | Path | None = None,
) -> DataFrame:
    """The rows that `function` makes of a DataFrame's rows, batch or streaming, on an elastic pool of threads.

    `function` gets an Arrow record batch of at most `block_rows` rows and gives columns of `schema` (a record batch, a
    table, a dict); with `per_tuple` it gets a row as a dict and gives a dict, several, or None.  It may be `async`.
    Inside each Spark task a policy measures throughput once every `period_s` and finds the number of calls at once, up
    to `max_threads`, that gives most with fewest; `threads` fixes it.  With `ordered` rows keep the order they have
    within their Spark partition.  A call that fails, or takes longer than `timeout_s`, is tried again `retries` times;
    what then still fails is raised, or, with `on_error="column"`, gives nulls and its reason in the column 'error'.
    `journal` is a file on the workers' hosts that gets one line per decision.  docs/elastic-map.md has the rest.

    A task that Spark runs again calls the function again for the same rows: calls are at-least-once.
    """
    output = _checked(df, function, schema, max_threads, threads, block_rows, retries, timeout_s, on_error, period_s)
    given = to_arrow_schema(output)
    if on_error == "column":
        output = StructType([*[StructField(f.name, f.dataType, True) for f in output.fields],
                             StructField(ERROR, StringType(), True)])  # fmt: skip
    options = {
        "identity": uuid.uuid4().hex, "ordered": ordered, "max_threads": max_threads, "per_tuple": per_tuple,
        "threads": threads, "block_rows": block_rows, "retries": retries, "timeout_s": timeout_s,
        "error_column": ERROR if on_error == "column" else None, "period_s": period_s,
        "journal": None if journal is None else str(journal), "schema": given,
    }  # fmt: skip
    return df.mapInArrow(functools.partial(_run, function, options), output)


_streams = KeptStreams()


def _run(
    function: Callable[..., Any], options: dict[str, Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return _streams.run(options["identity"], lambda: _stream(function, options), batches)


def _stream(function: Callable[..., Any], options: dict[str, Any]) -> ElasticStream:
    calls = Calls(
        function, options["schema"], per_tuple=options["per_tuple"], retries=options["retries"],
        error_column=options["error_column"], timeout_s=options["timeout_s"],
    )  # fmt: skip
    journal = None if options["journal"] is None else Path(options["journal"])
    known = known_level_path(options["identity"])
    keeper = LevelKeeper(options["max_threads"], options["period_s"], known, journal, options["threads"])
    return ElasticStream(
        calls, keeper, ordered=options["ordered"], block_rows=options["block_rows"],
        name=f"elastic_map: {getattr(function, '__name__', type(function).__name__)}",
    )  # fmt: skip


def _checked(
    df: Any, function: Any, schema: Any, max_threads: int, threads: int | None, block_rows: int, retries: int,
    timeout_s: float | None, on_error: str, period_s: float,
) -> StructType:  # fmt: skip
    """The output's schema, if everything is as it should be; all that is wrong is told at once."""
    problems = []
    if not isinstance(df, DataFrame):
        problems.append(f"df is a Spark DataFrame; got {type(df).__name__}")
    if not callable(function):
        problems.append(f"function is callable; got {type(function).__name__}")
    elif inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        problems.append("function returns its rows; got a generator: return a list instead")
    for name, value, least in (("max_threads", max_threads, 1), ("block_rows", block_rows, 1), ("retries", retries, 0)):
        if not isinstance(value, int) or value < least:
            problems.append(f"{name} is a whole number of at least {least}; got {value!r}")
    if threads is not None and not (isinstance(threads, int) and threads >= 1):
        problems.append(f"threads is a whole number of at least 1, or None; got {threads!r}")
    if timeout_s is not None and not timeout_s > 0:
        problems.append(f"timeout_s is above 0, or None; got {timeout_s!r}")
    if not period_s > 0:
        problems.append(f"period_s is above 0; got {period_s!r}")
    if on_error not in ("raise", "column"):
        problems.append(f"on_error is 'raise' or 'column'; got {on_error!r}")
    output = _struct(schema, problems)
    if on_error == "column" and output is not None and ERROR in output.names:
        problems.append(f"with on_error='column' the schema has no column '{ERROR}' of its own")
    if problems or output is None:
        raise InputError("\n".join(f"elastic_map: {problem}" for problem in problems))
    return output


def _struct(schema: Any, problems: list[str]) -> StructType | None:
    if isinstance(schema, StructType):
        return schema
    try:
        parsed = StructType.fromDDL(schema)
        assert isinstance(parsed, StructType)
        return parsed
    except Exception as error:  # Spark's parser raises what it likes
        problems.append(f"schema is a StructType or text like 'a long, b string'; got {schema!r}: {_first(error)}")
        return None


def _first(error: Exception) -> str:
    return " ".join(str(error).split())[:150]
