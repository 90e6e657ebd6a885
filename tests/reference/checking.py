"""Holding the engine to the oracle: the same rows at every block size, and however the sources are fed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.app.application import Application
from penstock.app.graph import Graph
from penstock.element.engine import AtEnd, Engine, Threads
from penstock.element.evaluation import evaluate
from tests.reference.aggregates import Near
from tests.reference.events import Row
from tests.reference.interpreter import interpret
from tests.reference.letters import Letter
from tests.reference.python_functions import plain_rows

BLOCK_ROWS = (1, 2, 3, 7, 64)
Tables = Mapping[str, pa.Table]
Outcome = tuple[dict[str, list[Row]], list[Letter]]


def table_of(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.table([pa.array([row[f.name] for row in rows], f.type) for f in schema], schema=schema)


def check(
    app: Application | Graph, tables: Tables, data: st.DataObject, taps: Sequence[str] = (), *, at_end: AtEnd = "hold"
) -> None:
    """The engine equals the oracle, and itself to the bit for a random block size and a random way of feeding."""
    graph = app.graph if isinstance(app, Application) else app
    expected = interpret(graph, {name: plain_rows(table) for name, table in tables.items()}, taps, at_end=at_end)
    whole = evaluated(graph, tables, 8192, taps, at_end=at_end)
    assert_equal(whole, expected)
    block_rows = data.draw(st.sampled_from(BLOCK_ROWS), label="block_rows")
    assert_same_bits(evaluated(graph, tables, block_rows, taps, at_end=at_end), whole)
    assert_same_bits(fed(graph, tables, data, taps, at_end=at_end), whole)


def evaluated(
    graph: Graph, tables: Tables, block_rows: int, taps: Sequence[str] = (), *, at_end: AtEnd = "hold"
) -> Outcome:
    results = evaluate(graph, tables, block_rows=block_rows, taps=taps, at_end=at_end)
    return {name: plain_rows(table) for name, table in results.items()}, letters_of(results.dead_letters)


def fed(
    graph: Graph,
    tables: Tables,
    data: st.DataObject,
    taps: Sequence[str] = (),
    *,
    threads: Threads = 1,
    at_end: AtEnd = "hold",
) -> Outcome:
    """What the engine gives when it gets its sources in random pieces, in random turns."""
    block_rows = data.draw(st.sampled_from((1, 3, 64)), label="rows of a block")
    engine = Engine(graph, block_rows=block_rows, taps=taps, threads=threads, at_end=at_end)
    rows: dict[str, list[Row]] = {name: [] for name in engine.collected}
    rest = dict(tables)
    while rest:
        name = data.draw(st.sampled_from(sorted(rest)), label="source")
        piece = data.draw(st.integers(1, 12), label="piece")
        _collect(rows, engine.feed({name: _recoded(rest[name].slice(0, piece))}))
        rest[name] = rest[name].slice(piece)
        if not rest[name].num_rows:
            del rest[name]
    _collect(rows, engine.finish())
    return rows, letters_of(engine.letters.table())


def _recoded(table: pa.Table) -> pa.Table:
    """The table with dictionaries of its own: the words it has, the latest first, and one that it has not."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            text = table.column(place).cast(pa.string()).to_pylist()
            words = [*dict.fromkeys(word for word in reversed(text) if word is not None), "unused"]
            codes = pa.array([None if word is None else words.index(word) for word in text], pa.int32())
            table = table.set_column(place, field, pa.DictionaryArray.from_arrays(codes, words))
    return table


def _collect(rows: dict[str, list[Row]], batches: Mapping[str, Sequence[pa.RecordBatch]]) -> None:
    for name, parts in batches.items():
        for part in parts:
            rows[name] += plain_rows(part)


def letters_of(table: pa.Table) -> list[Letter]:
    return [(row["operator"], row["reason"], row["row"]) for row in table.to_pylist()]


def assert_equal(found: Outcome, expected: Outcome) -> None:
    """Every row as the oracle has it; sums may miss by 1e-12 of what was added."""
    for name, rows in expected[0].items():
        assert len(found[0][name]) == len(rows), f"{name}: {found[0][name]} is not {rows}"
        for number, (one, other) in enumerate(zip(found[0][name], rows, strict=True)):
            assert same_row(one, other), f"{name}[{number}]: {one} is not {other}"
    assert sorted(found[1]) == sorted(expected[1])


def assert_same_bits(found: Outcome, expected: Outcome) -> None:
    for name, rows in expected[0].items():
        assert repr(found[0][name]) == repr(rows), name
    assert sorted(found[1]) == sorted(expected[1])


def same_row(one: Row, other: Row) -> bool:
    return one.keys() == other.keys() and all(same_value(one[name], other[name]) for name in one)


def same_value(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if isinstance(other, Near) and math.isfinite(other):
            return abs(one - other) <= 1e-12 * other.scale
        return one == other
    return type(one) is type(other) and bool(one == other)
