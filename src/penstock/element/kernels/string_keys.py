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

from penstock.element.column import ArrowColumn, CodedColumn
from penstock.element.kernels.integers import NO_MASK, Ids, readonly
from penstock.errors import InputError

_KEYS_AT_FIRST = 1 << 10
_BYTES_AT_FIRST = 1 << 14
_BYTES_MAX = 2**31 - 1
_DICTIONARIES_MAX = 64
_DICTIONARIES_COMPARED = 4
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_LONG = np.uint64(0xFF << 56)

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
            self._dictionary = pa.StringArray.from_buffers(pa.string(), self.count, buffers)
        return self._dictionary

    def assign(self, column: ArrowColumn | CodedColumn) -> Ids:
        ids = np.empty(len(column), np.int32)
        mask = NO_MASK if column.valid is None else np.ascontiguousarray(column.valid)
        if isinstance(column, CodedColumn):
            translation = self._translation(column.dictionary)
            codes = np.ascontiguousarray(column.codes)
            arguments = (codes, mask, translation.offsets, translation.text)
            self._run(_coded_kernel(), arguments, (translation.ids, ids), translation.offsets, codes)
        else:
            offsets, text = column.string_buffers()
            self._run(_plain_kernel(), (mask, offsets, text), (ids,), offsets, None)
        return ids

    def _run(
        self,
        kernel: Callable[..., int],
        inputs: tuple[Any, ...],
        outputs: tuple[Any, ...],
        offsets: Offsets,
        codes: Ids | None,
    ) -> None:
        """Calls a kernel until it has seen all rows, making room whenever it stops at one."""
        row, rows = 0, len(outputs[-1])
        while row < rows:
            row = kernel(*inputs, row, self._table, self._offsets, self._text, self._counts, *outputs)
            if row < rows:
                place = row if codes is None else codes[row]
                self._make_room(int(offsets[place + 1] - offsets[place]))

    def _make_room(self, length: int) -> None:
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
        self.offsets, self.text = ArrowColumn(dictionary).string_buffers()
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


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


@intrinsic
def _word_at(typing_context: Any, text: Any, place: Any) -> Any:
    """`_word_at(text, place)`: eight bytes of a byte array as one number, from any place; not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(text, place), generate


@njit(inline="always")
def _tag(text, start, length):  # type: ignore[no-untyped-def]
    """The tag of the string at a place; never reads past the array's end."""
    if length < 8:
        word = np.uint64(0)
        if start + 8 <= len(text):
            word = _word_at(text, start) & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
        else:
            for j in range(length):
                word |= np.uint64(text[start + j]) << np.uint64(8 * j)
        return word | (np.uint64(length) << np.uint64(56))
    state = np.uint64(length)
    for j in range(0, length - 7, 8):
        state = (state ^ _word_at(text, start + j)) * _MIX
        state ^= state >> np.uint64(32)
    state = (state ^ _word_at(text, start + length - 8)) * _MIX
    return (state ^ (state >> np.uint64(29))) | _LONG


@njit(inline="always")
def _equal(left, left_start, right, right_start, length):  # type: ignore[no-untyped-def]
    """Whether two strings of at least eight bytes are the same."""
    for j in range(0, length - 7, 8):
        if _word_at(left, left_start + j) != _word_at(right, right_start + j):
            return False
    return _word_at(left, left_start + length - 8) == _word_at(right, right_start + length - 8)


@njit(inline="always")
def _shift_of(table):  # type: ignore[no-untyped-def]
    shift = np.uint64(64)
    size = len(table)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    return shift


@njit(inline="always")
def _find_or_add(text, start, stop, shift, table, offsets, arena, counts):  # type: ignore[no-untyped-def]
    """The id + 1 of a string, or 0 where there is no room for a new one."""
    length = stop - start
    tag = _tag(text, start, length)
    last = np.uint64(len(table) - 1)
    place = ((tag ^ (tag >> np.uint64(32))) * _SPREAD) >> shift
    while table[place, 1] != 0:
        if np.uint64(table[place, 0]) == tag:
            if tag < _LONG:
                return table[place, 1]
            known = table[place, 1] - 1
            at = np.int64(offsets[known])
            if offsets[known + 1] - at == length and _equal(text, start, arena, at, length):
                return table[place, 1]
        place = (place + np.uint64(1)) & last
    used = np.int64(offsets[counts[0]])
    if counts[0] + 1 == len(offsets) or 2 * counts[0] >= len(table) or used + length > len(arena):
        return 0
    for j in range(length):
        arena[used + j] = text[start + j]
    counts[0] += 1
    offsets[counts[0]] = used + length
    table[place, 0] = np.int64(tag)
    table[place, 1] = counts[0]
    return counts[0]


@njit(inline="always")
def _null(offsets, counts):  # type: ignore[no-untyped-def]
    """The id + 1 of null, or 0 where there is no room for it; its text is empty."""
    if counts[1] == 0:
        if counts[0] + 1 == len(offsets):
            return 0
        offsets[counts[0] + 1] = offsets[counts[0]]
        counts[0] += 1
        counts[1] = counts[0]
    return counts[1]


def _assign_plain(valid, starts, text, first, table, offsets, arena, counts, ids):  # type: ignore[no-untyped-def]
    """Fills ids from row `first`; the row at which there was no room, or the number of rows."""
    shift = _shift_of(table)
    masked = len(valid) > 0
    for i in range(first, len(ids)):
        if masked and not valid[i]:
            found = _null(offsets, counts)
        else:
            start, stop = np.int64(starts[i]), np.int64(starts[i + 1])
            found = _find_or_add(text, start, stop, shift, table, offsets, arena, counts)
        if found == 0:
            return i
        ids[i] = found - 1
    return len(ids)


def _assign_coded(codes, valid, starts, text, first, table, offsets, arena, counts, known, ids):  # type: ignore[no-untyped-def]
    """The same for codes; `known` is the id + 1 of each code, 0 until it first appears."""
    shift = _shift_of(table)
    masked = len(valid) > 0
    for i in range(first, len(ids)):
        if masked and not valid[i]:
            found = _null(offsets, counts)
        else:
            code = codes[i]
            found = np.int64(known[code])
            if found == 0:
                start, stop = np.int64(starts[code]), np.int64(starts[code + 1])
                found = _find_or_add(text, start, stop, shift, table, offsets, arena, counts)
                known[code] = found
        if found == 0:
            return i
        ids[i] = found - 1
    return len(ids)


def _move(old, new):  # type: ignore[no-untyped-def]
    """Puts the entries of one table into a bigger one."""
    shift, last = _shift_of(new), np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1] != 0:
            tag = np.uint64(old[i, 0])
            place = ((tag ^ (tag >> np.uint64(32))) * _SPREAD) >> shift
            while new[place, 1] != 0:
                place = (place + np.uint64(1)) & last
            new[place, 0] = old[i, 0]
            new[place, 1] = old[i, 1]


_STRINGS = (readonly(types.boolean), readonly(types.int32), readonly(types.uint8), types.int64)
_TABLES = (types.int64[:, ::1], types.int32[::1], types.uint8[::1], types.int64[::1])


@functools.cache
def _plain_kernel() -> Callable[..., int]:
    signature = types.int64(*_STRINGS, *_TABLES, types.int32[::1])
    kernel: Callable[..., int] = njit(signature, nogil=True, cache=True)(_assign_plain)
    return kernel


@functools.cache
def _coded_kernel() -> Callable[..., int]:
    signature = types.int64(readonly(types.int32), *_STRINGS, *_TABLES, types.int32[::1], types.int32[::1])
    kernel: Callable[..., int] = njit(signature, nogil=True, cache=True)(_assign_coded)
    return kernel


@functools.cache
def _move_kernel() -> Callable[..., None]:
    tables = types.int64[:, ::1]
    kernel: Callable[..., None] = njit(types.void(tables, tables), nogil=True, cache=True)(_move)
    return kernel
