"""A side table: every tuple gets the row with its key, as a plain loop finds it; tables at a path are read again."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.side_table import side_table

keys = st.sampled_from(["a", "b", "c", "d", None])
tuples = st.lists(st.tuples(keys, st.integers(0, 3), st.integers(0, 99)), max_size=20)
sides = st.dictionaries(st.tuples(st.sampled_from(["a", "b", "x"]), st.integers(0, 3)), st.integers(0, 9), max_size=8)


@given(tuples, sides, st.booleans())
@settings(max_examples=60, deadline=None)
def test_tuples_get_the_row_with_their_key(
    rows: list[tuple[str | None, int, int]], side: dict[tuple[str, int], int], inner: bool
) -> None:
    app = ps.Application("joined")
    stream = app.source("in", schema={"word": "symbol", "n": "int64", "x": "int64"})
    table = pa.table({"name": [w for w, _ in side], "number": [n for _, n in side], "value": list(side.values())},
                     schema=pa.schema({"name": pa.string(), "number": pa.int32(), "value": pa.int64()}))  # fmt: skip
    stream.lookup("found", table, on={"word": "name", "n": "number"}, inner=inner).sink("out")
    columns = {"word": [w for w, _, _ in rows], "n": [n for _, n, _ in rows], "x": [x for _, _, x in rows]}
    found = ps.evaluate(app, {"in": columns})["out"].to_pylist()
    wanted = [
        {"word": w, "n": n, "x": x, "value": None if w is None else side.get((w, n))}
        for w, n, x in rows
        if not inner or (w is not None and (w, n) in side)
    ]
    assert found == wanted


def test_parquet_at_a_path_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "side.parquet"

    def write(value: int, at_s: int) -> None:
        pq.write_table(pa.table({"k": ["a"], "v": [value]}), path)
        os.utime(path, (at_s, at_s))

    write(1, 100)
    once, again = side_table(path, {"k": "k"}), side_table(path, {"k": "k"}, refresh_s=1e-9)
    batch = pa.RecordBatch.from_pydict({"k": ["a", "b"]})

    def values(own: Any) -> list[Any]:
        return own(batch)["v"].to_pylist()  # type: ignore[no-any-return]

    assert values(once) == values(again) == values(pickle.loads(pickle.dumps(again))) == [1, None]
    write(2, 200)
    assert (values(once), values(again)) == ([1, None], [2, None])


def test_what_cannot_be_used_has_its_sentence(tmp_path: Path) -> None:
    app = ps.Application("wrong")
    stream = app.source("in", schema={"k": "symbol", "v": "int64"})
    stream.lookup("again", {"k": ["a"], "v": [1]}, on="k")
    stream.lookup("twice", {"k": ["a", "a"], "w": [1, 2]}, on="k")
    stream.lookup("lacking", {"key": ["a"]}, on="k")
    stream.lookup("none", tmp_path / "none.parquet", on="k")
    stream.lookup("memory", {"k": ["a"]}, on="k", refresh_s=5.0)
    stream.lookup("number", 5, on="k")
    stream.lookup("keyless", {"k": ["a"]}, on=[])
    stream.lookup("other", {"k": ["a"]}, on={"kk": "k"})
    text = "\n".join(map(str, app.problems))
    for sentence in (
        "adds 'v' of its table, which its input has already; rename it, or leave it out",
        "cannot use its table: a side table has each key once; got some of k more than once",
        "cannot use its table: a side table has its keys as columns; got none named k; it has: key",
        "cannot use its table: a side table is Parquet at '",
        "a side table that is read again is Parquet at a path; got refresh_s with a table in memory",
        "a side table is an Arrow table, a dict of columns, a batch DataFrame or a path; got int",
        "a side table needs the attributes of its key; got on=[]",
        "reads 'kk' in on, which its input does not have",
    ):
        assert sentence in text, sentence


def test_a_streaming_dataframe_is_no_side_table() -> None:
    class Streaming:
        isStreaming = True

    with pytest.raises(ps.errors.InputError, match="a side table is a batch DataFrame; got a streaming one"):
        side_table(Streaming(), {"k": "k"})


@pytest.mark.parametrize(
    ("stream_type", "values", "table_type", "keys", "found"),
    [
        ("int64", [1, 2**40, -1, None], pa.int32(), [1, 255], [0, None, None, None]),
        ("int64", [-1, 255], pa.uint8(), [1, 255], [None, 1]),
        ("int64", [1, 2**53 + 1], pa.float64(), [1.0, 2.0**53], [0, None]),
        ("float64", [1.0, 1.5, float("inf"), float("nan")], pa.int64(), [1, 2], [0, None, None, None]),
        ("float64", [-0.0, float("nan")], pa.float64(), [0.0, float("nan")], [0, 1]),
    ],
)
def test_a_key_that_the_type_of_the_table_cannot_have_is_not_found(
    stream_type: str, values: list[Any], table_type: pa.DataType, keys: list[Any], found: list[int | None]
) -> None:
    app = ps.Application("numbers")
    table = pa.table({"k": pa.array(keys, table_type), "place": range(len(keys))})
    app.source("in", schema={"k": stream_type}).lookup("found", table, on="k").sink("out")
    tables = ps.evaluate(app, {"in": {"k": values}})
    assert tables["out"]["place"].to_pylist() == found
    assert not tables.dead_letters.num_rows


def test_a_key_of_many_columns_is_found_by_all_of_them() -> None:
    names = [f"k{number}" for number in range(9)]
    table = {**{name: list(range(255)) for name in names}, "place": list(range(255))}
    app = ps.Application("many")
    app.source("in", schema=dict.fromkeys(names, "int64")).lookup("found", table, on=names).sink("out")
    columns = {name: [6 if name == "k0" else 5, 7] for name in names}
    assert ps.evaluate(app, {"in": columns})["out"]["place"].to_pylist() == [None, 7]


def test_keys_of_other_kinds_and_the_name_of_origins_are_refused() -> None:
    app = ps.Application("wrong")
    stream = app.source("in", schema={"k": "symbol", "n": "int64", "at": "timestamp"})
    stream.lookup("text", {"k": [1]}, on="k")
    stream.lookup("number", {"n": ["1"]}, on="n")
    stream.lookup("time", {"at": [1]}, on="at")
    stream.lookup("origin", {"k": ["a"], "input_row": [1]}, on="k")
    stream.map("block", lambda batch: batch, {"input_row": "int64"})
    stream.lookup("nanoseconds", {"n": [1], "t": pa.array([1], pa.timestamp("ns"))}, on="n")
    text = "\n".join(map(str, app.problems))
    for sentence in (
        "looks 'k', a symbol, up in a key of its table that is a int64; cast one of them before",
        "looks 'n', a int64, up in a key of its table that is a string",
        "looks 'at', a timestamp, up in a key of its table that is a int64",
        "operator 'origin' (test_lookup.py:132) has an attribute 'input_row', which tells",
        "operator 'block' (test_lookup.py:133) has an attribute 'input_row'",
        "a side table has values that a stream can have; got others: Casting from timestamp[ns] to timestamp[us]",
    ):
        assert sentence in text, sentence
