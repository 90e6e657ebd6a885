"""The time window's rules, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import FixedColumn
from penstock.errors import InputError
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.time import time_window
from penstock.kernels.windows.time.time_window import TimeFired, TimeWindow

SUM = (AggregateCall("sum", 0), AggregateCall("count", None))
FLOAT = (np.dtype(np.float64),)


def feed(window: TimeWindow, groups: list[int], events: list[int], values: list[float]) -> TimeFired:
    column = FixedColumn(np.array(values, np.float64), pa.float64())
    return window.process(np.array(groups, np.int32), max(groups) + 1, np.array(events, np.int64), [column])


def table(fired: TimeFired) -> list[tuple[Any, ...]]:
    columns = [column.values.tolist() for column in fired.columns]
    return list(zip(fired.rows.tolist(), fired.groups.tolist(), fired.ends_us.tolist(), *columns, strict=True))


def test_a_tumbling_window_fires_when_the_clock_reaches_its_end() -> None:
    fired = feed(TimeWindow(10, 10, SUM, FLOAT), [1, 0, 1, 0], [3, 9, 4, 10], [1.0, 2.0, 4.0, 8.0])
    assert table(fired) == [(3, 1, 10, 5.0, 2), (3, 0, 10, 2.0, 1)]


def test_windows_before_the_epoch_end_at_floored_multiples() -> None:
    fired = feed(TimeWindow(10, 10, SUM, FLOAT), [0, 0], [-11, -10], [1.0, 2.0])
    assert table(fired) == [(1, 0, -10, 1.0, 1)]


def test_a_sliding_window_holds_a_tuple_for_its_whole_size() -> None:
    fired = feed(TimeWindow(30, 10, SUM, FLOAT), [0, 0, 0], [5, 15, 100], [1.0, 2.0, 4.0])
    assert table(fired) == [(1, 0, 10, 1.0, 1), (2, 0, 20, 3.0, 2), (2, 0, 30, 3.0, 2), (2, 0, 40, 2.0, 1)]


def test_groups_come_in_order_of_their_oldest_tuple_in_the_window() -> None:
    window = TimeWindow(20, 10, SUM, FLOAT)
    fired = feed(window, [2, 0, 1, 2, 0], [0, 1, 11, 12, 20], [1.0] * 5)
    assert fired.groups.tolist() == [2, 0, 2, 0, 1]
    assert feed(window, [0], [30], [1.0]).groups.tolist() == [1, 2, 0]


def test_a_tuple_of_a_closed_pane_is_late_and_counts_nowhere() -> None:
    fired = feed(TimeWindow(20, 10, SUM, FLOAT), [0, 0, 0, 0], [10, 9, 12, 20], [1.0, 100.0, 2.0, 4.0])
    assert fired.late.tolist() == [1]
    assert table(fired) == [(3, 0, 20, 3.0, 2)]


def test_a_clock_that_jumps_by_years_fires_only_windows_that_hold_something() -> None:
    year_us = 365 * 86_400 * 1_000_000
    window = TimeWindow(2, 1, SUM, FLOAT)
    fired = feed(window, [0, 0, 0], [0, 100 * year_us, 200 * year_us], [1.0, 2.0, 4.0])
    assert fired.ends_us.tolist() == [1, 2, 100 * year_us + 1, 100 * year_us + 2]


def test_nothing_fires_without_a_later_tuple() -> None:
    fired = feed(TimeWindow(10, 10, SUM, FLOAT), [0], [5], [1.0])
    assert len(fired.rows) == 0
    assert [column.type for column in fired.columns] == [pa.float64(), pa.int64()]


def test_infinity_leaves_no_trace_once_it_is_out_of_the_window() -> None:
    fired = feed(TimeWindow(2, 1, SUM, FLOAT), [0] * 5, [0, 1, 2, 3, 4], [1.0, np.inf, -np.inf, 2.0, 0.0])
    np.testing.assert_array_equal(fired.columns[0].values, [1.0, np.inf, np.nan, -np.inf])
    fired = feed(TimeWindow(2, 1, SUM, FLOAT), [0] * 5, [0, 1, 2, 3, 4], [np.nan, 1.0, 2.0, 3.0, 0.0])
    np.testing.assert_array_equal(fired.columns[0].values, [np.nan, np.nan, 3.0, 5.0])


def test_outputs_outgrow_their_room_and_blocks_their_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_window, "_ROWS_A_CALL", 7)
    groups, events = [*range(3_000), 0, 0], [0] * 3_000 + [1, 2]
    fired = feed(TimeWindow(2, 1, SUM, FLOAT), groups, events, [1.0] * 3_002)
    assert fired.groups.tolist() == list(range(3_000)) * 2
    assert fired.columns[1].values.tolist() == [1] * 3_000 + [2] + [1] * 2_999


def test_rare_groups_far_apart_in_the_log_keep_their_order() -> None:
    """10,000 entries of other groups lie between the marks."""
    window = TimeWindow(1_000, 1, SUM, FLOAT)
    for pane in range(100):
        feed(window, [0, *range(10, 110), 200 + pane], [pane] * 102, [1.0] * 102)
    fired = feed(window, [0], [100], [1.0])
    assert fired.groups.tolist() == [0, *range(10, 110), *range(200, 300)]
    later = feed(window, [0], [1_050], [1.0])
    last = later.groups[later.ends_us == 1_050].tolist()
    assert last == [0, *range(10, 110), *range(250, 300)]


def test_results_that_keep_a_type_keep_the_columns_type() -> None:
    calls = (AggregateCall("max", 0), AggregateCall("avg", 0))
    stamps = FixedColumn(np.array([5, 7, 9], np.int64), pa.timestamp("us"))
    window = TimeWindow(10, 10, calls, (np.dtype(np.int64),))
    fired = window.process(np.zeros(3, np.int32), 1, np.array([0, 1, 10]), [stamps])
    assert [column.type for column in fired.columns] == [pa.timestamp("us"), pa.float64()]
    assert [column.values.tolist() for column in fired.columns] == [[7], [6.0]]


def test_a_restored_window_goes_on_where_the_exported_one_was() -> None:
    one, other = TimeWindow(4, 1, SUM, FLOAT), TimeWindow(4, 1, SUM, FLOAT)
    feed(one, [0, 1, 2, 1], [0, 1, 2, 3], [1.0, 2.0, 4.0, 8.0])
    other.restore(one.export())
    for window in (one, other):
        fired = feed(window, [3, 0], [3, 9], [16.0, 32.0])
        assert table(fired)[:4] == [(1, 0, 4, 1.0, 1), (1, 1, 4, 10.0, 2), (1, 2, 4, 4.0, 1), (1, 3, 4, 16.0, 1)]
        assert len(fired.rows) == 4 + 3 + 3 + 2


def test_state_is_bounded_by_what_the_window_holds() -> None:
    window = TimeWindow(4, 1, SUM, FLOAT)
    feed(window, [0, 1], [0, 0], [1.0, 1.0])
    before = window.state_bytes
    for second in range(1, 10_000, 100):
        feed(window, [0] * 100, list(range(second, second + 100)), [1.0] * 100)
    assert window.state_bytes == before


@pytest.mark.parametrize(("size_us", "every_us"), [(10, 3), (2, 4), (10, 0)])
def test_a_size_that_is_no_multiple_of_the_step_is_refused(size_us: int, every_us: int) -> None:
    with pytest.raises(InputError, match="a time window's size must be a multiple of its step; got"):
        TimeWindow(size_us, every_us, SUM, FLOAT)


def test_a_block_of_fewer_groups_than_the_open_pane_has_may_bring_a_new_one() -> None:
    window = TimeWindow(10, 10, SUM, FLOAT)
    feed(window, [1, 2, 3], [0, 0, 0], [1.0, 2.0, 4.0])
    feed(window, [0], [1], [8.0])
    assert [row[1:] for row in table(feed(window, [0], [10], [0.0]))] == [
        (1, 10, 1.0, 1), (2, 10, 2.0, 1), (3, 10, 4.0, 1), (0, 10, 8.0, 1),
    ]  # fmt: skip
