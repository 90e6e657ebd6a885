"""What `elastic_map` is called with, checked before anything runs; all mistakes are reported together."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from penstock.arguments import FLAG, is_whole, number, or_none, shown, whole
from penstock.element.pool.output import INPUT
from penstock.errors import InputError

ERROR = "error"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters that have a default, as the user gave them."""

    ordered: bool
    max_threads: int
    per_tuple: bool
    threads: int | None
    block_rows: int
    retries: int
    timeout_s: float | None
    on_error: str
    keep_input: bool
    period_s: float
    journal: str | Path | None


@dataclass(frozen=True, slots=True)
class Schemas:
    """`output` is Spark's, with the columns for errors; `given` is what the function has to give."""

    output: StructType
    given: pa.Schema
    input_type: pa.DataType | None = None


def checked(df: Any, function: Any, wanted: Any, own: Parameters) -> Schemas:
    """The schemas, if everything is as it should be."""
    problems = [*_of_function(df, function), *_of_numbers(own), *_of_choices(own), *_of_names(df)]
    schema = _struct(wanted, problems)
    given = None if schema is None else _in_arrow(schema, "schema", problems)
    input_fields = (
        _in_arrow(_nullable(df), "the input", problems) if own.keep_input and isinstance(df, DataFrame) else None
    )
    if schema is not None:
        problems += _of_columns(schema, own)
    if problems or schema is None or given is None:
        raise InputError("\n".join(f"elastic_map: {problem}" for problem in problems))
    if own.on_error == "raise":
        return Schemas(schema, given)
    columns = [StructField(field.name, field.dataType, True) for field in schema.fields]
    columns.append(StructField(ERROR, StringType(), True))
    if input_fields is None:
        return Schemas(StructType(columns), given)
    columns.append(StructField(INPUT, _nullable(df), True))
    return Schemas(StructType(columns), given, pa.struct(list(input_fields)))


def _of_function(df: Any, function: Any) -> list[str]:
    problems = []
    if not isinstance(df, DataFrame):
        problems.append(f"df is a Spark DataFrame; got {type(df).__name__}")
    if not callable(function):
        problems.append(f"function is callable; got {type(function).__name__}")
    elif inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        problems.append("function returns its rows; got a generator: return a list instead")
    return problems


def _of_numbers(own: Parameters) -> list[str]:
    rules = {
        "max_threads": whole(1), "block_rows": whole(1), "retries": whole(0), "threads": or_none(whole(1)),
        "timeout_s": or_none(number(above=0)), "period_s": number(above=0),
        "ordered": FLAG, "per_tuple": FLAG, "keep_input": FLAG,
    }  # fmt: skip
    found = [rule.problem(name, getattr(own, name)) for name, rule in rules.items()]
    problems = [problem for problem in found if problem is not None]
    if is_whole(own.threads, 1) and is_whole(own.max_threads, 1) and own.threads > own.max_threads:
        problems.append(f"threads is at most max_threads={own.max_threads}; got {own.threads}")
    return problems


def _of_choices(own: Parameters) -> list[str]:
    problems = []
    if own.on_error not in ("raise", "column"):
        problems.append(f"on_error is 'raise' or 'column'; got {own.on_error!r}")
    if own.keep_input and own.on_error == "raise":
        problems.append("keep_input is for on_error='column', where failed rows have a row of their own")
    if own.journal is not None and not isinstance(own.journal, str | Path):
        problems.append(f"journal is a file's path, or None; got {own.journal!r}")
    return problems


def _of_names(df: Any) -> list[str]:
    """A row has one value for each name; Spark itself says that such columns are ambiguous, and not which."""
    twice = _repeated(df.columns) if isinstance(df, DataFrame) else ""
    return [f"the columns of df have different names; got twice: {twice}; rename one"] if twice else []


def _of_columns(schema: StructType, own: Parameters) -> list[str]:
    problems = [] if schema.names else ["schema has at least one column"]
    if twice := _repeated(schema.names):
        problems.append(f"the columns of schema have different names; got twice: {twice}")
    for name, is_added, why in (
        (ERROR, own.on_error == "column", "on_error='column'"), (INPUT, own.keep_input, "keep_input"),
    ):  # fmt: skip
        if is_added and name in (own_name.casefold() for own_name in schema.names):  # Spark's names have no case
            problems.append(f"with {why} the schema has no column '{name}' of its own")
    return problems


def _struct(schema: Any, problems: list[str]) -> StructType | None:
    if isinstance(schema, StructType):
        return schema
    try:
        parsed = StructType.fromDDL(schema)
        assert isinstance(parsed, StructType)
        return parsed
    except Exception as error:  # Spark's parser raises what it likes
        problems.append(f"schema is a StructType or text like 'a long, b string'; got {shown(schema)}: {_first(error)}")
        return None


def _in_arrow(schema: StructType, name: str, problems: list[str]) -> pa.Schema | None:
    try:
        return to_arrow_schema(schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC")
    except Exception as error:  # Spark's own, and Arrow's
        problems.append(f"{name} has only types that Arrow has, and different names in a struct; {_first(error)}")
        return None


def _nullable(df: DataFrame) -> StructType:
    """The input's columns; what Spark knows not to be null it may know only later."""
    nullable: StructType = df.schema.toNullable()
    return nullable


def _repeated(names: list[str]) -> str:
    return ", ".join(sorted({f"'{name}'" for name in names if names.count(name) > 1}))


def _first(error: Exception) -> str:
    return " ".join(str(error).split())[:150]
