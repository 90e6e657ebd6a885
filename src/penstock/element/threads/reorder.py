"""The reorder stage: complete steps go on in the order they were fed."""

from __future__ import annotations

from typing import Generic, TypeVar

Item = TypeVar("Item")


class Reorder(Generic[Item]):
    """Holds what is ahead of a step that is not complete; without `ordered` nothing is held.

    >>> reorder = Reorder[str](ordered=True)
    >>> reorder.add(1, "second"), reorder.add(0, "first")
    ([], ['first', 'second'])
    """

    def __init__(self, *, ordered: bool) -> None:
        self._ordered, self._next = ordered, 0
        self._early: dict[int, Item] = {}

    def add(self, number: int, item: Item) -> list[Item]:
        """Those that can go on now."""
        if not self._ordered:
            return [item]
        if number != self._next:
            self._early[number] = item
            return []
        ready = [item]
        self._next += 1
        while self._next in self._early:
            ready.append(self._early.pop(self._next))
            self._next += 1
        return ready

    def pass_over(self, count: int) -> None:
        """So many are not added, as they have gone on already; none is held."""
        self._next += count
