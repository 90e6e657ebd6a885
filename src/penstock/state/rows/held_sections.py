"""Sections of slots whose windows hold their entries in chunks: rows are as long as what they hold.

A row is its fixed words, then its words about nulls, its entries and their words about nulls; of nulls only where the
head says so.  How many entries, its head's count says.  Sections of versions without chunks are read, too: there a row
has room for a full window, with the words about nulls behind it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.windows.count.chunks import copy_in, copy_out, held, settle, take
from penstock.state.extents import Integers, locate
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.row_kernels import KEYS
from penstock.state.rows.sections import (
    HEAD_WORDS,
    ROWS,
    ROWS_HELD,
    TUPLES,
    WHOLE,
    WHOLE_HELD,
    apply_keys,
    write_start,
    write_tuples,
)


def _write(memory, chunks, sections, starts, order, locals_, tuples, tuple_words, tuple_nulls, out):  # type: ignore[no-untyped-def]
    """Writes sections from the words `starts` of `out` on."""
    _, row_table, row_shift, _, _, _, _, _, _, words, width, nulls, null_width = memory
    view, fixed, _, _, _, values, entry_width, value_nulls, entry_nulls = chunks
    slots, kinds, first_key, first_text, new_keys, text_bytes, counts, first_row, granules = sections
    table = words.view(np.int32)
    for k in range(len(slots)):
        slot, kind, begin = slots[k], kinds[k], first_row[k]
        listed = locals_[begin : begin + (0 if kind == WHOLE_HELD else counts[k])]
        has_nulls = np.int64(tuple_nulls if kind == TUPLES else null_width + entry_nulls > 0)
        lengths = (new_keys[k], text_bytes[k], counts[k], slot, has_nulls, first_text[k], granules[k])
        at = write_start(memory, (kind, first_key[k], *lengths), listed, starts[k], out)
        if kind == TUPLES:
            write_tuples(tuples, tuple_words, order[begin : begin + counts[k]], at, out)
            continue
        for i in range(counts[k]):
            local = i if kind == WHOLE_HELD else np.int64(listed[i])
            row = locate(row_table, slot, local, row_shift) + 1
            for j in range(fixed):
                out[at + j] = words[row * width + j]
            at += fixed
            for j in range(null_width):
                out[at + j] = nulls[row * null_width + j]
            at += null_width
            count, place = held(words, row * width, view), 2 * row * width + view[2]
            at = copy_out(table, place, view, values, entry_width, count, out, at)
            at = copy_out(table, place, view, value_nulls, entry_nulls, count, out, at)


def _apply(memory, chunks, source, starts, cursor):  # type: ignore[no-untyped-def]
    """Adds the keys of sections to their slots, and puts rows in their places, from the cursor on.

    The cursor: a section, its row (-1: its keys come first), where that begins, its first chunk that may be lacking;
    then the slot that has no room for a chunk, and how long that is.  True when all is done.
    """
    _, row_table, row_shift, _, _, _, key_width, _, _, words, width, nulls, null_width = memory
    view, fixed, all_entry_nulls, nexts, ends, values, entry_width, value_nulls, entry_nulls = chunks
    table, numbers, full = words.view(np.int32), source.view(np.int32), view[0]
    for k in range(cursor[0], len(starts)):
        at = starts[k]
        kind, count, slot, has_nulls = source[at], source[at + 4], source[at + 5], source[at + 6] != 0
        is_listed, is_full = kind in (ROWS, ROWS_HELD), kind in (WHOLE, ROWS)
        if cursor[1] < 0:
            apply_keys(memory, source, at)
        if kind == TUPLES:
            continue
        at += HEAD_WORDS + source[at + 2] * key_width + (source[at + 3] + 7) // 8
        first_number, begin, chunk = 2 * at, 0, 0
        at += (count + 1) // 2 if is_listed else 0
        if cursor[1] >= 0:
            begin, at, chunk = cursor[1], cursor[2], cursor[3]
            cursor[1] = -1
        for i in range(begin, count):
            local = np.int64(numbers[first_number + i]) if is_listed else i
            row = locate(row_table, slot, local, row_shift) + 1
            place, now = 2 * row * width + view[2], held(source, at, view)
            lacking = take(
                table,
                place,
                view,
                chunk,
                held(words, row * width, view),
                now,
                slot,
                nexts,
                ends,
                value_nulls,
                entry_nulls,
            )
            if lacking >= 0:
                cursor[0], cursor[1], cursor[2], cursor[3] = k, i, at, lacking
                cursor[4], cursor[5] = slot, view[4][lacking]
                return False
            chunk = 0
            for j in range(fixed):
                words[row * width + j] = source[at + j]
            settle(table, place, view, source[at + view[1]])
            at += fixed
            nulls_at = at + full * entry_width if is_full else at
            if has_nulls:
                for j in range(null_width):
                    nulls[row * null_width + j] = source[nulls_at + j]
            entries_at = at if is_full or not has_nulls else at + null_width
            end = copy_in(table, place, view, values, entry_width, now, source, entries_at)
            if has_nulls:
                null_entries_at = nulls_at + null_width if is_full else end
                end = copy_in(table, place, view, value_nulls, entry_nulls, now, source, null_entries_at)
            at = nulls_at + (null_width + full * all_entry_nulls if has_nulls else 0) if is_full else end
    return True


def _entries_of_ids(memory, chunks, ids, group_by_id, slot_by_id, entries):  # type: ignore[no-untyped-def]
    """Adds the entries of some keys to those of their slots."""
    words, width = memory[9], memory[10]
    for i in range(len(ids)):
        entries[slot_by_id[ids[i]]] += held(words, (np.int64(group_by_id[ids[i]]) + 1) * width, chunks[0])


def _entries_of_slots(memory, chunks, slots, entries):  # type: ignore[no-untyped-def]
    """The entries of all keys of slots."""
    fields, row_table, row_shift, words, width = memory[0], memory[1], memory[2], memory[9], memory[10]
    for k in range(len(slots)):
        entries[k] = 0
        for local in range(fields[KEYS, slots[k]]):
            entries[k] += held(words, (locate(row_table, slots[k], local, row_shift) + 1) * width, chunks[0])


@functools.cache
def compiled(name: str) -> Callable[..., Any]:
    """A kernel of this module by its name, compiled when it is first needed."""
    kernels: dict[str, Callable[..., Any]] = {
        "write": _write,
        "apply": _apply,
        "entries_of_ids": _entries_of_ids,
        "entries_of_slots": _entries_of_slots,
    }
    kernel: Callable[..., Any] = njit(nogil=True, cache=True)(kernels[name])
    return kernel


def apply_held(memory: HostMemory, source: Integers, starts: Integers) -> None:
    """Applies sections, and gives slots memory for chunks where they have none left."""
    assert memory.pool is not None
    cursor = np.array([0, -1, 0, 0, 0, 0], np.int64)
    while not compiled("apply")(memory.view(), memory.chunk_view(), source, starts, cursor):
        memory.pool.grow(int(cursor[4]), int(cursor[5]))
