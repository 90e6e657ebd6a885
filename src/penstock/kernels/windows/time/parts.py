"""The state of a time window cut into parts by group, and put together again from parts.

What a group holds does not depend on others: its entries (one a pane) and, for sliding windows, what the panes of the
block of panes at hand give together.  Places, links and counters follow from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.windows.time.source import COUNTERS

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Arrays = dict[str, Array]
_FIRST_PLACE = 1  # as in a new window
_CLOCK = ("started", "pane", "pane_start")


def clock_of(state: Mapping[str, Array]) -> tuple[int, ...]:
    """What an exported window knows of the clock."""
    counters = dict(zip(COUNTERS, state["counters"].reshape(-1).tolist(), strict=True))
    return tuple(counters[name] for name in _CLOCK)


def entries_of(state: Mapping[str, Array], tumbling: bool) -> Arrays:
    """The entries of an exported window, oldest pane first, each with its pane."""
    counters = dict(zip(COUNTERS, state["counters"].reshape(-1).tolist(), strict=True))
    entries = {name.removeprefix("entry."): array for name, array in state.items() if name.startswith("entry.")}
    places = counters["head"] + np.arange(len(entries["group"]))
    if tumbling:
        panes = np.full(len(places), counters["pane"], np.int64)
    else:
        known = state["panes"]
        panes = known[np.searchsorted(known[:, 1], places, side="right") - 1, 0] if len(places) else places
    return {**entries, "pane": panes}


def prefixes_of(state: Mapping[str, Array]) -> Arrays:
    """By group, what the panes of the block at hand give together; nothing for tumbling windows."""
    return {name.removeprefix("prefix."): array for name, array in state.items() if name.startswith("prefix.")}


def records_of(arrays: Mapping[str, Array]) -> Array:
    """Fields of the same rows as records; groups in 64 bits."""
    types = [(name, np.dtype(np.int64) if name == "group" else array.dtype) for name, array in arrays.items()]
    records = np.zeros(len(arrays["group"]), types)
    for name, array in arrays.items():
        records[name] = array
    return records


def arrays_of(records: Array) -> Arrays:
    """The fields of records."""
    return {name: records[name] for name in records.dtype.names or ()}


def window_of(
    clock: Sequence[int], entries: Mapping[str, Array], prefixes: Mapping[str, Array], span: int, order: Sequence[str]
) -> Arrays:
    """The export of a window that has these entries, in any order, with a prefix for each group (none if tumbling).

    Within a pane the groups stand in the order of the fields `order`, as they came.
    """
    started, pane, pane_start = clock
    sorting = np.lexsort([*(entries[name] for name in reversed(order)), entries["pane"]])
    sorted_ = {name: array[sorting] for name, array in entries.items()}
    panes, groups = sorted_.pop("pane"), sorted_["group"].astype(np.int64)
    count = len(groups)
    sorted_["ahead"] = _ahead(groups)
    firsts = np.flatnonzero(np.diff(panes, prepend=panes[0] - 1)) if count else np.zeros(0, np.int64)
    open_first = int(np.searchsorted(panes, pane)) if span > 1 else 0
    block_first = int(np.searchsorted(panes // span, pane // span)) if span > 1 else 0
    known = np.stack([panes[firsts], _FIRST_PLACE + firsts], axis=1) if span > 1 else np.zeros((0, 2), np.int64)
    counters = {
        "started": started, "pane": pane, "pane_start": pane_start, "head": _FIRST_PLACE, "tail": _FIRST_PLACE + count,
        "open_first": _FIRST_PLACE + open_first, "block_first": _FIRST_PLACE + block_first,
        "pane_head": 0, "pane_tail": len(known), "held": len(np.unique(groups)), "filled": 0, "late": 0,
    }  # fmt: skip
    window: Arrays = {"counters": np.array([counters[name] for name in COUNTERS], np.int64), "panes": known}
    window |= {f"entry.{name}": array for name, array in sorted_.items()}
    return window | {f"prefix.{name}": array for name, array in prefixes.items()}


def _ahead(groups: Ints) -> npt.NDArray[np.uint32]:
    """For each entry how far on the next one of its group is; 0 for none."""
    by_group = np.argsort(groups, kind="stable")
    ahead = np.zeros(len(groups), np.uint32)
    same = groups[by_group[1:]] == groups[by_group[:-1]]
    ahead[by_group[:-1][same]] = (by_group[1:] - by_group[:-1])[same]
    return ahead
