"""Functors: what is passed on untouched, what compiles when, and odd memory."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import ArrowColumn, CodedColumn, Column, FixedColumn, column_of
from penstock.block.schema import SYMBOL, schema_of
from penstock.expressions import Expression, parse
from penstock.expressions.evaluation.compiled_functor import FunctorKernel

SCHEMA = schema_of({"x": "float64", "i": "int64", "c": "symbol", "s": "string"})


def block(rows: int = 4) -> tuple[Column, ...]:
    numbers = np.arange(rows)
    return (
        FixedColumn(numbers / 2, pa.float64()),
        FixedColumn(numbers, pa.int64()),
        CodedColumn((numbers % 2).astype(np.int32), pa.array(["even", "odd"])),
        ArrowColumn(pa.array([f"s{n}" for n in numbers], pa.string())),
    )


def parsed(*texts: str) -> tuple[Expression, ...]:
    return tuple(parse(text) for text in texts)


def test_without_a_filter_attributes_are_passed_on_as_they_are() -> None:
    columns = block()
    rows, outputs = FunctorKernel(None, parsed("s", "x", "x + 1", "c"), SCHEMA, 0).process(columns, 4)
    assert rows is None
    assert (outputs[0], outputs[1], outputs[3]) == (columns[3], columns[0], columns[2])


def test_a_filter_that_all_pass_gives_no_rows_and_copies_nothing() -> None:
    columns = block()
    for after in (0, 1000):
        rows, outputs = FunctorKernel(parse("i >= 0"), parsed("x", "s"), SCHEMA, after).process(columns, 4)
        assert rows is None
        assert outputs[0] is columns[0]


@pytest.mark.parametrize(("where", "passing"), [("false", 0), ("null", 0), ("true", 4)])
def test_a_constant_filter(where: str, passing: int) -> None:
    rows, outputs = FunctorKernel(parse(where), parsed("x", "upper(s)", "c"), SCHEMA).process(block(), 4)
    assert 4 - passing == 0 if rows is None else len(rows) == passing
    assert [len(column) for column in outputs] == [passing] * 3


def test_symbols_keep_their_dictionary() -> None:
    columns = block()
    rows, outputs = FunctorKernel(parse("c = 'odd'"), parsed("c", "i"), SCHEMA, 0).process(columns, 4)
    assert rows is not None
    assert rows.tolist() == [1, 3]
    assert isinstance(outputs[0], CodedColumn)
    assert outputs[0].dictionary is columns[2].dictionary  # type: ignore[union-attr]
    assert outputs[0].codes.tolist() == [1, 1]


def test_a_dictionary_that_repeats_a_word_is_compared_right() -> None:
    columns = list(block())
    columns[2] = CodedColumn(np.array([0, 1, 2, 1], np.int32), pa.array(["a", "b", "a"]))
    rows, _ = FunctorKernel(parse("c = 'a'"), parsed("i"), SCHEMA, 0).process(columns, 4)
    assert rows is not None
    assert rows.tolist() == [0, 2]


def test_each_block_may_bring_its_own_dictionary() -> None:
    kernel = FunctorKernel(parse("c = 'b'"), parsed("upper(c)"), SCHEMA, 0)
    for words, passing in ((["a", "b"], [1]), (["b", "a"], [0]), (["x", "y"], [])):
        columns = list(block(2))
        columns[2] = column_of(pa.array(words).dictionary_encode(), SYMBOL)
        rows, outputs = kernel.process(columns, 2)
        assert rows is not None
        assert rows.tolist() == passing
        assert outputs[0].to_arrow().to_pylist() == ["B"] * len(passing)


def test_memory_that_is_strided_or_unaligned_is_taken_too() -> None:
    raw = np.frombuffer(b"\0" + np.arange(4, dtype=np.int64).tobytes(), np.int64, 4, 1)
    columns = (FixedColumn(np.arange(8.0)[::2], pa.float64()), FixedColumn(raw, pa.int64()), *block()[2:])
    _, outputs = FunctorKernel(None, parsed("x + i"), SCHEMA, 0).process(columns, 4)
    assert outputs[0].to_arrow().to_pylist() == [0.0, 3.0, 6.0, 9.0]


def test_it_compiles_after_so_many_rows() -> None:
    kernel = FunctorKernel(parse("x > 1"), parsed("x * 2"), SCHEMA, 10)
    seen = []
    for _ in range(3):
        kernel.process(block(), 4)
        seen.append(kernel.is_compiled)
    assert seen == [False, False, True]


def test_it_is_pickled_as_what_it_was_made_of() -> None:
    kernel = FunctorKernel(parse("x > 1"), parsed("x * 2"), SCHEMA, 0)
    kernel.process(block(), 4)
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.process(block(), 4)[1][0].to_arrow() == kernel.process(block(), 4)[1][0].to_arrow()


def test_qualified_names_read_the_only_input() -> None:
    _, outputs = FunctorKernel(None, (parse("$1.x + $1.i", "spade"),), SCHEMA, 0).process(block(), 4)
    assert outputs[0].to_arrow().to_pylist() == [0.0, 1.5, 3.0, 4.5]


def test_division_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for after in (0, 1000):
            kernel = FunctorKernel(None, parsed("x / 0", "i // 0", "i % 0", "ln(-x)", "0.0 / 0"), SCHEMA, after)
            _, outputs = kernel.process(block(), 4)
            assert outputs[1].to_arrow().null_count == outputs[2].to_arrow().null_count == 4


def test_threads_share_a_kernel() -> None:
    kernel = FunctorKernel(parse("x >= 1"), parsed("x * 3", "s"), SCHEMA, 0)
    results: list[list[float]] = []

    def work() -> None:
        results.extend(kernel.process(block(), 4)[1][0].to_arrow().to_pylist() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[3.0, 4.5]] * 80
