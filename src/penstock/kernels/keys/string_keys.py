"""Dense ids of strings, whether they come as text or as codes into a dictionary.

A string of up to seven bytes is its own tag: its bytes, and its length in the top byte.  Of a longer one the tag is a
hash with a top byte that no length has, so only longer ones are ever compared byte by byte.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from penstock.block.column import ArrowColumn, CodedColumn, WordColumn
from penstock.errors import InputError
from penstock.kernels.keys.integer_keys import NO_MASK, Ids, readonly

_KEYS_AT_FIRST = 1 << 10
_BYTES_AT_FIRST = 1 << 14
_BYTES_MAX = 2**31 - 1
_WORD_BYTES = 8
_DICTIONARIES_MAX = 64
_DICTIONARIES_COMPARED = 4
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_LONG = np.uint64(0xFF << 56)

_NO_CODES: Ids = np.zeros(0, np.int32)

Offsets = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


class StringKeys:
    """Gives each distinct string (and null) an id: 0, 1, 2, ... in order of first appearance in the stream."""

    def __init__(self) -> None:
        self._table = np.zeros((2 * _KEYS_AT_FIRST, 2), np.int64)  # tag, id + 1
        self._offsets: Offsets = np.zeros(_KEYS_AT_FIRST + 1, np.int32)
        self._text: Bytes = np.zeros(_BYTES_AT_FIRST, np.uint8)
        self._counts = np.zeros(2, np.int64)  # keys, id + 1 of null
        self._translations: dict[int, _Translation] = {}
        self._dictionary: pa.Array = pa.array([], pa.string())

    @property
    def count(self) -> int:
        return int(self._counts[0])

    @property
    def null_id(self) -> int | None:
        return int(self._counts[1]) - 1 if self._counts[1] else None

    @property
    def state_bytes(self) -> int:
        translations = sum(t.ids.nbytes for t in self._translations.values())
        return self._table.nbytes + self._offsets.nbytes + self._text.nbytes + translations

    @property
    def dictionary(self) -> pa.Array:
        """The string of each id (null's is empty), over the keys' own memory; the same object until there are more."""
        if len(self._dictionary) != self.count:
            buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._text)]
            self._dictionary = pa.Array.from_buffers(pa.string(), self.count, buffers)
        return self._dictionary

    def assign(self, column: ArrowColumn | CodedColumn) -> Ids:
        """The id of each row's string."""
        if isinstance(column, WordColumn) and len(column.coded.dictionary) <= len(column):
            column = column.coded
        ids = np.empty(len(column), np.int32)
        mask = NO_MASK if column.valid is None else np.ascontiguousarray(column.valid)
        if isinstance(column, CodedColumn):
            known = self._translation(column.dictionary)
            codes, offsets, text, known_ids = np.ascontiguousarray(column.codes), known.offsets, known.text, known.ids
        else:
            offsets, text = _buffers(column)
            codes = known_ids = _NO_CODES
        kernel, row = _kernel(), 0
        while row < len(ids):
            tables = (self._table, self._offsets, self._text, self._counts)
            row = kernel(codes, mask, offsets, text, row, *tables, known_ids, ids)
            if row < len(ids):
                place = row if codes is _NO_CODES else codes[row]
                self._reserve(int(offsets[place + 1] - offsets[place]))
        return ids

    def _reserve(self, length: int) -> None:
        """Doubles whatever lacks room for one more key of this length; what `dictionary` gave stays as it was."""
        if self.count + 1 == len(self._offsets):
            self._offsets = _longer(self._offsets, 2 * self.count + 1)
        if 2 * self.count >= len(self._table):
            table = np.zeros((2 * len(self._table), 2), np.int64)
            _move_kernel()(self._table, table)
            self._table = table
        needed = int(self._offsets[self.count]) + length
        if needed > _BYTES_MAX:
            raise InputError(f"the distinct keys of one column may have 2 GiB of text; got {self.count} keys and more")
        if needed > len(self._text):
            self._text = _longer(self._text, min(max(needed, 2 * len(self._text)), _BYTES_MAX))

    def _translation(self, dictionary: pa.Array) -> _Translation:
        """What is known of a dictionary, by its identity; a copy or a longer version takes over what it can."""
        known = self._translations.get(id(dictionary))
        if known is None:
            known = _Translation(dictionary)
            recent = itertools.islice(reversed(self._translations.values()), _DICTIONARIES_COMPARED)
            any(known.take_over(earlier) for earlier in recent)
            if len(self._translations) >= _DICTIONARIES_MAX:
                del self._translations[next(iter(self._translations))]
            self._translations[id(dictionary)] = known
        return known


class _Translation:
    """A dictionary, kept alive so that its identity stays its own, with the id + 1 of each code seen so far."""

    __slots__ = ("dictionary", "ids", "offsets", "text")

    def __init__(self, dictionary: pa.Array) -> None:
        self.dictionary = dictionary
        self.offsets, self.text = _buffers(ArrowColumn(dictionary))
        self.ids: Ids = np.zeros(len(dictionary), np.int32)

    def take_over(self, earlier: _Translation) -> bool:
        """Copies the ids of another dictionary whose strings this one begins with."""
        length = len(earlier.ids)
        if length == 0 or length > len(self.ids):
            return False
        # Unsliced, so that Arrow sees at once that two are the same memory.
        beginning = self.dictionary if length == len(self.ids) else self.dictionary.slice(0, length)
        if not beginning.equals(earlier.dictionary):
            return False
        self.ids[:length] = earlier.ids
        return True


def _buffers(column: ArrowColumn) -> tuple[Offsets, Bytes]:
    """Offsets and text, the latter of at least one word."""
    offsets, text = column.string_buffers()
    return offsets, text if len(text) >= _WORD_BYTES else _longer(text, _WORD_BYTES)


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def _generate_word_at(typing_context: Any, address: Any) -> Any:
    """`_word_at(address)`: the eight bytes there as one number; the address need not be aligned, and is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)

    return types.uint64(address), generate


_word_at: Any = intrinsic(_generate_word_at)


# The functions below take addresses, not arrays: numba would count references to each array at every call.
@njit(forceinline=True)
def _tag(address, readable, length):  # type: ignore[no-untyped-def]
    """The tag of the string at an address, after which there are `readable` bytes; never reads further."""
    if length < 8:
        word = np.uint64(0)
        if readable >= 8:
            word = _word_at(address)
        elif length > 0:
            # The word that ends with the text; the text has at least eight bytes.
            word = _word_at(address + readable - 8) >> np.uint64(8 * (8 - readable))
        word &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
        return word | (np.uint64(length) << np.uint64(56))
    state = np.uint64(length)
    for j in range(0, length - 7, 8):
        state = (state ^ _word_at(address + j)) * _MIX
        state ^= state >> np.uint64(32)
    state = (state ^ _word_at(address + length - 8)) * _MIX
    return (state ^ (state >> np.uint64(29))) | _LONG


@njit(forceinline=True)
def _equal(left, right, length):  # type: ignore[no-untyped-def]
    """Whether the strings of at least eight bytes at two addresses are the same."""
    for j in range(0, length - 7, 8):
        if _word_at(left + j) != _word_at(right + j):
            return False
    return _word_at(left + length - 8) == _word_at(right + length - 8)


@njit(forceinline=True)
def _place_of(tag, size):  # type: ignore[no-untyped-def]
    """Where in a table of 2^n entries the search for a tag begins."""
    spread = (tag ^ (tag >> np.uint64(32))) * _SPREAD
    return (spread >> np.uint64(32)) & np.uint64(size - 1)


def _assign(codes, valid, starts, text, first, table, offsets, arena, counts, known, ids):  # type: ignore[no-untyped-def]
    """Fills ids from row `first`; the row at which there was no room for a new key, or the number of rows.

    Without codes, row i has the i-th string; with codes, that of its code, and `known` the id + 1 of each code, or 0
    until it first appears.
    """
    masked, coded = len(valid) > 0, len(codes) > 0
    text_at, arena_at = np.int64(text.ctypes.data), np.int64(arena.ctypes.data)
    last = np.uint64(len(table) - 1)
    for i in range(first, len(ids)):
        if masked and not valid[i]:
            if counts[1] == 0:
                if counts[0] + 1 == len(offsets):
                    return i
                counts[0] += 1
                offsets[counts[0]] = offsets[counts[0] - 1]
                counts[1] = counts[0]
            ids[i] = counts[1] - 1
            continue
        row = np.int64(i)
        if coded:
            row = np.int64(codes[i])
            if known[row] != 0:
                ids[i] = known[row] - 1
                continue
        start = np.int64(starts[row])
        length = np.int64(starts[row + 1]) - start
        tag = _tag(text_at + start, len(text) - start, length)
        place = _place_of(tag, len(table))
        found = np.int64(0)
        while table[place, 1] != 0:
            if np.uint64(table[place, 0]) == tag:
                found = table[place, 1]
                if tag < _LONG:
                    break
                at = np.int64(offsets[found - 1])
                if offsets[found] - at == length and _equal(text_at + start, arena_at + at, length):
                    break
                found = np.int64(0)
            place = (place + np.uint64(1)) & last
        if found == 0:
            used = np.int64(offsets[counts[0]])
            if counts[0] + 1 == len(offsets) or 2 * counts[0] >= len(table) or used + length > len(arena):
                return i
            for j in range(length):
                arena[used + j] = text[start + j]
            counts[0] += 1
            found = counts[0]
            offsets[found] = used + length
            table[place, 0] = np.int64(tag)
            table[place, 1] = found
        if coded:
            known[row] = found
        ids[i] = found - 1
    return len(ids)


def _move(old, new):  # type: ignore[no-untyped-def]
    """Puts the entries of one table into a bigger one."""
    last = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1] != 0:
            place = _place_of(np.uint64(old[i, 0]), len(new))
            while new[place, 1] != 0:
                place = (place + np.uint64(1)) & last
            new[place, 0] = old[i, 0]
            new[place, 1] = old[i, 1]


@functools.cache
def _kernel() -> Callable[..., int]:
    strings = (readonly(types.int32), readonly(types.boolean), readonly(types.int32), readonly(types.uint8))
    tables = (types.int64[:, ::1], types.int32[::1], types.uint8[::1], types.int64[::1])
    signature = types.int64(*strings, types.int64, *tables, types.int32[::1], types.int32[::1])
    kernel: Callable[..., int] = njit(signature, nogil=True, cache=True)(_assign)
    return kernel


@functools.cache
def _move_kernel() -> Callable[..., None]:
    tables = types.int64[:, ::1]
    kernel: Callable[..., None] = njit(types.void(tables, tables), nogil=True, cache=True)(_move)
    return kernel
