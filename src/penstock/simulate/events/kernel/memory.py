"""The arrays of a simulation inside its kernels, by one address.

Functions that pass two dozen arrays to one another compile for minutes and run ten times slower: an array is seven
words, with a count of references.  So kernels pass the address of a table, which has three words for each array of
`State`: address, length, second dimension.  The caller keeps the arrays alive while a kernel runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.simulate.events import state as places
from penstock.simulate.events.kernel.rows import WORDS, rows_of
from penstock.simulate.events.state import State

_FIELDS = {name: number for number, name in enumerate(State._fields)}


def table_of(state: State) -> Any:
    """The table; its `ctypes.data` is what kernels take."""
    table = np.zeros(WORDS * len(_FIELDS), np.int64)
    for number, array in enumerate(state):
        assert array.flags.c_contiguous
        second = array.shape[1] if array.ndim == 2 else 0
        table[WORDS * number : WORDS * number + WORDS] = (array.ctypes.data, len(array), second)
    return table


def _one_dimension(name: str, dtype: Any) -> Any:
    return rows_of(_FIELDS[name], dtype)


def _two_dimensions(name: str, dtype: Any) -> Any:
    return rows_of(_FIELDS[name], dtype, is_table=True)


tasks_of = _one_dimension("tasks", places.TASK)
cores_of = _one_dimension("cores", places.CORE)
ops_of = _one_dimension("ops", places.OPERATOR)
stations_of = _one_dimension("stations", places.STATION)
queues_of = _one_dimension("queues", places.QUEUE)
pools_of = _one_dimension("pools", places.POOL)
lanes_of = _one_dimension("lanes", places.LANE)
sources_of = _one_dimension("sources", places.SOURCE)
events_of = _one_dimension("events", places.EVENT)
order_of = _one_dimension("order", np.int32)
control_of = _one_dimension("control", np.int64)
clock_of = _one_dimension("clock", np.float64)
speeds_of = _two_dimensions("speeds", np.float64)
lane_order_of = _two_dimensions("lane_order", np.int32)
lane_pools_of = _one_dimension("lane_pools", np.int32)
serves_of = _two_dimensions("serves", np.bool_)
consumers_of = _one_dimension("consumers", np.int32)
shares_of = _one_dimension("shares", np.float64)
given_of = _one_dimension("given", np.float64)
edges_s_of = _one_dimension("edges_s", np.float64)
counts_of = _one_dimension("counts", np.float64)
changes_of = _one_dimension("changes", places.CHANGE)
histogram_of = _one_dimension("histogram", np.float64)
log_of = _one_dimension("log", places.LOG)
busy_s_of = _one_dimension("busy_s", np.float64)
todo_of = _two_dimensions("todo", np.int32)
ahead_of = _two_dimensions("ahead", np.float64)
hold_of = _one_dimension("hold", places.HOLD)
holds_of = _one_dimension("holds", places.HOLDS)
holding_of = _one_dimension("holding", places.HOLDING)
locks_of = _one_dimension("locks", places.LOCK)
