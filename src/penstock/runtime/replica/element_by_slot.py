"""The operators of an element in a worker process, with state that is logged whole at the end of a micro-batch.

State that is rows by key is not here: `StoredAggregate` keeps it in slots that the processes of a host share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.ordering import in_order
from penstock.block.position import Frontier
from penstock.element.element import Element
from penstock.element.intake_element import IntakeElement, WaitingPiece, WaitingTuples
from penstock.kernels.keys.hashing import Slots
from penstock.operators.protocol import OperatorRuntime
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.extents import Integers
from penstock.state.rows.blob_store import BlobStore, BlobTask
from penstock.state.token import Token

AnyElement = Element | IntakeElement
MakeElement = Callable[[], AnyElement]
MakeStore = Callable[[str], BlobStore]
SlotsOf = Callable[[str, Block], Slots]
Before = Callable[[str, int], StateBefore]


class Exported:
    """The state of an operator as it was logged."""

    __slots__ = ("state",)

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state


class Live:
    """The state of an operator of this process; what is logged of it is its export."""

    __slots__ = ("runtime",)

    def __init__(self, runtime: OperatorRuntime) -> None:
        self.runtime = runtime

    @property
    def state(self) -> dict[str, Any]:
        return self.runtime.export()

    def __reduce__(self) -> tuple[type[Exported], tuple[dict[str, Any]]]:
        return Exported, (self.runtime.export(),)


class ExportedPiece:
    """What changed of an operator's state since it was logged last."""

    __slots__ = ("piece",)

    def __init__(self, piece: WaitingPiece) -> None:
        self.piece = piece

    @property
    def whole_bytes(self) -> int:
        return self.piece.whole_bytes

    def after(self, value: Exported) -> Exported:
        return Exported(self.piece.after(value.state))


class ElementBySlot:
    """One element per slot, made when the slot has its first tuples in this process; whole elements have one slot."""

    def __init__(self, make: MakeElement, make_store: MakeStore, slots: int, slots_of: SlotsOf | None) -> None:
        self._make, self._slots, self._slots_of = make, slots, slots_of
        self._first: AnyElement | None = make()
        self.stateful = tuple(name for name, own in self._first.runtimes.items() if own.export())
        self._stores = {name: make_store(name) for name in self.stateful}
        self._tasks: dict[str, BlobTask] = {}
        self._elements: dict[int, AnyElement] = {}
        self._checked: set[int] = set()  # slots whose element is known to have the state of the batch before
        self._stepped: set[int] = set()
        self._making = threading.Lock()
        self._slot_cpu_ns: list[tuple[int, int]] = []  # by any thread: appending is one step of the interpreter

    def open(self, slots: Iterable[int], before: Before, token: Token) -> int:
        """Takes slots for a task; gives how many objects had to be read from logs."""
        self._tasks, self._checked, self._stepped, self._slot_cpu_ns = {}, set(), set(), []
        held = np.array(sorted(slots), np.int64)
        read = 0
        for name, store in self._stores.items():
            own = before(name, self._slots)
            self._tasks[name] = store.open(held, own.heads(), own.history, token)
            read += len(self._tasks[name].rebuilt)
        self._release(set(held.tolist()))
        return read

    def _release(self, held: set[int]) -> None:
        """Lets the elements of slots go that this process serves no more."""
        cached = set.intersection(*(store.cached for store in self._stores.values())) if self._stores else set()
        for slot in self._elements.keys() - held - cached:
            del self._elements[slot]

    @property
    def state_bytes(self) -> dict[str, int]:
        """Memory of each operator's state in this process."""
        elements = [*self._elements.values(), *([self._first] if self._first is not None else [])]
        names = {name for element in elements for name in element.runtimes}
        return {name: sum(e.runtimes[name].state_bytes for e in elements) for name in names}

    @property
    def frontier(self) -> Frontier | None:
        """How far an intake has come."""
        element = self._elements.get(0)
        return element.frontier if isinstance(element, IntakeElement) else None

    def step(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        if self._slots_of is None:
            return self._element(0).step(blocks, frontier)
        outputs: dict[str, list[Block]] = {}
        for slot, own in self.by_slot(blocks).items():
            for name, block in self.step_slot(slot, own, frontier).items():
                outputs.setdefault(name, []).append(block)
        return {name: in_order(parts) for name, parts in outputs.items()}

    def step_slot(self, slot: int, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        """A step of one slot, timed: a slot's own calls of Python; several threads may be at different slots."""
        start_ns = time.thread_time_ns()
        outputs = self._element(slot).step(blocks, frontier)
        self._slot_cpu_ns.append((slot, time.thread_time_ns() - start_ns))
        return outputs

    def take_slot_cpu_ns(self) -> Integers | None:
        """CPU by slot since the last time; None where nothing ran by slot."""
        timed, self._slot_cpu_ns = self._slot_cpu_ns, []
        if not timed:
            return None
        slots, cpu_ns = np.array(timed, np.int64).T
        return np.bincount(slots, weights=cpu_ns, minlength=self._slots).astype(np.int64)

    @property
    def whole(self) -> AnyElement:
        """The element of a task that is not cut into slots; who steps it says so by `note_step`."""
        return self._elements[0] if 0 in self._checked else self._checked_element(0)

    def note_step(self) -> None:
        """A whole element is about to change its state."""
        if self._slots_of is None:
            self._stepped.add(0)

    @property
    def intake(self) -> IntakeElement:
        element = self._element(0)
        assert isinstance(element, IntakeElement)
        return element

    def end_sources(self, names: Iterable[str]) -> None:
        """Tells an intake which sources have no more tuples."""
        self.intake.end(names)

    def commit(self) -> dict[str, Entries]:
        """Logs what changed."""
        for slot in sorted(self._stepped):
            for name, task in self._tasks.items():
                runtime = self._elements[slot].runtimes[name]
                task.put(slot, Live(runtime), _piece_of(runtime))
        entries = {name: task.commit() for name, task in self._tasks.items()}
        for slot in self._stepped:
            element = self._elements[slot]
            if isinstance(element, IntakeElement):
                element.note_logged()
        self._tasks = {}
        return entries

    def by_slot(self, blocks: Mapping[str, Block]) -> dict[int, dict[str, Block]]:
        """The tuples of each slot."""
        assert self._slots_of is not None
        parts: dict[int, dict[str, Block]] = {}
        for name, block in blocks.items():
            if not block.rows:  # one side of a join may be empty
                continue
            slots = self._slots_of(name, block)
            order = np.argsort(slots, kind="stable")
            found, starts = np.unique(slots[order], return_index=True)
            taken = block.take(order)
            for slot, start, stop in zip(found, starts, [*starts[1:], block.rows], strict=True):
                parts.setdefault(int(slot), {})[name] = taken.slice(int(start), int(stop))
        return parts

    def _element(self, slot: int) -> AnyElement:
        """The slot's element with the state of the batch before, and what this task did to it."""
        self._stepped.add(slot)
        if slot in self._checked:
            return self._elements[slot]
        with self._making:
            return self._checked_element(slot)

    def _checked_element(self, slot: int) -> AnyElement:
        values = {name: task.get(slot) for name, task in self._tasks.items()}
        element = self._elements.get(slot)
        if element is None or not all(_is_of(value, element.runtimes[name]) for name, value in values.items()):
            element, self._first = self._first or self._make(), None
            for name, value in values.items():
                if value is not None:
                    element.runtimes[name].restore(value.state)
            self._elements[slot] = element
        self._checked.add(slot)
        return element


def _piece_of(runtime: object) -> ExportedPiece | None:
    """What changed, of an operator that can tell."""
    return ExportedPiece(runtime.piece()) if isinstance(runtime, WaitingTuples) else None


def _is_of(value: Exported | Live | None, runtime: OperatorRuntime) -> bool:
    return isinstance(value, Live) and value.runtime is runtime
