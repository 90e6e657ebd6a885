"""Count windows: types, sharing, growth, nulls, snapshots, refusals."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import FixedColumn
from penstock.block.schema import TIMESTAMP
from penstock.errors import InputError
from penstock.kernels.windows.aggregates import AggregateCall, terms_of
from penstock.kernels.windows.count.chunks import ChunkLayout
from penstock.kernels.windows.count.count_window import CountWindow

FLOAT = np.dtype("f8")


def one_group(rows: int) -> np.ndarray:
    return np.zeros(rows, np.int32)


def floats(*values: float) -> FixedColumn:
    return FixedColumn(np.array(values, np.float64), pa.float64())


def test_a_sliding_window_fires_at_each_tuple_with_what_it_holds() -> None:
    window = CountWindow(2, 1, False, (AggregateCall("sum", 0), AggregateCall("count")), (FLOAT,))
    fired = window.process(one_group(3), 1, [floats(1, 2, 4)])
    assert fired.rows is None
    assert [column.values.tolist() for column in fired.columns] == [[1, 3, 6], [1, 2, 2]]


def test_a_tumbling_window_fires_when_full_and_starts_anew() -> None:
    window = CountWindow(2, 2, True, (AggregateCall("max", 0), AggregateCall("last", 0)), (FLOAT,))
    fired = window.process(np.array([0, 1, 0, 0, 1], np.int32), 2, [floats(5, 9, 3, 7, 1)])
    assert fired.rows is not None
    assert fired.rows.tolist() == [2, 4]
    assert [column.values.tolist() for column in fired.columns] == [[5, 9], [3, 1]]


def test_a_step_longer_than_the_window_passes_over_tuples() -> None:
    window = CountWindow(2, 3, False, (AggregateCall("sum", 0), AggregateCall("first", 0)), (FLOAT,))
    fired = window.process(one_group(7), 1, [floats(100, 1, 2, 100, 3, 4, 100)])
    assert fired.rows is not None
    assert fired.rows.tolist() == [2, 5]
    assert [column.values.tolist() for column in fired.columns] == [[3, 7], [1, 3]]


def test_an_infinity_leaves_no_trace_once_out_of_the_window() -> None:
    for size in (2, 30):
        window = CountWindow(size, 1, False, (AggregateCall("sum", 0), AggregateCall("min", 0)), (FLOAT,))
        values = [math.inf, math.nan, *([1.0] * (size + 1))]
        total, low = window.process(one_group(len(values)), 1, [floats(*values)]).columns
        assert total.values[-1] == size
        assert math.isnan(low.values[1])
        assert low.values[-1] == 1


@pytest.mark.parametrize("type_", [pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), TIMESTAMP], ids=str)
def test_min_max_first_last_keep_the_type(type_: pa.DataType) -> None:
    numbers = np.array([1, 0, 1], np.int64 if type_ == TIMESTAMP else type_.to_pandas_dtype())
    calls = tuple(AggregateCall(function, 0) for function in ("min", "max", "first", "last"))
    fired = CountWindow(3, 3, True, calls, (numbers.dtype,)).process(one_group(3), 1, [FixedColumn(numbers, type_)])
    assert [column.type for column in fired.columns] == [type_] * 4
    assert [int(column.values[0]) for column in fired.columns] == [0, 1, 1, 1]
    assert all(column.values.dtype == numbers.dtype for column in fired.columns)


def test_unsigned_64_bit_extremes_compare_as_unsigned() -> None:
    column = FixedColumn(np.array([2**64 - 1, 1], np.uint64), pa.uint64())
    calls = (AggregateCall("min", 0), AggregateCall("max", 0), AggregateCall("avg", 0))
    for size in (2, 40):
        fired = CountWindow(size, 1, False, calls, (np.dtype("u8"),)).process(one_group(2), 1, [column])
        assert [fired.columns[place].values[-1] for place in range(3)] == [1, 2**64 - 1, 2.0**63]


def test_an_average_of_big_integers_does_not_wrap_though_a_sum_does() -> None:
    column = FixedColumn(np.array([2**63 - 1, 2**63 - 1]), pa.int64())
    calls = (AggregateCall("avg", 0), AggregateCall("sum", 0))
    average, total = CountWindow(2, 2, True, calls, (np.dtype("i8"),)).process(one_group(2), 1, [column]).columns
    assert average.values.tolist() == [2.0**63]
    assert total.values.tolist() == [-2]


def test_results_are_null_where_there_is_nothing_to_aggregate() -> None:
    calls = tuple(AggregateCall(f, 0) for f in ("sum", "stddev", "count", "first", "last"))
    column = FixedColumn(np.array([1.0, 2.0, 3.0]), pa.float64(), np.array([False, False, True]))
    fired = CountWindow(2, 1, False, calls, (FLOAT,)).process(one_group(3), 1, [column])
    columns = [result.to_arrow().to_pylist() for result in fired.columns]
    assert columns == [[None, None, 3.0], [None, None, None], [0, 0, 1], [None, None, None], [None, None, 3.0]]


def test_a_mask_without_nulls_is_no_reason_to_switch() -> None:
    window = CountWindow(2, 1, False, (AggregateCall("sum", 0),), (FLOAT,))
    before = window.bytes_per_group
    window.process(one_group(1), 1, [FixedColumn(np.ones(1), pa.float64(), np.ones(1, np.bool_))])
    assert window.bytes_per_group == before
    window.process(one_group(1), 1, [FixedColumn(np.ones(1), pa.float64(), np.zeros(1, np.bool_))])
    assert window.bytes_per_group == before + 8


def test_groups_may_grow_between_blocks() -> None:
    window = CountWindow(3, 1, False, (AggregateCall("sum", 0),), (FLOAT,))
    for count in (1, 300, 5000, 70_000):
        groups = np.arange(count, dtype=np.int32)
        window.process(groups, count, [FixedColumn(groups.astype(float), pa.float64())])
    last = window.process(np.array([0, 299, 69_999], np.int32), 70_000, [floats(0, 0, 0)])
    assert last.columns[0].values.tolist() == [0, 299 * 2, 69_999]
    assert window.state_bytes == 70_000 * window.bytes_per_group


def test_big_windows_of_many_groups_take_memory_only_for_what_they_hold() -> None:
    window = CountWindow(1000, 1, False, (AggregateCall("sum", 0),), (FLOAT,))
    groups = np.arange(2_000_000, dtype=np.int32)[:10]
    window.process(groups, 2_000_000, [FixedColumn(np.ones(10), pa.float64())])
    assert window.row_bytes == 96
    assert window.state_bytes == 2_000_000 * window.row_bytes + 10 * 8 * 8
    assert window.bytes_per_group == window.row_bytes + 8 * 1000


@pytest.mark.parametrize(("full", "words"), [(13, 5), (100, 1), (1000, 3), (100_000, 1), (1_000_003, 2)])
def test_chunks_hold_a_window_and_reserve_little_beyond_it(full: int, words: int) -> None:
    layout = ChunkLayout(full, words, 1, fixed=2, head_at=0, wrap=2 * full)
    first, held = layout.first.astype(np.int64), np.arange(1, full + 1)
    reserved = first[layout.chunk_of[held - 1] + 1]
    assert (reserved >= held).all()
    assert (reserved <= 1.25 * held + 8).all()
    assert reserved[-1] - full < 4
    assert (first[:-1] % 4 == 0).all()
    assert (4 * layout.granules == np.diff(first)).all()


def test_aggregates_of_one_column_share_their_state() -> None:
    calls = tuple(AggregateCall(function, 0) for function in ("sum", "avg", "min", "sum", "count"))
    assert [term.kind for term in terms_of(calls, (FLOAT,), nullable=False)] == ["sum", "min"]


def test_a_restored_window_goes_on_where_it_was() -> None:
    arguments = (30, 1, False, (AggregateCall("sum", 0), AggregateCall("first", 0)), (FLOAT,))
    window = CountWindow(*arguments)
    window.process(one_group(40), 1, [FixedColumn(np.arange(40.0), pa.float64())])
    restored = CountWindow(*arguments)
    restored.restore(window.export())
    for other in (window, restored):
        total, first = other.process(one_group(1), 1, [floats(40)]).columns
        assert (total.values[0], first.values[0]) == (sum(range(11, 41)), 11)


def test_an_empty_block_fires_nothing() -> None:
    for size, tumbling in ((3, True), (3, False), (40, False)):
        window = CountWindow(size, 1, tumbling, (AggregateCall("sum", 0),), (FLOAT,))
        fired = window.process(one_group(0), 0, [floats()])
        assert len(fired.columns[0]) == 0
        assert (fired.rows is None) == (not tumbling)


def test_read_only_and_strided_columns_are_taken_as_they_are() -> None:
    window = CountWindow(2, 1, False, (AggregateCall("sum", 0),), (FLOAT,))
    values = np.arange(6.0)[::2]
    values.flags.writeable = False
    assert window.process(one_group(3), 1, [FixedColumn(values, pa.float64())]).columns[0].values.tolist() == [0, 2, 6]


@pytest.mark.parametrize(
    ("size", "call", "sentence"),
    [
        (0, AggregateCall("count"), "a count window needs a size and a step of at least 1; got 0 and 1"),
        (1, AggregateCall("sum"), "the aggregate 'sum' needs one of 1 columns; got None"),
        (1, AggregateCall("sum", 3), "the aggregate 'sum' needs one of 1 columns; got 3"),
        (1, AggregateCall("median", 0), "there is no aggregate 'median'; there are: count, sum"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(size: int, call: AggregateCall, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        CountWindow(size, 1, False, (call,), (FLOAT,))


def test_a_column_of_another_type_is_refused() -> None:
    window = CountWindow(2, 1, False, (AggregateCall("sum", 0),), (FLOAT,))
    with pytest.raises(InputError, match="a window was made for a column of type float64; got int64"):
        window.process(one_group(1), 1, [FixedColumn(np.array([1]), pa.int64())])
