"""The shape of a count window: everything its kernel depends on, and where each word of a group's state lies.

A group's tuples are cut into entries of `every` tuples each; a firing window is the newest `full` = size // every
entries, plus the newest `rest` = size % every tuples where that is not zero.  Four ways to hold them:

pane     the window is one run of tuples that nothing overlaps (tumbling, or every >= size): running terms only
ring     every = 1 and few tuples: the values themselves, terms recomputed at each tuple
entries  every > 1 and few entries: a ring of their terms, merged at each firing
stack    many entries: chunks of `full` entries by ordinal; terms of each suffix of the finished chunk, and of the
         prefix of the current one, so a firing merges two (van Herk, Gil and Werman).  Where they are too many to lie
         in the row they lie in pieces of memory that the row has a table of (`chunks.py`)

Which entries are merged in which order depends on ordinals alone, so results do not change with the cuts of a stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penstock.block.column import Array
from penstock.kernels.windows.aggregates import AggregateCall, Number, Term, number_of, result_type, terms_of
from penstock.kernels.windows.count.chunks import ChunkLayout
from penstock.kernels.windows.count.value_ring import ring_words

Mode = Literal["pane", "ring", "entries", "stack"]
Area = Literal["current", "prefix", "slot"]

# Measured: up to here recomputing beats the two merges and the second pass of the stack.
RING_TUPLES_MAX = 12
RING_ENTRIES_MAX = 8
# Measured: up to here reading the terms of nothing is cheaper than mispredicting which tuple starts a run.
BRANCHLESS_EVERY_MAX = 64
# Longer ones take memory for their entries as these come; up to here a table of chunks would be most of a row.
ROW_ENTRIES_WORDS_MAX = 64
# Kernels look up the chunk of an entry in a table; still longer windows have few keys, and sparse rows.
CHUNKED_ENTRIES_MAX = 1 << 20


@dataclass(frozen=True)
class Shape:
    """What a kernel is generated for; `nullable` kernels read masks and count nulls."""

    size: int
    every: int
    calls: tuple[AggregateCall, ...]
    types: tuple[np.dtype[Any], ...]
    nullable: bool
    retained: tuple[int, ...] = ()  # the columns whose values themselves are kept, behind all else

    @property
    def full(self) -> int:
        return self.size // self.every

    @property
    def rest(self) -> int:
        return self.size % self.every

    @cached_property
    def mode(self) -> Mode:
        if self.full == 0 or (self.full == 1 and self.rest == 0):
            return "pane"
        if self.every == 1:
            return "ring" if self.size <= RING_TUPLES_MAX else "stack"
        return "entries" if self.full <= RING_ENTRIES_MAX else "stack"

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        return terms_of(self.calls, self.types, self.nullable)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns that some call reads."""
        return tuple(sorted({call.argument for call in self.calls if call.argument is not None}))

    @cached_property
    def held_columns(self) -> tuple[int, ...]:
        """The columns of which something is kept; the newest value is at hand anyway."""
        retained = (c.argument for c in self.calls if c.argument is not None and c.function not in ("count", "last"))
        return tuple(sorted(set(retained)))

    @cached_property
    def result_types(self) -> tuple[np.dtype[Any], ...]:
        return tuple(result_type(call, self.types) for call in self.calls)

    def number(self, column: int) -> Number:
        return number_of(self.types[column])

    @property
    def fires_always(self) -> bool:
        return self.every == 1

    @cached_property
    def is_branchless(self) -> bool:
        """Whether running terms start anew without a branch."""
        simple = all(term.words == 1 and not term.keeps_oldest for term in self.terms)
        return simple and 1 < self.every <= BRANCHLESS_EVERY_MAX and (self.mode == "pane" or self.rest == 0)

    @cached_property
    def head_words(self) -> int:
        """Position within `every`, and the number of entries (wrapped so that it stays small)."""
        return 1 if self.mode == "pane" or self.every == 1 else 2

    @cached_property
    def chunks(self) -> ChunkLayout | None:
        """How entries lie in chunks, None where they lie in the row."""
        if self.mode != "stack" or self.retained or self.full > CHUNKED_ENTRIES_MAX:
            return None
        twin = self if self.nullable else replace(self, nullable=True)
        words, nulls = self._stride(False), twin._stride(True)
        if self.full * max(words, nulls) <= ROW_ENTRIES_WORDS_MAX:
            return None
        fixed, wrap = self._area_start("slot", False), (2 if self.rest == 0 else 3) * self.full
        return ChunkLayout(self.full, words, nulls, fixed, self.head_words - 1, wrap)

    def words(self, about_nulls: bool) -> int:
        """Words of one group's row, in the array of values or in that of null counts."""
        if self.chunks is not None:
            return self._area_start("slot", True) if about_nulls else self.chunks.words
        return self.retained_at(about_nulls) + len(self.retained) * ring_words(self.size, about_nulls)

    def ring_at(self, place: int, about_nulls: bool) -> int:
        """Where the ring of the kept column at a place begins."""
        return self.retained_at(about_nulls) + place * ring_words(self.size, about_nulls)

    def retained_at(self, about_nulls: bool) -> int:
        """Where a group's kept values begin among its words."""
        if self.mode == "ring":
            columns = len(self.columns) if about_nulls else len(self.held_columns) * self.size
            return columns + (0 if about_nulls else self.head_words)
        slots = self._stride(about_nulls) * self.full if self.mode != "pane" else 0
        return self._area_start("slot", about_nulls) + slots

    @property
    def slot_words(self) -> tuple[int, int]:
        """Where a group's slots begin among its words, and how long one is."""
        return self._area_start("slot", False), self._stride(False)

    def first_row(self) -> Array:
        """Row 0 of the state, which belongs to no group: the current terms of no tuples, for branchless kernels."""
        row = np.zeros(self.words(about_nulls=False), np.int64)
        offset = self._area_start("current", False)
        for term in self._terms_in("current", False) if self.is_branchless else []:
            value = term.nothing()[0]
            row[offset] = np.float64(value).view(np.int64) if term.number == "f" else value
            offset += 1
        return row

    def place(self, area: Area, term: Term, word: int = 0, slot: str = "") -> str:
        """The text that reads or writes one word of a term; `slot` is an expression."""
        before = 0
        for other in self._terms_in(area, term.about_nulls):
            if other == term:
                break
            before += other.words
        offset = self._area_start(area, term.about_nulls) + before + word
        array, base = ("N", "n") if term.about_nulls else ("F" if term.number == "f" else "I", "b")
        if area != "slot":
            return f"{array}[{base} + u({offset})]"
        if self.chunks is not None:  # `_move` has found the entry
            return f"C{array}[{slot} * u({self._stride(term.about_nulls)}) + u({before + word})]"
        return f"{array}[{base} + u({offset}) + u({slot}) * u({self._stride(term.about_nulls)})]"

    def _terms_in(self, area: Area, about_nulls: bool) -> list[Term]:
        """The oldest entry's value is read from its slot, so no prefix keeps it."""
        return [t for t in self.terms if t.about_nulls == about_nulls and not (area == "prefix" and t.keeps_oldest)]

    def _stride(self, about_nulls: bool) -> int:
        return sum(term.words for term in self._terms_in("slot", about_nulls))

    def _area_start(self, area: Area, about_nulls: bool) -> int:
        start = 0 if about_nulls else self.head_words
        areas: list[Area] = []
        if self.mode == "pane" or self.every > 1:
            areas.append("current")
        if self.mode == "stack":
            areas.append("prefix")
        for earlier in areas:
            if earlier == area:
                return start
            start += sum(term.words for term in self._terms_in(earlier, about_nulls))
        return start
