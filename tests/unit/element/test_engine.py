"""The engine's own rules: feeding in pieces, idle sources, dead letters, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import penstock as ps

STAMPED = {"s": "float64", "x": "int64"}


def merged(*, rate: float | None = None) -> ps.Application:
    app = ps.Application("merged")
    one = app.source("one", schema=STAMPED, stamp="s")
    two = app.source("two", schema=STAMPED, stamp="s")
    one.union("both", two).sink("out")
    return app


def table(*rows: tuple[float, int]) -> pa.Table:
    return pa.table(
        {"s": pa.array([s for s, _ in rows], pa.float64()), "x": pa.array([x for _, x in rows], pa.int64())}
    )


def xs(batches: dict[str, list[pa.RecordBatch]]) -> list[int]:
    return [x for batch in batches["out"] for x in batch.column("x").to_pylist()]


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_tuples_wait_for_the_slowest_source() -> None:
    engine = ps.Engine(merged().graph)
    assert xs(engine.feed({"one": table((1, 1), (2, 2), (5, 5))})) == []
    assert xs(engine.feed({"two": table((2, 20), (3, 30))})) == [1, 2, 20, 30]
    assert xs(engine.feed({"two": table((3, 31), (9, 90))})) == [31, 5]
    assert xs(engine.finish()) == [90]


def test_a_source_of_a_later_place_waits_for_equal_stamps_of_an_earlier_one() -> None:
    engine = ps.Engine(merged().graph)
    assert xs(engine.feed({"one": table((1, 1)), "two": table((1, 10))})) == [1]
    assert xs(engine.feed({"one": table((1, 2), (2, 3))})) == [2, 10]
    assert xs(engine.finish()) == [3]


def test_an_idle_source_does_not_hold_the_others_back_and_what_it_missed_is_a_dead_letter() -> None:
    clock = Clock()
    engine = ps.Engine(merged().graph, idle_timeout_s=10.0, clock=clock)
    assert xs(engine.feed({"two": table((1, 10), (2, 20))})) == []
    clock.now_s = 10.0
    assert xs(engine.feed({"two": table((3, 30))})) == []
    clock.now_s = 10.5
    assert xs(engine.feed({"two": table((4, 40))})) == [10, 20, 30, 40]
    assert xs(engine.feed({"one": table((2, 2), (6, 6))})) == []
    assert [row["operator"] for row in engine.letters.table().to_pylist()] == ["one"]
    assert "was idle for 10 s and the others went on" in engine.letters.table()["reason"][0].as_py()
    assert xs(engine.feed({"two": table((7, 70))})) == [6]
    assert xs(engine.finish()) == [70]


def test_a_source_that_nothing_merges_does_not_wait() -> None:
    app = ps.Application("alone")
    app.source("one", schema=STAMPED).sink("out")
    app.source("two", schema=STAMPED).sink("other")
    engine = ps.Engine(app.graph)
    assert xs(engine.feed({"one": table((9, 1), (1, 2))})) == [1, 2]


def test_delayed_tuples_come_out_at_the_end() -> None:
    app = merged()
    app.stream("one").delay("late", 100).union("again", app.stream("two")).sink("delayed")
    tables = ps.evaluate(app, {"one": table((1, 1)), "two": table((2, 2), (50, 3), (200, 4))})
    assert tables["delayed"].column("x").to_pylist() == [2, 3, 1, 4]


def test_no_input_at_all_gives_empty_tables() -> None:
    tables = ps.evaluate(merged(), {"one": table(), "two": table()})
    assert tables["out"].num_rows == 0
    assert tables["out"].schema.names == ["s", "x"]
    assert tables.dead_letters.num_rows == 0


def test_nulls_where_the_schema_forbids_them_are_dead_letters() -> None:
    app = ps.Application("strict")
    app.source("s", schema={"x": "int64 not null", "y": "string not null"}).sink("out")
    tables = ps.evaluate(app, {"s": {"x": [1, None, 3], "y": ["a", "b", None]}})
    assert tables["out"].to_pylist() == [{"x": 1, "y": "a"}]
    reasons = [row["reason"] for row in tables.dead_letters.to_pylist()]
    assert reasons == [f"has a null in '{name}', where its schema forbids it" for name in ("x", "y")]


def failing(function: Any) -> ps.Application:
    app = ps.Application("failing")
    app.source("s", schema={"x": "int64"}).map("m", function, {"y": "int64"}, per_tuple=True).sink("out")
    return app


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda row: 5, "failed with TypeError: must give None, a dict or several dicts; got int"),
        (lambda row: "abc", "failed with TypeError: must give None, a dict or several dicts; got str"),
        (lambda row: "", "failed with TypeError: must give None, a dict or several dicts; got str"),
        (lambda row: ["abc"], "failed with TypeError: must give None, a dict or several dicts; got list with str"),
        (lambda row: {"y": "text"}, "failed with ArrowInvalid: Could not convert 'text'"),
        (lambda row: {"y": 1.5}, "failed with ValueError: must return whole numbers for 'y'; got 1.5; round it"),
        (
            lambda row: {"y": 1 // row["x"]},
            "failed with ZeroDivisionError: integer division or modulo by zero at test_engine",
        ),
        (lambda row: [{"y": 1}, 7], "failed with"),
    ],
)
def test_a_tuple_on_which_a_function_fails_is_a_dead_letter(function: Any, reason: str) -> None:
    tables = ps.evaluate(failing(function), {"s": {"x": [0]}})
    assert tables["out"].num_rows == 0
    (letter,) = tables.dead_letters.to_pylist()
    assert letter["reason"].startswith(reason)
    assert (letter["operator"], letter["row"]) == ("m", '{"x": 0}')


def test_on_error_fail_stops_at_the_first_bad_tuple() -> None:
    with pytest.raises(
        ps.errors.OperatorError, match=r"operator 'm' failed with KeyError.*on_error='fail' stops at the first"
    ):
        ps.evaluate(failing(lambda row: row["nothing"]), {"s": {"x": [1]}}, on_error="fail")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (lambda batch: 5, "failed with TypeError: must return an Arrow record batch or table; got int"),
        (lambda batch: pa.table({"y": [1, 2, 3]}), "returned 3 rows for 2; give 'input_row'"),
        (
            lambda batch: pa.table({"y": [1], "input_row": [4]}),
            "returned 'input_row' that are not",
        ),
        (
            lambda batch: pa.table({"z": [1] * batch.num_rows}),
            "failed with ValueError: must return a column 'y'; got: z",
        ),
    ],
)
def test_a_block_function_that_breaks_its_rules_is_told(result: Any, reason: str) -> None:
    app = ps.Application("blocks")
    app.source("s", schema={"x": "int64"}).map("m", result, {"y": "int64"}).sink("out")
    letters = ps.evaluate(app, {"s": {"x": [1, 2]}}).dead_letters.to_pylist()
    assert len(letters) == 2
    assert letters[0]["reason"].startswith(reason), letters[0]


def test_a_result_that_is_not_there_is_told_with_those_that_are() -> None:
    app = ps.Application("names")
    app.source("s", schema={"x": "int64"}).sink("out")
    tables = ps.evaluate(app, {"s": {"x": [1]}})
    with pytest.raises(KeyError, match="there is no result 'ot'; there are: out; did you mean 'out'"):
        tables["ot"]
    assert tables.get("ot") is None


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"thee": table()}, {}, "application 'merged' has no source 'thee'; it has: one, two"),
    ({"twos": table()}, {}, "did you mean 'two'?"),
    (
        {"one": table()},
        {},
        "of its own and was given no input; give its tuples, {'two': {'attribute': [...]}}, or --input two=FILE",
    ),
    ({"one": table(), "two": {"s": [1.0]}}, {}, "source 'two' needs the attributes s, x; its input lacks x; it has: s"),
    ({"one": table(), "two": {"s": [1.0], "y": [2]}}, {}, "its input lacks x; it has: s, y"),
    (
        {"one": table(), "two": {"s": [1.0], "x": ["a"]}},
        {},
        "source 'two' cannot use its input: it needs 'x' as int64: Could",
    ),
    ({"one": table(), "two": {"s": [1.0], "x": [2**70]}}, {}, "source 'two' cannot use its input"),
    ({"one": table(), "two": {"s": [1.0], "x": [1, 2]}}, {}, "its columns have different lengths (s 1, x 2)"),
    (
        {"one": table(), "two": pa.table({"s": ["a"], "x": [1]})},
        {},
        "source 'two' needs 's' as float64; its input has string",
    ),
    (
        {"one": table(), "two": pa.table({"s": [1], "x": [1.5]})},
        {},
        "source 'two' cannot use its input: Float value 1.5",
    ),
    ({"one": table(), "two": table()}, {"taps": ["boot"]}, "has no stream 'boot' to tap; it has: one, two, both"),
    ({"one": table(), "two": table()}, {"taps": ["boot"]}, "did you mean 'both'?"),
    ({"one": table(), "two": table()}, {"block_rows": 0}, "block_rows is a whole number of at least 1; got 0"),
    ({"one": table(), "two": table()}, {"block_rows": 1.5}, "block_rows is a whole number of at least 1; got 1.5"),
    ({"one": table(), "two": table()}, {"block_rows": 2**70}, "block_rows is at most 1,099,511,627,776; got 118059"),
    (
        {"one": table(), "two": [1, 2]},
        {},
        "takes a table, a DataFrame, a dict of columns, a list of rows as dicts, or a file's path; got [1, 2]",
    ),
    ({"one": table(), "two": {}}, {}, "its input lacks s, x; it has: none"),
    (
        {"one": table(), "two": {"s": [1.0], "x": [1.5]}},
        {},
        "cannot use its input: it needs 'x' as int64: Float value 1.5",
    ),
    ({"one": table(), "two": table()}, {"on_error": "ignore"}, "on_error is 'dead_letter' or 'fail'; got 'ignore'"),
    ({"one": table(), "two": table()}, {"engine": "flink"}, "engine is 'inprocess' or 'spark'; got 'flink'"),
]


@pytest.mark.parametrize(("inputs", "options", "sentence"), REFUSED, ids=[s for _, _, s in REFUSED])
def test_what_does_not_fit_is_refused_in_one_sentence(
    inputs: dict[str, Any], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ps.errors.InputError) as raised:
        ps.evaluate(merged(), inputs, **options)
    assert sentence in str(raised.value)


def test_feeding_an_unknown_source_is_refused_with_a_guess() -> None:
    with pytest.raises(ps.errors.InputError, match=r"has no source 'ones'; it has: one, two; did you mean 'one'\?"):
        ps.Engine(merged().graph).feed({"ones": table()})


def test_columns_in_other_but_near_types_are_converted() -> None:
    inputs = {
        "one": pa.table({"x": pa.array([1], pa.int8()), "s": [3], "extra": [0]}),
        "two": pa.table({"s": [], "x": []}),
    }
    assert ps.evaluate(merged(), inputs)["out"].to_pylist() == [{"s": 3.0, "x": 1}]


def test_progress_is_told_and_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    app = ps.Application("one")
    app.source("s", schema={"x": "int64"}).sink("out")
    ps.evaluate(app, {"s": {"x": range(200)}}, block_rows=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(64, 200), (128, 200), (192, 200), (200, 200)]


def test_symbols_of_differing_dictionaries_are_one_word() -> None:
    app = ps.Application("symbols")
    emit = {"k": "any(k)", "n": "count()", "different": "count_distinct(k)"}
    stream = app.source("s", schema={"k": "symbol"})
    stream.aggregate("words", window=ps.sliding(count=9, per_group=True), by="k", emit=emit).sink("out")
    stream.aggregate("all", window=ps.sliding(count=9), emit={"d": "count_distinct(k)", "low": "min(k)"}).sink("whole")
    engine = ps.Engine(app.graph)
    rows, whole = [], []
    for codes, words in (([0, 1, 2], ["b", "a", "b"]), ([0, 1], ["a", "b"]), ([1, 0], ["a", "b"])):
        batch = pa.table({"k": pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words)})
        results = engine.feed({"s": batch})
        rows += [row for part in results["out"] for row in part.to_pylist()]
        whole += [row for part in results["whole"] for row in part.to_pylist()]
    counted = [("b", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 3), ("b", 4), ("a", 3)]
    assert [(row["k"], row["n"]) for row in rows] == counted
    assert {row["different"] for row in rows} == {1}
    assert [(row["d"], row["low"]) for row in whole] == [(1, "b"), *[(2, "a")] * 6]


def test_only_applications_can_be_evaluated() -> None:
    with pytest.raises(ps.errors.InputError, match="evaluate needs an application; got 'merged'"):
        ps.evaluate("merged")  # type: ignore[arg-type]


def test_one_tap_may_be_given_by_its_name_alone() -> None:
    tables = ps.evaluate(merged(), {"one": table((1.0, 1)), "two": table()}, taps="both")
    assert tables["both"].num_rows == 1


def test_a_sink_with_a_directory_is_written_there(tmp_path: Path) -> None:
    app = ps.Application("files")
    numbers = app.source("numbers", schema={"x": "int64"})
    numbers.sink("rows", ps.sinks.parquet(str(tmp_path / "rows")))
    numbers.sink("lines", ps.sinks.csv(str(tmp_path / "lines")))
    numbers.sink("kept", ps.sinks.memory())
    tables = ps.evaluate(app, {"numbers": {"x": [1, 2]}})
    assert tables.written == (tmp_path / "rows" / "rows.parquet", tmp_path / "lines" / "lines.csv")
    assert parquet.read_table(tables.written[0]).equals(tables["rows"])
    assert tables.written[1].read_text().split() == ['"x"', "1", "2"]


def test_a_block_function_that_gives_one_row_for_many_is_not_called_again_for_each() -> None:
    app = ps.Application("sum")
    app.source("s", schema={"x": "int64"}).map(
        "total", lambda batch: {"y": [sum(batch["x"].to_pylist())]}, {"y": "int64"}
    ).sink("out")
    tables = ps.evaluate(app, {"s": {"x": [1, 2, 3]}})
    assert tables["out"].num_rows == 0
    assert tables.dead_letters["reason"].unique().to_pylist() == [
        "returned 1 rows for 3; give 'input_row' for each where they differ"
    ]


def test_integers_keep_their_whole_range() -> None:
    app = ps.Application("range")
    app.source("s", schema={"x": "int64", "y": "uint64"}).sink("out")
    columns = {"x": [-(2**63), None, 2**63 - 1], "y": [0, None, 2**64 - 1]}
    assert ps.evaluate(app, {"s": columns})["out"].to_pydict() == columns
