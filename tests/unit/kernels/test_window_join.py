"""The window join's rules, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.kernels.joins.window_join import JoinWindow, WindowJoin


def pairs(join: WindowJoin, ports: list[int], keys: list[int], values: Any = None) -> list[tuple[int, int, int]]:
    made = join.process(np.array(ports, np.uint8), np.array(keys, np.int32), max(keys) + 1, values)
    return list(zip(made.trigger.tolist(), made.left.tolist(), made.right.tolist(), strict=True))


def test_a_tuple_meets_partners_of_its_key_oldest_first() -> None:
    join = WindowJoin(JoinWindow("count", 9), JoinWindow("count", 9))
    assert pairs(join, [0, 0, 0, 1], [5, 4, 5, 5]) == [(3, 0, 0), (3, 2, 0)]


def test_a_count_window_over_the_stream_forgets_its_oldest_tuple_of_any_key() -> None:
    join = WindowJoin(JoinWindow("count", 2), JoinWindow("count", 1))
    assert pairs(join, [0, 0, 0, 1, 1], [0, 1, 1, 0, 1]) == [(4, 1, 1), (4, 2, 1)]


def test_a_count_window_per_group_forgets_within_the_key() -> None:
    join = WindowJoin(JoinWindow("count", 1, per_group=True), JoinWindow("count", 1))
    assert pairs(join, [0, 0, 0, 1, 1], [0, 1, 1, 0, 1]) == [(3, 0, 0), (4, 2, 1)]


def test_time_windows_share_the_highest_time_of_both_ports() -> None:
    join = WindowJoin(JoinWindow("time", 10), JoinWindow("time", 10))
    times = np.array([0, 5, 10, 4, 14], np.int64)
    assert pairs(join, [0, 0, 1, 0, 1], [0] * 5, times) == [(2, 1, 0), (3, 2, 0), (4, 1, 1)]


def test_a_tuple_too_old_for_its_own_window_still_meets_the_other() -> None:
    join = WindowJoin(JoinWindow("time", 1), JoinWindow("time", 10))
    assert pairs(join, [1, 0, 1], [0, 0, 0], np.array([9.0, 5.0, 9.5])) == [(1, 0, 0)]
    assert join.live(0).tolist() == []


def test_a_tuple_that_a_younger_time_outlives_is_not_live() -> None:
    join = WindowJoin(JoinWindow("time", 3), JoinWindow("time", 3))
    pairs(join, [0, 0, 0], [0, 0, 0], np.array([4, 2, 6], np.int64))
    assert join.live(0).tolist() == [0, 2]


def test_a_delta_window_keeps_what_is_near_its_newest_value() -> None:
    join = WindowJoin(JoinWindow("delta", 2.0), JoinWindow("count", 1))
    values = np.array([1.0, 3.0, 2.0, 4.5, 0.0])
    assert pairs(join, [0, 0, 0, 0, 1], [0] * 5, values) == [(4, 1, 0), (4, 3, 0)]


def test_a_delta_window_per_group_looks_at_its_own_key() -> None:
    join = WindowJoin(JoinWindow("delta", 2.0, per_group=True), JoinWindow("count", 1))
    assert pairs(join, [0, 0, 1], [0, 1, 0], np.array([1.0, 9.0, 0.0])) == [(2, 0, 0)]


def test_a_value_that_is_no_number_empties_a_delta_window() -> None:
    join = WindowJoin(JoinWindow("delta", 2.0), JoinWindow("count", 1))
    pairs(join, [0, 0], [0, 0], np.array([1.0, np.nan]))
    assert pairs(join, [0, 1], [0, 0], np.array([1.0, 0.0])) == [(1, 2, 0)]


def test_pairs_outgrow_their_room() -> None:
    join = WindowJoin(JoinWindow("count", 500), JoinWindow("count", 500))
    made = join.process(np.repeat(np.array([0, 1], np.uint8), 500), np.zeros(1_000, np.int32), 1, None)
    assert len(made.left) == 250_000
    assert made.left[:500].tolist() == list(range(500))
    assert made.right[-1] == 499


def test_a_store_cut_down_to_its_live_rows_is_counted_anew() -> None:
    join = WindowJoin(JoinWindow("count", 1, per_group=True), JoinWindow("count", 1))
    pairs(join, [0, 0, 0], [0, 1, 0])
    assert join.live(0).tolist() == [1, 2]
    join.renumber(0, join.live(0))
    assert (join.store_rows(0), join.store_rows(1)) == (2, 0)
    assert pairs(join, [1, 0, 1], [0, 1, 1]) == [(0, 1, 0), (2, 2, 1)]


def test_state_is_bounded_by_what_the_windows_hold() -> None:
    """One key after another takes the whole window: pieces of the pool must be used again."""
    join = WindowJoin(JoinWindow("count", 400), JoinWindow("count", 400))
    sizes = []
    for key in range(200):
        join.process(np.zeros(400, np.uint8), np.full(400, key % 20, np.int32), 20, None)
        join.renumber(0, join.live(0))
        sizes.append(join.state_bytes)
    assert len(set(sizes[20:])) == 1


def test_sizes_and_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="a count window of a join needs a positive size; got 0"):
        WindowJoin(JoinWindow("count", 0), JoinWindow("count", 1))
    with pytest.raises(InputError, match="needs int64 or float64 values; got none"):
        pairs(WindowJoin(JoinWindow("time", 1), JoinWindow("count", 1)), [0], [0])
