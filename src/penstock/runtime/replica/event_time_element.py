"""An element that begins with an operator by key and by clock: one for all slots, its state logged by slot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.position import Frontier, Integers
from penstock.element.element import Element
from penstock.errors import StateError
from penstock.operators.event_time.keyed_event_time import KeyedEventTimeOperator, SideInput, SlotState
from penstock.runtime.replica.element_by_slot import Before
from penstock.state.checkpoint.entries import Entries, tokens_of
from penstock.state.rows.blob_store import BlobStore, BlobTask
from penstock.state.token import Token

MakeEventTimeElement = Callable[[], tuple[Element, KeyedEventTimeOperator]]
_LEAST_KEYS = 8192  # fewer are not worth a look


class SlotOfOperator:
    """The state of one slot: as it was logged, or in an operator of this process."""

    __slots__ = ("_operator", "_slot", "_state")

    def __init__(self, state: SlotState | None, operator: KeyedEventTimeOperator | None = None, slot: int = 0) -> None:
        self._state, self._operator, self._slot = state, operator, slot

    def states(self, others: Sequence[SlotOfOperator]) -> list[SlotState]:
        """The states of some slots that are in the same place as this one: taken out all at once."""
        if self._operator is None:
            return [own._state for own in others if own._state is not None]
        found = self._operator.export_slots(np.array([own._slot for own in others], np.int64))
        return list(found.values())

    @property
    def place(self) -> int:
        """Tells operators apart; 0 for what was logged."""
        return 0 if self._operator is None else id(self._operator)

    def forget(self) -> None:
        """Once it is logged, the operator has it."""
        self._state = None

    def __reduce__(self) -> tuple[type[SlotOfOperator], tuple[SlotState | None]]:
        return SlotOfOperator, (self._state,)


class EventTimeElement:
    """One element for all slots of a replica.

    It goes on from task to task as long as the manifest says so of each of its slots; else a new one is made from their
    states.  So it is, too, where it has numbered twice the keys that it had then: a state has the keys of open windows
    alone, and a stream of ever new keys must not fill the memory of a worker.
    """

    def __init__(self, make: MakeEventTimeElement, name: str, store: BlobStore) -> None:
        self._make, self._name, self._store = make, name, store
        self._element, self._operator = make()
        self._is_fresh = True  # nothing has happened to it yet
        self._most_keys = _LEAST_KEYS
        self._tokens: dict[int, Token] | None = None  # by slot, as it was committed; None while a task has it
        self._wanted: dict[int, Token] = {}  # by slot, of the batch before
        self._held: Integers = np.zeros(0, np.int64)
        self._task: BlobTask | None = None

    @property
    def state_bytes(self) -> dict[str, int]:
        return {name: own.state_bytes for name, own in self._element.runtimes.items()}

    def open(self, slots: Iterable[int], before: Before, token: Token) -> int:
        """Takes slots for a task; gives how many had to be read from logs."""
        held = np.array(sorted(slots), np.int64)
        own = before(self._name, self._store.slots)
        heads = own.heads()
        if len(heads) != self._store.slots:
            raise StateError(f"the state of operator '{self._name}' is in {len(heads)} parts, and has to be in "
                             f"{self._store.slots}: an older version wrote it; take another checkpoint")  # fmt: skip
        wanted = tokens_of(heads, held)
        self._task = self._store.open(held, heads, own.history, token)
        is_same = self._tokens == wanted and np.array_equal(held, self._held)
        if not is_same or self._operator.key_count > self._most_keys:
            self._rebuild(self._task, wanted)
        self._held, self._wanted, self._tokens, self._is_fresh = held, wanted, None, False
        return len(self._task.rebuilt)

    def take_side_input(self, given: SideInput) -> None:
        """What goes with the tuples of a micro-batch."""
        self._operator.take_side_input(given)

    def step(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        return self._element.step(blocks, frontier)

    @property
    def whole(self) -> Element:
        """The element of a task."""
        return self._element

    def note_step(self) -> None:
        """It knows by itself which slots have changed."""

    def commit(self) -> dict[str, Entries]:
        """Logs what changed."""
        task = self._task
        assert task is not None
        changed = self._operator.changed(self._held)
        states = self._operator.export_slots(changed) if len(changed) else {}
        kept = {slot: SlotOfOperator(state, self._operator, slot) for slot, state in states.items()}
        for slot, state in kept.items():
            task.put(slot, state)
        entries = task.commit()
        for state in kept.values():
            state.forget()
        self._tokens, self._task = self._wanted | dict.fromkeys(kept, task.token), None
        return {self._name: entries}

    def _rebuild(self, task: BlobTask, slots: Collection[int]) -> None:
        """A new operator with the states of slots, wherever they are."""
        by_place: dict[int, list[SlotOfOperator]] = {}
        for slot in slots:
            value: Any = task.get(slot)
            by_place.setdefault(value.place, []).append(value)
        states = [state for values in by_place.values() for state in values[0].states(values)]
        if not self._is_fresh:
            self._element, self._operator = self._make()
        self._operator.restore_slots(states)
        for slot in slots:  # so that nothing keeps the operator of before
            task.replace(slot, SlotOfOperator(None, self._operator, slot))
        self._most_keys = max(2 * self._operator.key_count, _LEAST_KEYS)
