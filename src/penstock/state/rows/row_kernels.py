"""Compiled loops over the memory of slots: listing keys, adding keys, finding groups.

Hot paths: what a task does to all its slots is one call; the obvious versions are dictionaries in the property tests.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba import njit

from penstock.state.extents import extent_end, locate
from penstock.state.memory.header import Field

KEYS = int(Field.KEYS)
TEXT = int(Field.TEXT)
ROWS_EVER = int(Field.ROWS_EVER)


def _read_text(table, slot, shift, text, start, stop, out, at):  # type: ignore[no-untyped-def]
    """Copies bytes [start, stop) of a slot's text to `out` from `at` on."""
    place = start
    while place < stop:
        end = min(extent_end(place, shift), stop)
        unit = locate(table, slot, place, shift)
        for j in range(end - place):
            out[at + j] = text[unit + j]
        at += end - place
        place = end


read_text: Any = njit(_read_text)


def _write_text(table, slot, shift, text, start, source, first, length):  # type: ignore[no-untyped-def]
    """Copies `length` bytes of `source` to a slot's text from `start` on."""
    done = 0
    while done < length:
        piece = min(extent_end(start + done, shift) - start - done, length - done)
        unit = locate(table, slot, start + done, shift)
        for j in range(piece):
            text[unit + j] = source[first + done + j]
        done += piece


write_text: Any = njit(_write_text)


def _new_row(memory, slot):  # type: ignore[no-untyped-def]
    """Gives a slot its next row, all zero, and the row's group; the key's words are still to come."""
    fields, row_table, row_shift, _, _, _, _, _, _, words, width, nulls, null_width = memory
    local = fields[KEYS, slot]
    group = locate(row_table, slot, local, row_shift)
    if local < fields[ROWS_EVER, slot]:
        for j in range(width):
            words[(group + 1) * width + j] = 0
        for j in range(null_width):
            nulls[(group + 1) * null_width + j] = 0
    fields[KEYS, slot] = local + 1
    return group


new_row: Any = njit(_new_row)


def _append_keys(memory, slots, keys, text, groups, locals_):  # type: ignore[no-untyped-def]
    """Lists encoded keys at the ends of their slots, for which there is room."""
    fields, _, _, text_table, text_shift, key_words, key_width, is_text, arena, _, _, _, _ = memory
    text_from = 0
    for i in range(len(slots)):
        slot = slots[i]
        locals_[i] = fields[KEYS, slot]
        group = new_row(memory, slot)
        groups[i] = group
        shift, text_to = fields[TEXT, slot] - text_from, text_from
        for j in range(key_width):
            word = keys[i, j]
            if is_text[j]:
                text_to = word
                word += shift
            key_words[(group + 1) * key_width + j] = word
        write_text(text_table, slot, text_shift, arena, fields[TEXT, slot], text, text_from, text_to - text_from)
        fields[TEXT, slot] += text_to - text_from
        text_from = text_to


def _read_keys(memory, slots, first, text_first, groups, locals_, keys, text):  # type: ignore[no-untyped-def]
    """The keys of slots from some number on, as if they had been encoded together."""
    fields, row_table, row_shift, text_table, text_shift, key_words, key_width, is_text, arena, _, _, _, _ = memory
    i = text_at = 0
    for k in range(len(slots)):
        slot = slots[k]
        for local in range(first[k], fields[KEYS, slot]):
            group = locate(row_table, slot, local, row_shift)
            groups[i], locals_[i] = group, local
            for j in range(key_width):
                word = key_words[(group + 1) * key_width + j]
                keys[i, j] = word + text_at - text_first[k] if is_text[j] else word
            i += 1
        read_text(text_table, slot, text_shift, arena, text_first[k], fields[TEXT, slot], text, text_at)
        text_at += fields[TEXT, slot] - text_first[k]


def _place(ids, group_by_id, is_touched, touched, count, groups):  # type: ignore[no-untyped-def]
    """The group of each row's key; notes each key once in `touched`.  Returns how many rows have no group yet."""
    missing, noted = 0, count[0]
    for i in range(len(ids)):
        key = ids[i]
        group = group_by_id[key]
        groups[i] = group
        if group < 0:
            missing += 1
        elif is_touched[key] == 0:
            is_touched[key] = 1
            touched[noted] = key
            noted += 1
    count[0] = noted
    return missing


def _by_section(ids, slot_by_id, local_by_id, section_by_slot, cursors, order, locals_):  # type: ignore[no-untyped-def]
    """Sorts ids by the section of their slot, in order; slots without a section (-1) are left out."""
    for i in range(len(ids)):
        section = section_by_slot[slot_by_id[ids[i]]]
        if section >= 0:
            place = cursors[section]
            cursors[section] = place + 1
            order[place] = i
            locals_[place] = local_by_id[ids[i]]


@functools.cache
def compiled(name: str) -> Callable[..., Any]:
    """A kernel of this module by its name, compiled when it is first needed."""
    kernels: dict[str, Callable[..., Any]] = {
        "append_keys": _append_keys,
        "read_keys": _read_keys,
        "place": _place,
        "by_section": _by_section,
    }
    kernel: Callable[..., Any] = njit(nogil=True, cache=True)(kernels[name])
    return kernel
