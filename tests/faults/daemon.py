"""Spark's worker daemon with orders to fail: Penstock's own, after the points of a stateful task were taken over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.element.state.row_store import RowStore, RowTask
from penstock.spark import warm
from tests.faults.orders import VARIABLE, Orders
from tests.faults.syncs import note_syncs


def meet_around(owner: type, name: str, orders: Orders, *, before: str = "", after: str = "") -> None:
    """Has a method of a store or its task come by points before and after it does its work."""
    method: Callable[..., Any] = getattr(owner, name)

    def around(self: Any, *arguments: Any) -> Any:
        store = self if isinstance(self, RowStore) else self._store
        operator = Path(store.memory.directory).parent.name
        if before:
            orders.meet(before, operator)
        result = method(self, *arguments)
        if after:
            orders.meet(after, operator)
        return result

    setattr(owner, name, around)


def main() -> None:
    note_syncs()
    orders = Orders(Path(os.environ[VARIABLE]))
    meet_around(RowStore, "open", orders, before="opening", after="opened")
    meet_around(RowTask, "record", orders, after="changed")
    meet_around(RowTask, "commit", orders, before="committing", after="committed")
    warm.main()


if __name__ == "__main__":
    main()
