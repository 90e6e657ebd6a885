"""Hashes of keys that are the same on every host, in every run and however a column is held."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit, types

from penstock.block.column import Array, ArrowColumn, Column, FixedColumn, WordColumn, column_of
from penstock.kernels.keys.integer_keys import NO_MASK, readonly

Hashes = npt.NDArray[np.uint64]
Slots = npt.NDArray[np.int32]

_NAN_BITS = np.float64(np.nan).view(np.int64)
# Multipliers and shifts of the splitmix64 finaliser, and the golden ratio; checkpoints depend on every one of them.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_NULL = np.uint64(0xA0761D6478BD642F)
_TEXT = np.uint64(0xCBF29CE484222325)
_TEXT_PRIME = np.uint64(0x100000001B3)


def hash_columns(columns: tuple[Column, ...] | list[Column], rows: int) -> Hashes:
    """One hash per row over all columns; null hashes as null, NaN as NaN, -0.0 as 0.0, a coded string as its text."""
    hashes: Hashes = np.zeros(rows, np.uint64)
    for column in columns:
        _add(column, hashes)
    return hashes


def slots_of_hashes(hashes: Hashes, slots: int) -> Slots:
    """The slot of each hash: its high half, scaled down to the number of slots."""
    scaled: Slots = (((hashes >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32)).astype(np.int32)
    return scaled


def key_bits(values: Array) -> npt.NDArray[np.int64]:
    """Numbers of any type as int64 that are equal where the keys are."""
    if values.dtype.kind == "f":
        bits: npt.NDArray[np.int64] = (values.astype(np.float64) + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
        bits[np.isnan(values)] = _NAN_BITS
        return bits
    if values.dtype == np.uint64:
        return np.ascontiguousarray(values).view(np.int64)
    return np.ascontiguousarray(values, np.int64)


def _add(column: Column, hashes: Hashes) -> None:
    if isinstance(column, WordColumn):
        column = column.coded
    mask = NO_MASK if column.valid is None else np.ascontiguousarray(column.valid)
    if isinstance(column, FixedColumn):
        _numbers_kernel()(key_bits(column.values), mask, hashes)
    elif isinstance(column, ArrowColumn) and pa.types.is_list(column.type):
        lengths = pc.list_value_length(column.array).fill_null(0).to_numpy()
        values = column_of(column.array.flatten())
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        _lists_kernel()(offsets, hash_columns([values], len(values)), mask, hashes)
    elif isinstance(column, ArrowColumn):
        _texts_kernel()(*column.string_buffers(), mask, hashes)
    elif len(column.dictionary) > len(column):
        _add(ArrowColumn(column.to_arrow().cast("string")), hashes)
    else:
        by_code: Hashes = np.zeros(len(column.dictionary), np.uint64)
        _text_hashes_kernel()(*ArrowColumn(column.dictionary).string_buffers(), by_code)
        _codes_kernel()(np.ascontiguousarray(column.codes), by_code, mask, hashes)


def _mixed(state):  # type: ignore[no-untyped-def]
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


_mix: Any = njit(_mixed)


def _text_hash(text, start, stop):  # type: ignore[no-untyped-def]
    """Eight bytes a step, FNV's way: mix in by exclusive or, then multiply."""
    state = _TEXT ^ np.uint64(stop - start)
    place = start
    while place + 8 <= stop:
        word = np.uint64(0)
        for j in range(8):
            word |= np.uint64(text[place + j]) << np.uint64(8 * j)
        state = (state ^ word) * _TEXT_PRIME
        state ^= state >> np.uint64(32)
        place += 8
    word = np.uint64(0)
    for j in range(stop - place):
        word |= np.uint64(text[place + j]) << np.uint64(8 * j)
    return _mix((state ^ word) * _TEXT_PRIME)


_hash_text: Any = njit(_text_hash)


def _combined(so_far, part):  # type: ignore[no-untyped-def]
    return _mix(so_far * _TEXT_PRIME + part + _GOLDEN)


_combine: Any = njit(_combined)


def _add_numbers(values, valid, hashes):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(values)):
        part = _NULL if masked and not valid[i] else np.uint64(values[i])
        hashes[i] = _combine(hashes[i], part)


def _add_texts(offsets, text, valid, hashes):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(hashes)):
        part = _NULL if masked and not valid[i] else _hash_text(text, np.int64(offsets[i]), np.int64(offsets[i + 1]))
        hashes[i] = _combine(hashes[i], part)


def _text_hashes(offsets, text, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(hashes)):
        hashes[i] = _hash_text(text, np.int64(offsets[i]), np.int64(offsets[i + 1]))


def _add_lists(offsets, values, valid, hashes):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(hashes)):
        part = np.uint64(offsets[i + 1] - offsets[i])
        for j in range(offsets[i], offsets[i + 1]):
            part = _combine(part, values[j])
        hashes[i] = _combine(hashes[i], _NULL if masked and not valid[i] else part)


def _add_codes(codes, by_code, valid, hashes):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(codes)):
        part = _NULL if masked and not valid[i] else by_code[codes[i]]
        hashes[i] = _combine(hashes[i], part)


_MASK = readonly(types.boolean)
_TEXTS = (readonly(types.int32), readonly(types.uint8))
_HASHES = types.uint64[::1]


@functools.cache
def _numbers_kernel() -> Callable[..., None]:
    return _compiled(types.void(readonly(types.int64), _MASK, _HASHES), _add_numbers)


@functools.cache
def _texts_kernel() -> Callable[..., None]:
    return _compiled(types.void(*_TEXTS, _MASK, _HASHES), _add_texts)


@functools.cache
def _text_hashes_kernel() -> Callable[..., None]:
    return _compiled(types.void(*_TEXTS, _HASHES), _text_hashes)


@functools.cache
def _lists_kernel() -> Callable[..., None]:
    return _compiled(types.void(readonly(types.int64), _HASHES, _MASK, _HASHES), _add_lists)


@functools.cache
def _codes_kernel() -> Callable[..., None]:
    return _compiled(types.void(readonly(types.int32), _HASHES, _MASK, _HASHES), _add_codes)


def _compiled(signature: Any, function: Callable[..., None]) -> Callable[..., None]:
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True)(function)
    return kernel
