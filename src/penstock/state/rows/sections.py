"""What a log says of one slot: its new keys, then all its rows, the rows that changed, or the tuples that came.

In words of 64 bits: a head (kind, number of the first new key, new keys, bytes of text, rows or tuples, slot, whether
nulls come along), the keys, their text, the numbers of the rows within the slot (32 bits each; a whole section has
none, its rows are in order), then the rows' values and nulls one after the other, or the tuples column by column.
Rows whose entries lie in chunks are logged without their tables, with the entries that they hold (`held_sections.py`);
the head's last word says how many granules of chunks the slot has taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from penstock.state.extents import Integers, locate
from penstock.state.rows.row_kernels import TEXT, new_row, read_text, write_text

HEAD_WORDS = 8
WHOLE, ROWS, TUPLES, WHOLE_HELD, ROWS_HELD = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """What each section of a log will have; `first_row` is its first place in the list of local numbers."""

    slots: Integers
    kinds: Integers
    first_key: Integers
    first_text: Integers
    new_keys: Integers
    text_bytes: Integers
    counts: Integers
    first_row: Integers
    entries: Integers  # in chunks of the rows that it has
    granules: Integers  # that the slot has taken

    @property
    def is_whole(self) -> npt.NDArray[np.bool_]:
        whole: npt.NDArray[np.bool_] = (self.kinds == WHOLE) | (self.kinds == WHOLE_HELD)
        return whole

    def words(self, key_words: int, row_words: int, tuple_words: int, entry_words: int) -> Integers:
        """The length of each section."""
        numbers = np.where(self.is_whole, 0, -(-self.counts // 2))
        rows = np.where(
            self.kinds == TUPLES, self.counts * tuple_words, self.counts * row_words + self.entries * entry_words
        )
        return HEAD_WORDS + self.new_keys * key_words - (-self.text_bytes // 8) + numbers + rows

    def part(self, start: int, stop: int) -> tuple[Integers, ...]:
        """The arrays of some sections, for the kernel."""
        begin = (self.slots, self.kinds, self.first_key, self.first_text)
        lengths = (self.new_keys, self.text_bytes, self.counts, self.first_row, self.granules)
        return tuple(array[start:stop] for array in (*begin, *lengths))


def _write_start(memory, section, listed, at, out):  # type: ignore[no-untyped-def]
    """Writes a section's head, its keys and the numbers of its rows, and gives the place behind them."""
    _, row_table, row_shift, text_table, text_shift, key_words, key_width, is_text, arena, _, _, _, _ = memory
    kind, first_key, new_keys, text_bytes, count, slot, has_nulls, first_text, granules = section
    numbers, octets = out.view(np.int32), out.view(np.uint8)
    out[at], out[at + 1], out[at + 2], out[at + 3] = kind, first_key, new_keys, text_bytes
    out[at + 4], out[at + 5], out[at + 6], out[at + 7] = count, slot, has_nulls, granules
    at += HEAD_WORDS
    for i in range(new_keys):
        key = (locate(row_table, slot, first_key + i, row_shift) + 1) * key_width
        for j in range(key_width):
            out[at + j] = key_words[key + j] - (first_text if is_text[j] else 0)
        at += key_width
    text_words = (text_bytes + 7) // 8
    if text_words:
        out[at + text_words - 1] = 0
        read_text(text_table, slot, text_shift, arena, first_text, first_text + text_bytes, octets, 8 * at)
        at += text_words
    if len(listed):
        out[at + (len(listed) - 1) // 2] = 0
        for i in range(len(listed)):
            numbers[2 * at + i] = listed[i]
        at += (len(listed) + 1) // 2
    return at


write_start: Any = njit(_write_start)


def _write_tuples(tuples, tuple_words, places, at, out):  # type: ignore[no-untyped-def]
    """Writes some tuples column by column."""
    for c in range(tuple_words):
        for i in range(len(places)):
            out[at + i] = tuples[c, places[i]]
        at += len(places)


write_tuples: Any = njit(_write_tuples)


def _write(memory, sections, starts, order, locals_, tuples, tuple_words, tuple_nulls, out):  # type: ignore[no-untyped-def]
    """Writes sections from the words `starts` of `out` on."""
    _, row_table, row_shift, _, _, _, _, _, _, words, width, nulls, null_width = memory
    slots, kinds, first_key, first_text, new_keys, text_bytes, counts, first_row, granules = sections
    for k in range(len(slots)):
        slot, kind, begin = slots[k], kinds[k], first_row[k]
        listed = locals_[begin : begin + (0 if kind == WHOLE else counts[k])]
        has_nulls = np.int64(tuple_nulls if kind == TUPLES else null_width > 0)
        lengths = (new_keys[k], text_bytes[k], counts[k], slot, has_nulls, first_text[k], granules[k])
        at = write_start(memory, (kind, first_key[k], *lengths), listed, starts[k], out)
        if kind == TUPLES:
            write_tuples(tuples, tuple_words, order[begin : begin + counts[k]], at, out)
            continue
        for i in range(counts[k]):
            local = i if kind == WHOLE else np.int64(listed[i])
            row = locate(row_table, slot, local, row_shift) + 1
            for j in range(width):
                out[at + j] = words[row * width + j]
            for j in range(null_width):
                out[at + width + j] = nulls[row * null_width + j]
            at += width + null_width


def _apply_keys(memory, source, at):  # type: ignore[no-untyped-def]
    """Adds the keys of a section to its slot, for which there is room, and gives the place behind them."""
    fields, _, _, text_table, text_shift, key_words, key_width, is_text, arena, _, _, _, _ = memory
    new_keys, text_bytes, slot = source[at + 2], source[at + 3], source[at + 5]
    octets = source.view(np.uint8)
    at += HEAD_WORDS
    for _ in range(new_keys):
        key = (new_row(memory, slot) + 1) * key_width
        for j in range(key_width):
            key_words[key + j] = source[at + j] + (fields[TEXT, slot] if is_text[j] else 0)
        at += key_width
    write_text(text_table, slot, text_shift, arena, fields[TEXT, slot], octets, 8 * at, text_bytes)
    fields[TEXT, slot] += text_bytes
    return at + (text_bytes + 7) // 8


apply_keys: Any = njit(_apply_keys)


def _apply(memory, source, starts):  # type: ignore[no-untyped-def]
    """Adds the keys of sections to their slots, for which there is room, and puts rows in their places."""
    _, row_table, row_shift, _, _, _, _, _, _, words, width, nulls, null_width = memory
    numbers = source.view(np.int32)
    for k in range(len(starts)):
        at = starts[k]
        kind, count, slot = source[at], source[at + 4], source[at + 5]
        own_nulls = null_width if source[at + 6] else 0
        at = apply_keys(memory, source, at)
        if kind == TUPLES:
            continue
        first_number = 2 * at
        if kind == ROWS:
            at += (count + 1) // 2
        for i in range(count):
            local = np.int64(numbers[first_number + i]) if kind == ROWS else i
            row = locate(row_table, slot, local, row_shift) + 1
            for j in range(width):
                words[row * width + j] = source[at + j]
            for j in range(own_nulls):
                nulls[row * null_width + j] = source[at + width + j]
            at += width + own_nulls


def _read_tuples(memory, source, starts, columns, groups, values):  # type: ignore[no-untyped-def]
    """The tuples of sections one after the other: the group of each, and its words (those about nulls last)."""
    row_table, row_shift, key_width = memory[1], memory[2], memory[6]
    numbers = source.view(np.int32)
    done = 0
    for k in range(len(starts)):
        at = starts[k]
        count, slot, has_nulls = source[at + 4], source[at + 5], source[at + 6]
        at += HEAD_WORDS + source[at + 2] * key_width + (source[at + 3] + 7) // 8
        for i in range(count):
            groups[done + i] = locate(row_table, slot, np.int64(numbers[2 * at + i]), row_shift)
        at += (count + 1) // 2
        for c in range(columns + 1):
            for i in range(count):
                values[c, done + i] = source[at + c * count + i] if c < columns or has_nulls else 0
        done += count


@functools.cache
def compiled(name: str) -> Callable[..., Any]:
    """A kernel of this module by its name, compiled when it is first needed."""
    kernels: dict[str, Callable[..., Any]] = {"write": _write, "apply": _apply, "read_tuples": _read_tuples}
    kernel: Callable[..., Any] = njit(nogil=True, cache=True)(kernels[name])
    return kernel


def heads_of(words: npt.NDArray[np.int64], starts: Integers) -> Integers:
    """The heads of sections, one a row."""
    heads: Integers = words[starts[:, None] + np.arange(HEAD_WORDS)]
    return heads
