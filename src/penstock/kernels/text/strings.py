"""Kernels over UTF-8 strings as Arrow keeps them: offsets and bytes; null rows have any length."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from penstock.kernels.text import calendar, scalars

_options: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
_MONTHS = np.frombuffer(b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", np.uint8).copy()


def _load(bits: int, result: Any) -> Any:
    """The function (bytes, index) -> word for so many bits, at any address; the caller keeps within the array.

    Arrays have no such load; strings compared by words take 1 ns a row, not 3-11.
    """

    @intrinsic
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(view.data, [arguments[1]])
            word = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()))
            word.align = 1
            return word

        return result(array, types.intp), codegen

    return load


load8 = _load(64, types.uint64)
load4 = _load(32, types.uint32)


@njit(**_options)
def equal_to(offsets, text, wanted):  # type: ignore[no-untyped-def]
    """Whether each string equals one; a string of the right length is read by words that may overlap."""
    rows, size = len(offsets) - 1, len(wanted)
    equal = np.empty(rows, np.bool_)
    for row in range(rows):
        equal[row] = offsets[row + 1] - offsets[row] == size
    if size >= 8:
        _keep_long(offsets, text, wanted, equal)
    elif size >= 4:
        head, tail = load4(wanted, 0), load4(wanted, size - 4)
        for row in range(rows):
            if equal[row]:
                start = offsets[row]
                equal[row] = (load4(text, start) == head) & (load4(text, start + size - 4) == tail)
    else:
        for row in range(rows):
            for place in range(size if equal[row] else 0):
                equal[row] &= text[offsets[row] + place] == wanted[place]
    return equal


@njit(**_options)
def _keep_long(offsets, text, wanted, equal):  # type: ignore[no-untyped-def]
    """Clears `equal` where a string of the right length, at least 8 bytes, differs."""
    size = len(wanted)
    head, tail = load8(wanted, 0), load8(wanted, size - 8)
    for row in range(len(equal)):
        if not equal[row]:
            continue
        start = offsets[row]
        same = (load8(text, start) == head) & (load8(text, start + size - 8) == tail)
        place = 8
        while same and place < size - 8:
            same = load8(text, start + place) == load8(wanted, place)
            place += 8
        equal[row] = same


@njit(**_options)
def characters_up_to(offsets, text, sizes):  # type: ignore[no-untyped-def]
    """How many characters start within the first so many bytes of each string; -1 where the size is negative."""
    counts = np.empty(len(sizes), np.int64)
    for row in range(len(sizes)):
        count = -1 if sizes[row] < 0 else 0
        for place in range(offsets[row], offsets[row] + max(sizes[row], 0)):
            count += text[place] & 0xC0 != 0x80
        counts[row] = count
    return counts


@njit(**_options)
def part_bounds(offsets, text, first, count):  # type: ignore[no-untyped-def]
    """Byte bounds of `count` characters from character `first` (from 1) of each string, cut to the string."""
    rows = len(offsets) - 1
    starts, stops = np.empty(rows, np.int32), np.empty(rows, np.int32)
    for row in range(rows):
        begin = max(first[row], 1)
        # the count runs from the first position even where that lies before the string
        until = first[row] + count[row] if count[row] < (1 << 62) and first[row] < (1 << 62) else np.int64(1 << 62)
        character, start, stop = np.int64(0), offsets[row + 1], offsets[row + 1]
        for place in range(offsets[row], offsets[row + 1]):
            character += text[place] & 0xC0 != 0x80
            if character >= until:
                stop = np.int32(place)
                break
            if character == begin and start == offsets[row + 1]:
                start = np.int32(place)
        starts[row], stops[row] = min(start, stop), stop
    return starts, stops


@njit(**_options)
def cut(starts, stops, text):  # type: ignore[no-untyped-def]
    """Offsets and bytes of the parts between the given bounds."""
    rows = len(starts)
    offsets = np.zeros(rows + 1, np.int32)
    for row in range(rows):
        offsets[row + 1] = offsets[row] + stops[row] - starts[row]
    copied = np.empty(offsets[rows], np.uint8)
    for row in range(rows):
        for step in range(stops[row] - starts[row]):
            copied[offsets[row] + step] = text[starts[row] + step]
    return offsets, copied


@njit(**_options)
def _digits(text, place, stop, most):  # type: ignore[no-untyped-def]
    """The number at a place and where it ends; it ends where it starts when there is none."""
    value, start = np.int64(0), place
    while place < stop and place - start < most and 48 <= text[place] <= 57:
        value = value * 10 + (text[place] - 48)
        place += 1
    return value, place


@njit(**_options)
def _month_named(text, place, stop):  # type: ignore[no-untyped-def]
    """1 to 12 for three letters of a month, 0 for anything else."""
    if place + 3 > stop:
        return 0
    for month in range(12):
        if (
            text[place] & 0xDF == _MONTHS[3 * month]
            and text[place + 1] & 0xDF == _MONTHS[3 * month + 1]
            and text[place + 2] & 0xDF == _MONTHS[3 * month + 2]
        ):
            return month + 1
    return 0


@njit(**_options)
def _date(text, place, stop):  # type: ignore[no-untyped-def]
    """(days since 1970, whether the text is 'DD-MON-YYYY' or 'YYYY-MM-DD')."""
    first, dash = _digits(text, place, stop, 4)
    size = dash - place
    if size == 0 or dash >= stop or text[dash] != 45:
        return np.int64(0), False
    if size == 4:
        year, (month, dash) = first, _digits(text, dash + 1, stop, 2)
        if dash >= stop or text[dash] != 45:
            return np.int64(0), False
        day, end = _digits(text, dash + 1, stop, 2)
    else:
        day, month = first, np.int64(_month_named(text, dash + 1, stop))
        if month == 0 or size > 2 or dash + 4 >= stop or text[dash + 4] != 45:
            return np.int64(0), False
        year, end = _digits(text, dash + 5, stop, 4)
        if end != dash + 9:
            return np.int64(0), False
    if end != stop or not 1 <= month <= 12 or not 1 <= day <= scalars.days_in_month(year, month):
        return np.int64(0), False
    return scalars.days_of(year, month, day), True


@njit(**_options)
def _time(text, place, stop):  # type: ignore[no-untyped-def]
    """(microseconds since midnight, whether the text is 'hh:mm:ss' with up to six digits of a fraction)."""
    hour, end = _digits(text, place, stop, 2)
    if end == place or end >= stop or text[end] != 58:
        return np.int64(0), False
    minute, after = _digits(text, end + 1, stop, 2)
    if after == end + 1 or after >= stop or text[after] != 58:
        return np.int64(0), False
    second, end = _digits(text, after + 1, stop, 2)
    if end == after + 1 or hour > 23 or minute > 59 or second > 59:
        return np.int64(0), False
    fraction = np.int64(0)
    if end < stop and text[end] == 46:
        point = end
        fraction, end = _digits(text, point + 1, stop, 6)
        if end == point + 1:
            return np.int64(0), False
        for _ in range(6 - (end - point - 1)):
            fraction *= 10
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction, end == stop


@njit(**_options)
def moments_of(date_offsets, date_text, time_offsets, time_text):  # type: ignore[no-untyped-def]
    """(microseconds since 1970, whether both could be read) of dates and times, row by row."""
    rows = len(date_offsets) - 1
    values, good = np.empty(rows, np.int64), np.empty(rows, np.bool_)
    for row in range(rows):
        days, date_is_good = _date(date_text, date_offsets[row], date_offsets[row + 1])
        rest, time_is_good = _time(time_text, time_offsets[row], time_offsets[row + 1])
        good[row] = date_is_good and time_is_good
        values[row] = days * calendar.DAY + rest if good[row] else 0
    return values, good
