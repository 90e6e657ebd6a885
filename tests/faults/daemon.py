"""Spark's worker daemon with orders to fail: Penstock's own, with the points of a stateful task taken over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.spark import worker_daemon
from tests.faults.orders import VARIABLE, Orders
from tests.faults.syncs import note_syncs


def take_over(orders: Orders) -> None:
    """Has every stateful task come by the orders; after the preload, which must see to threads first."""
    from penstock.runtime.replica import element_worker
    from penstock.state.rows.row_store import RowStore, RowTask
    from penstock.state.rows.stored_count_window import StoredCountWindow

    element_worker.REBUILD_AT_ONCE_BYTES = 0  # a deferring task reads nothing that a copy could bring
    _meet_around(StoredCountWindow, "copy", orders, before="copying", after="copied")
    _meet_within_copies(orders)
    _meet_around(RowStore, "open", orders, before="opening", after="opened")
    _meet_around(RowTask, "record", orders, after="changed")
    _meet_around(RowTask, "commit", orders, before="committing", after="committed")


def _meet_around(owner: type, name: str, orders: Orders, *, before: str = "", after: str = "") -> None:
    """Has a method of a store or its task come by points before and after it does its work."""
    from pyspark import TaskContext

    method: Callable[..., Any] = getattr(owner, name)

    def around(self: Any, *arguments: Any) -> Any:
        operator, task = Path(getattr(self, "_store", self).memory.directory).parent.name, TaskContext.get()
        assert task is not None
        if before:
            orders.meet(operator, before, task.partitionId())
        result = method(self, *arguments)
        if after:
            orders.meet(operator, after, task.partitionId())
        return result

    setattr(owner, name, around)


def _meet_within_copies(orders: Orders) -> None:
    """Has copies come by a point when slots are marked and nothing is rebuilt yet, and when it is and not yet said."""
    from pyspark import TaskContext

    from penstock.state.rows import slot_copy

    rebuild = slot_copy.rebuild

    def around(memory: Any, *arguments: Any) -> None:
        operator, task = Path(memory.directory).parent.name, TaskContext.get()
        assert task is not None
        orders.meet(operator, "marked", task.partitionId())
        rebuild(memory, *arguments)
        orders.meet(operator, "rebuilt", task.partitionId())

    slot_copy.rebuild = around


def main() -> None:
    preload, orders = worker_daemon.preload, Orders(Path(os.environ[VARIABLE]))

    def preload_and_take_over() -> None:
        preload()
        take_over(orders)

    worker_daemon.preload = preload_and_take_over
    note_syncs()
    worker_daemon.main()


if __name__ == "__main__":
    main()
