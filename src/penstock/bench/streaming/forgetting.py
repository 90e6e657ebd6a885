"""Has hosts forget slots that they do not serve, so that one change after the other finds them as new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from penstock.element.state.header import Field
from penstock.spark.element_worker import element_worker
from penstock.spark.host_job import on_each_host
from penstock.spark.query import Handle


def forget_slots(handle: Handle, element: str, slots_by_host: Mapping[str, Sequence[int]]) -> int:
    """Empties slots of an element on some hosts, unless a task holds them; gives how many."""
    number = [e.name for e in handle.configuration.elements].index(element)
    directory, unfused = str(handle.checkpoint.directory), handle.configuration.unfused
    function = partial(_forgotten, directory, unfused, number, list(slots_by_host.values()))
    done = on_each_host(handle.session, list(slots_by_host), function)
    return sum(int.from_bytes(own, "little") for own in done.values())


def _forgotten(
    directory: str, unfused: tuple[str, ...], number: int, slots: Sequence[Sequence[int]], host: int
) -> bytes:
    count = 0
    for stored in element_worker(directory, unfused, number).stored.values():
        store, fields = stored.stored.store, stored.stored.memory.header.fields
        store.memory.follow()
        taken = store.memory.locks.take_free(np.array(sorted(slots[host]), np.int64))
        fields[Field.DIRTY, taken] = 1
        store.memory.header.clear(taken)
        fields[Field.DIRTY, taken] = 0
        store.let_go(taken)
        count += len(taken)
    return count.to_bytes(8, "little")
