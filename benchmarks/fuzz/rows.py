"""Rows that come to a source: lines of CSV, Python values, Arrow tables of any types."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import penstock as ps
from benchmarks.fuzz.kind import Body, WrongResult
from benchmarks.fuzz.mutations import HUGE, VALUES, strange_word
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import unseal
from penstock.runtime.replica.source_rows import packed

SCHEMA = {"id": "int64", "name": "string", "price": "float64", "volume": "int32", "flag": "bool", "at": "timestamp"}
NAMES = tuple(SCHEMA)
_ROWS = {"csv": 100, "json": 10, "arrow": 50}
_FORMATS = ("csv",) * 9 + ("json",) * 6 + ("arrow",) * 5
_BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def passing(schema: Mapping[str, str] = SCHEMA) -> Graph:
    """An application that gives every tuple on, and counts them by name."""
    app = ps.Application("fuzzed")
    rows = app.source("rows", schema=schema)
    rows.functor("passed", where="true", emit={name: name for name in schema}).sink("out")
    rows.aggregate(
        "counted", by="name", window=ps.sliding(count=3, per_group=True), emit={"n": "count()", "total": "sum(price)"}
    ).sink("counts")
    return app.graph


class Rows:
    """Tables of rows, some of which are right and must come through; the others must too, or become dead letters."""

    def __init__(self, folder: Path) -> None:
        self._graph = passing()

    def make(self, rng: random.Random) -> Body:
        form = rng.choice(_FORMATS)
        count = rng.randint(1, 2 * _ROWS[form] - 1)
        if form == "csv":
            return {"form": form, "lines": csv_lines(rng, count)}
        if form == "json":
            return {"form": form, "rows": [json_row(rng, i) for i in range(count)], "way": rng.randrange(3)}
        return {"form": form, "seed": rng.randrange(2**32), "count": count, "way": rng.randrange(3)}

    def weight(self, body: Body) -> int:
        if body["form"] == "arrow":
            return int(body["count"])
        return len(body["lines"] if body["form"] == "csv" else body["rows"])

    def attempt(self, body: Body, folder: Path) -> None:
        attempts: dict[str, Callable[[Body, Path], None]] = {
            "csv": self._csv, "json": self._json, "arrow": self._arrow,
        }  # fmt: skip
        attempts[body["form"]](body, folder)

    def _csv(self, body: Body, folder: Path) -> None:
        path = folder / "rows.csv"
        lines = [",".join(NAMES), *(line["text"] for line in body["lines"])]
        path.write_bytes("\n".join(lines).encode("latin-1") + b"\n")
        tables = ps.evaluate(self._graph, {"rows": path})
        marks = [line["mark"] for line in body["lines"]]
        right = [right_row(i) for i, mark in enumerate(marks) if mark == "right"]
        came = [row for row in tables["out"].to_pylist() if row["id"] is not None and row["id"] >= 0]
        if "wild" not in marks:
            check_counts(tables, sum(mark != "blank" for mark in marks))
            if [row for row in came if row["id"] in {own["id"] for own in right}] != right:
                raise WrongResult("right rows did not come through as they were")

    def _json(self, body: Body, folder: Path) -> None:
        rows = body["rows"]
        right = {i: right_row(i) for i, row in enumerate(rows) if row.get("mark") == "right"}
        plain = [right[i] if i in right else row["values"] for i, row in enumerate(rows)]
        if body["way"] == 0:
            app = ps.Application("fuzzed")
            source = ps.testing.source_of(plain, SCHEMA)
            app.source("rows", source).sink("out")
            tables = ps.evaluate(app)
        else:
            columns = {name: [row.get(name) if isinstance(row, dict) else row for row in plain] for name in NAMES}
            guessed = _guessed(plain) if body["way"] == 1 else None
            tables = ps.evaluate(self._graph, {"rows": columns if guessed is None else guessed})
        check_counts(tables, len(rows))
        came = tables["out"].to_pylist()
        if len(came) == len(rows) and any(came[i] != row for i, row in right.items()):
            raise WrongResult("right rows did not come through as they were")

    def _arrow(self, body: Body, folder: Path) -> None:
        table = arrow_table(random.Random(body["seed"]), body["count"])
        if body["way"] == 0:
            self._packed(table)
            return
        engine = ps.Engine(self._graph)
        came: list[pa.RecordBatch] = []
        pieces = [table] if body["way"] == 1 else [table.slice(i, 7) for i in range(0, table.num_rows, 7)]
        for piece in pieces:
            came += engine.feed({"rows": piece})["out"]
        came += engine.finish()["out"]
        _check_sum(sum(batch.num_rows for batch in came), len(engine.letters), table.num_rows)

    def _packed(self, table: pa.Table) -> None:
        """As rows of a DataFrame come to the first element on Spark."""
        source, letters = self._graph.sources[0], DeadLetters()
        rows = list(packed(table.to_batches(), source, 0, letters))
        blocks = [unseal(row.column("payload")[0].as_buffer(), source.schema) for row in rows]
        _check_sum(sum(block.rows for block in blocks), len(letters), table.num_rows)


def right_row(number: int) -> dict[str, Any]:
    """A row that must come through, by its number."""
    return {
        "id": number, "name": f"n{number % 7}", "price": number * 0.25, "volume": number, "flag": number % 2 == 0,
        "at": (_BEGIN + datetime.timedelta(seconds=number)).replace(tzinfo=None),
    }  # fmt: skip


def csv_lines(rng: random.Random, count: int) -> list[dict[str, str]]:
    """Lines with a mark each: right, wrong, blank (not a row), or wild: it may take its neighbours along."""
    is_wild = rng.random() < 0.15
    lines = []
    for i in range(count):
        row = right_row(i)
        fields = [str(i), row["name"], repr(row["price"]), str(i), str(row["flag"]).lower(), row["at"].isoformat(" ")]
        draw = rng.random()
        if draw < 0.3:
            lines.append({"mark": "right", "text": ",".join(fields)})
        elif draw < 0.32:
            lines.append({"mark": "blank", "text": ""})
        elif is_wild and draw < 0.4:
            lines.append({"mark": "wild", "text": _wild_line(rng, fields)})
        else:
            lines.append({"mark": "wrong", "text": _wrong_line(rng, fields)})
    return lines


def _wrong_line(rng: random.Random, fields: list[str]) -> str:
    fields[0] = f"-{int(fields[0]) + 1}"  # so that it is known from a right one
    action = rng.randrange(5)
    if action == 0:
        del fields[rng.randrange(len(fields))]
    elif action == 1:
        fields.insert(rng.randrange(len(fields)), "x")
    elif action == 2:
        fields[rng.randrange(1, len(fields))] = rng.choice(("x" * HUGE, "9" * 5_000)) if rng.random() < 0.002 else "?"
    else:
        for _ in range(rng.randint(1, 4)):
            fields[rng.randrange(1, len(fields))] = _tame(strange_word(rng)[:300])
    return ",".join(fields)


def _tame(word: str) -> str:
    """A field that ends neither its line nor its file, in bytes."""
    return "".join(c for c in word if c not in '\r\n",').encode("utf-8", "replace").decode("latin-1")


def _wild_line(rng: random.Random, fields: list[str]) -> str:
    place = rng.randrange(len(fields))
    fields[place] = rng.choice(('"', '"x', 'x"y"', "\xff\xfe", "\x00", "\r", "a\rb", '"a\nb"', '""', "\xef\xbb\xbf"))
    return ",".join(fields)


def json_row(rng: random.Random, number: int) -> dict[str, Any]:
    """A row as it may come out of JSON; a right one is known by its number alone."""
    if rng.random() < 0.6:
        return {"mark": "right"}
    values: Any = {name: rng.choice(VALUES) for name in NAMES}
    values |= {"id": -number - 1} if rng.random() < 0.7 else {}
    if rng.random() < 0.2:
        values.pop(rng.choice(NAMES))
    if rng.random() < 0.05:
        values = rng.choice((None, 1, "x", []))
    return {"mark": "wrong", "values": values}


def _guessed(rows: list[Any]) -> pa.Table | None:
    """A table with the types that Arrow guesses, None where it cannot."""
    try:
        return pa.Table.from_pylist(rows)
    except (pa.ArrowException, AttributeError, TypeError, ValueError, OverflowError):
        return None


_TYPES: tuple[Callable[[], pa.DataType], ...] = (
    pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint32, pa.uint64, pa.float16, pa.float32, pa.float64,
    pa.string, pa.large_string, pa.binary, pa.bool_, pa.null, pa.date32, lambda: pa.time64("us"),
    lambda: pa.decimal128(10, 2),
    lambda: pa.timestamp("s"), lambda: pa.timestamp("ns"), lambda: pa.timestamp("us", "UTC"), pa.string_view,
    lambda: pa.timestamp("ms", "Europe/Paris"), lambda: pa.duration("us"), lambda: pa.list_(pa.int64()),
    lambda: pa.struct([("x", pa.int64())]), lambda: pa.dictionary(pa.int32(), pa.string()),
    lambda: pa.dictionary(pa.int8(), pa.int64()), lambda: pa.map_(pa.string(), pa.int64()),
)  # fmt: skip


def arrow_table(rng: random.Random, count: int) -> pa.Table:
    """A table with the source's columns, some of other types, with nulls, chunks, slices; now and then one lacks."""
    arrays, names = [], []
    for name in NAMES:
        draw = rng.random()
        if draw < 0.01:
            continue
        own = pa.schema(ps.Application("types").source("rows", schema=SCHEMA).schema).field(name).type
        type_ = own if draw < 0.75 else rng.choice(_TYPES)()
        arrays.append(_array(rng, type_, count))
        names += [name] if draw < 0.99 else [name, name]
        arrays += arrays[-1:] if draw >= 0.99 else []
    return pa.Table.from_arrays(arrays, names=names) if arrays else pa.table({})


def _array(rng: random.Random, type_: pa.DataType, count: int) -> pa.ChunkedArray:
    """Values of a type, in one chunk or two, the first one a slice of a longer one."""
    values = [None if rng.random() < 0.1 else _value(rng, type_) for _ in range(count + 3)]
    whole = pa.array(values, type_)
    cut = rng.randrange(count + 1)
    return pa.chunked_array([whole.slice(2, cut), pa.array(values[2 + cut : 2 + count], type_)], type_)


def _value(rng: random.Random, type_: pa.DataType) -> Any:
    if pa.types.is_dictionary(type_):
        return _value(rng, type_.value_type)
    if pa.types.is_boolean(type_):
        return rng.random() < 0.5
    if pa.types.is_integer(type_):
        top = 2 ** (type_.bit_width - (0 if str(type_).startswith("u") else 1)) - 1
        return rng.choice((0, 1, top, -top - 1 if str(type_)[0] == "i" else 0, rng.randint(0, top)))
    if pa.types.is_floating(type_):
        return rng.choice((0.0, 1.5, -0.0, math.nan, math.inf, 60_000.0))
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_) or pa.types.is_time(type_):
        most = 2**63 - 1 if pa.types.is_duration(type_) or pa.types.is_timestamp(type_) else 86_399
        return pa.scalar(rng.choice((0, 1, most, rng.randrange(2**31) % (most + 1))), pa.int64()).cast(type_).as_py() \
            if most < 2**32 else _moment(rng, type_)  # fmt: skip
    if pa.types.is_date(type_):
        return datetime.date(rng.randint(1, 9999), 1, 1)
    if pa.types.is_decimal(type_):
        return rng.randint(-(10**7), 10**7)
    if pa.types.is_binary(type_):
        return rng.randbytes(rng.randrange(8))
    if pa.types.is_list(type_):
        return [1] * rng.randrange(3)
    if pa.types.is_struct(type_):
        return {"x": 1}
    if pa.types.is_map(type_):
        return [("a", 1)]
    return None if pa.types.is_null(type_) else strange_word(rng)[:1_000]


def _moment(rng: random.Random, type_: pa.DataType) -> Any:
    if pa.types.is_duration(type_):
        return datetime.timedelta(seconds=rng.randrange(10**6))
    moment = datetime.datetime(rng.choice((1700, 1970, 2024, 2200)), 1, 1)
    return moment.replace(tzinfo=datetime.UTC) if type_.tz else moment


def check_counts(tables: ps.Tables, rows: int) -> None:
    """Each row came out or is a dead letter."""
    _check_sum(tables["out"].num_rows, tables.dead_letters.num_rows, rows)


def _check_sum(out: int, letters: int, rows: int) -> None:
    if out + letters != rows:
        raise WrongResult(f"{rows} rows came in, {out} went out and {letters} are dead letters")
