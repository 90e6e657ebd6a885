"""Rows: arrays that kernels reach by one address, with the values that numpy has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.simulate.events.kernel.rows import WORDS, rows_of

FORM = np.dtype([("time_s", "f8"), ("slot", "i4"), ("next", "i4")], align=True)
records_of, flags_of, numbers_of = rows_of(0, FORM), rows_of(1, np.bool_, is_table=True), rows_of(2, np.int32)


@njit
def work(s: int) -> Any:
    """Changes some of each, and gives what it read."""
    records, flags, numbers = records_of(s), flags_of(s), numbers_of(s)
    read = records[1].time_s + numbers[2] + len(records) + len(numbers)
    records[1].time_s = 7.5
    records[2].slot += 3
    numbers[0] = numbers[1]
    flags[1, 2] = not flags[0, 1]
    return read, flags[0, 1], flags[1, 0]


def table(*arrays: Any) -> Any:
    found = np.zeros(WORDS * len(arrays), np.int64)
    for number, own in enumerate(arrays):
        second = own.shape[1] if own.ndim == 2 else 0
        found[WORDS * number : WORDS * number + WORDS] = (own.ctypes.data, len(own), second)
    return found


def test_rows_have_the_values_of_their_arrays() -> None:
    records = np.array([(0.5, 1, 2), (1.5, 3, 4), (2.5, 5, 6)], FORM)
    flags = np.array([[False, True, False], [True, False, False]])
    numbers = np.array([10, 20, 30, 40], np.int32)
    own = table(records, flags, numbers)
    assert work(own.ctypes.data) == (1.5 + 30 + 3 + 4, True, True)
    assert records.tolist() == [(0.5, 1, 2), (7.5, 3, 4), (2.5, 8, 6)]
    assert numbers.tolist() == [20, 20, 30, 40]
    assert flags.tolist() == [[False, True, False], [True, False, False]]
