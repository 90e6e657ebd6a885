"""Which simulations are a line of stations: `kernel/line.py` has them without a heap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.simulate.events import state as places
from penstock.simulate.events.state import State


class Line(NamedTuple):
    """A row for each station, from the source on: operator, core, queue, node; and the speeds of the cores."""

    stations: Any
    speeds: Any


def line_of(state: State) -> Line | None:
    """One source, and operators that each read the one before, each with a core on a node of its own.

    Nothing else may be there that changes the order of blocks, or the sums of figures: no bounded queue, partitions,
    merging, replicas, locks, network, changes of nodes or log.
    """
    control, clock, ops = state.control, state.clock, state.ops
    if control[places.RECORD] or control[places.LOCKED] or len(state.changes) or clock[places.NET_LATENCY] >= 0.0:
        return None
    if len(state.sources) != 1 or not (_is_simple(ops) and (state.stations["limit"] < 0).all()):
        return None
    order = _in_order(state)
    rows = [_station(state, number) for number in order]
    if len(order) < len(ops) or not all(rows) or len({row[-1] for row in rows if row}) < len(rows):
        return None
    stations = np.array([(number, *row) for number, row in zip(order, rows, strict=True) if row], np.int64)
    lanes = state.cores["lane"][stations[:, 1]]
    return Line(stations, state.speeds[ops["cls"][order], lanes].copy())


def _is_simple(ops: Any) -> bool:
    alone = (ops["partitions"] == 1) & (ops["replicas"] == 1) & (ops["placed"] == 0) & (ops["consumers"] <= 1)
    return bool((alone & (ops["merge_s"] == 0.0)).all())


def _in_order(state: State) -> list[int]:
    """Operators from the source on, each once, while each has one reader."""
    found: list[int] = []
    row = state.sources[0]
    while row["consumers"] == 1 and len(found) < len(state.ops):
        found.append(int(state.consumers[row["first_consumer"]]))
        row = state.ops[found[-1]]
    return found


def _station(state: State, number: int) -> tuple[int, int, int] | None:
    """Core, queue and node of an operator that has them for itself."""
    queue = int(state.stations[state.ops[number]["station"]]["queue"])
    pool = state.pools[state.queues[queue]["pool"]]
    if pool["lanes"] != 1 or (state.queues["pool"] == state.queues[queue]["pool"]).sum() != 1:
        return None
    lane = state.lanes[state.lane_order[0, pool["lane"]]]
    if lane["cores"] != 1 or lane["pools"] != 1 or lane["factor"] <= 0.0:
        return None
    core = int(lane["core"])
    return core, queue, int(state.cores[core]["node"])
