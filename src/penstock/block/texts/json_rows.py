"""Many rows as JSON text in one loop: 5 attributes take some 240 ns a row, 0.4 of what Arrow's functions take.

`row_texts.py` says what the texts are; its functions on Arrow arrays are what this must equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

INTEGER, DECIMAL, MOMENT, TEXT, JSON, FLAG = range(6)
_NOT_DECIMAL = -1
_MOST_DECIMALS = 9
_MOST_DIGITS = 10**15  # doubles tell all decimals of 15 digits apart, so the shortest text is the one that is found
_LOWEST_PLAIN = 1e-4  # below it Python writes an exponent
_POWERS = 10.0 ** np.arange(_MOST_DECIMALS + 1)
_WIDEST = 40  # bytes of a number or of a moment, with its quotes and zone
_MOST_BYTES = 2**31 - 1
_DAY_US = 86_400_000_000
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_NULL = np.frombuffer(b"null", np.uint8)
_FLAGS = np.frombuffer(b"falsetrue", np.uint8)
_SHORT_ESCAPES = np.zeros(128, np.uint8)  # the letter behind the backslash
for _plain, _letter in zip(b'"\\\n\r\t\f\b', b'"\\nrtfb', strict=True):
    _SHORT_ESCAPES[_plain] = _letter


@dataclass(frozen=True, slots=True)
class JsonColumn:
    """The values of one attribute as one of the kinds above.

    `numbers` are integers, moments in microseconds, flags, or the digits of decimals, of which `scales` says how many
    stand behind the point.  `texts` are UTF-8, JSON already or still to be quoted; of decimals those that have none.
    """

    kind: int
    valid: npt.NDArray[np.bool_] | None = None
    numbers: Integers | None = None
    scales: npt.NDArray[np.int8] | None = None
    texts: pa.Array | None = None
    suffix: bytes = b""


def json_rows(names: Sequence[str], columns: Sequence[JsonColumn], rows: int) -> pa.Array | None:
    """Each row as JSON text; `names` are JSON texts.  None where an Arrow array of strings has no room for them all."""
    labels = [f"{', ' if place else '{'}{name}: ".encode() for place, name in enumerate(names)]
    label_ends = np.cumsum([0, *map(len, labels)])
    suffixes = [column.suffix for column in columns]
    suffix_ends = np.cumsum([0, *map(len, suffixes)])
    count = len(columns)
    numbers, scales = np.zeros((count, rows), np.int64), np.zeros((count, rows), np.int8)
    valid, offsets = np.ones((count, rows), np.bool_), np.zeros((count, rows + 1), np.int64)
    data, total = list[Bytes](), 0
    for place, column in enumerate(columns):
        if column.numbers is not None:
            numbers[place] = column.numbers
        if column.scales is not None:
            scales[place] = column.scales
        if column.valid is not None:
            valid[place] = column.valid
        if column.texts is not None:
            own, own_data = _parts(column.texts)
            offsets[place] = own + (total - own[0])
            data.append(own_data[own[0] : own[-1]])
            total += len(data[-1])
    kinds = np.array([column.kind for column in columns], np.int8)
    texts = data[0] if len(data) == 1 else np.concatenate([np.empty(0, np.uint8), *data])
    out, ends = _rows(kinds, numbers, scales, valid, texts, offsets,
                      _bytes(labels), label_ends, _bytes(suffixes), suffix_ends)  # fmt: skip
    if ends[-1] > _MOST_BYTES:
        return None
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(out)])


def decimals(values: npt.NDArray[np.float64]) -> tuple[Integers, npt.NDArray[np.int8]]:
    """The digits of floats and how many of them stand behind the point; -1 where they are not that short."""
    digits, scales = _decimals(values)
    return digits, scales


def _parts(texts: pa.Array) -> tuple[Integers, Bytes]:
    """Where each text ends, and the bytes of all."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return ends.astype(np.int64), np.frombuffer(data or b"", np.uint8)


def _bytes(texts: Sequence[bytes]) -> Bytes:
    return np.frombuffer(b"".join(texts) or b" ", np.uint8)


@nb.njit(nogil=True, cache=True)
def _decimals(values):  # type: ignore[no-untyped-def]
    digits, scales = np.zeros(values.shape[0], np.int64), np.full(values.shape[0], _NOT_DECIMAL, np.int8)
    for row in range(values.shape[0]):
        value = values[row]
        size = abs(value)
        if not ((size >= _LOWEST_PLAIN and size < _MOST_DIGITS) or (value == 0 and not np.signbit(value))):
            continue
        for scale in range(_MOST_DECIMALS + 1):
            shifted = np.floor(size * _POWERS[scale] + 0.5)
            if shifted >= _MOST_DIGITS:
                break
            if shifted / _POWERS[scale] == size:  # both are exact, so the quotient is the float nearest to the decimal
                digits[row], scales[row] = (shifted if value >= 0 else -shifted), scale
                break
    return digits, scales


@nb.njit(nogil=True, cache=True)
def _rows(kinds, numbers, scales, valid, texts, offsets, labels, label_ends, suffixes, suffix_ends):  # type: ignore[no-untyped-def]
    columns, rows = numbers.shape
    fixed = label_ends[columns] + columns * _WIDEST + suffix_ends[columns] + 2
    out = np.empty(rows * (label_ends[columns] + columns * 12) + texts.shape[0] + fixed, np.uint8)
    ends = np.zeros(rows + 1, np.int64)
    at = 0
    for row in range(rows):
        needed = fixed
        for column in range(columns):
            needed += 6 * (offsets[column, row + 1] - offsets[column, row])
        if at + needed > out.shape[0]:
            wider = np.empty(2 * out.shape[0] + needed, np.uint8)
            wider[:at] = out[:at]
            out = wider
        for column in range(columns):
            at = _copied(out, at, labels, label_ends[column], label_ends[column + 1])
            kind, number = kinds[column], numbers[column, row]
            start, stop = offsets[column, row], offsets[column, row + 1]
            if not valid[column, row]:
                at = _copied(out, at, _NULL, 0, 4)
            elif kind == TEXT:
                at = _quoted(out, at, texts, start, stop)
            elif kind == JSON or (kind == DECIMAL and scales[column, row] == _NOT_DECIMAL):
                at = _copied(out, at, texts, start, stop)
            elif kind == DECIMAL:
                at = _decimal(out, at, number, scales[column, row])
            elif kind == INTEGER:
                at = _integer(out, at, number)
            elif kind == FLAG:
                at = _copied(out, at, _FLAGS, 5 if number else 0, 9 if number else 5)
            else:
                at = _moment(out, at, number, suffixes, suffix_ends[column], suffix_ends[column + 1])
        out[at] = 125  # }
        at += 1
        ends[row + 1] = at
    return out[:at], ends


@nb.njit(nogil=True, cache=True)
def _copied(out, at, data, start, stop):  # type: ignore[no-untyped-def]
    for place in range(start, stop):
        out[at] = data[place]
        at += 1
    return at


@nb.njit(nogil=True, cache=True)
def _quoted(out, at, data, start, stop):  # type: ignore[no-untyped-def]
    out[at] = 34
    at += 1
    for place in range(start, stop):
        letter = data[place]
        if letter >= 32 and letter != 34 and letter != 92:
            out[at] = letter
            at += 1
            continue
        out[at] = 92
        short = _SHORT_ESCAPES[letter]
        if short:
            out[at + 1] = short
            at += 2
            continue
        out[at + 1], out[at + 2], out[at + 3] = 117, 48, 48  # u00
        out[at + 4], out[at + 5] = _HEX[letter >> 4], _HEX[letter & 15]
        at += 6
    out[at] = 34
    return at + 1


@nb.njit(nogil=True, cache=True)
def _integer(out, at, number):  # type: ignore[no-untyped-def]
    left = np.uint64(number)
    if number < 0:
        out[at] = 45
        at += 1
        left = ~left + np.uint64(1)
    digits, probe = 1, left
    while probe >= np.uint64(10):
        probe //= np.uint64(10)
        digits += 1
    return _padded(out, at, left, digits)


@nb.njit(nogil=True, cache=True)
def _padded(out, at, number, digits):  # type: ignore[no-untyped-def]
    """So many digits of a number that is not negative."""
    left = np.uint64(number)
    for place in range(at + digits - 1, at - 1, -1):
        rest = left // np.uint64(10)
        out[place] = np.uint8(48 + (left - rest * np.uint64(10)))
        left = rest
    return at + digits


@nb.njit(nogil=True, cache=True)
def _decimal(out, at, number, scale):  # type: ignore[no-untyped-def]
    if number < 0:
        out[at] = 45
        at += 1
        number = -number
    power = 1
    for _ in range(scale):
        power *= 10
    whole = number // power
    at = _integer(out, at, whole)
    out[at] = 46
    return _padded(out, at + 1, number - whole * power, max(scale, 1))


@nb.njit(nogil=True, cache=True)
def _moment(out, at, moment_us, suffixes, start, stop):  # type: ignore[no-untyped-def]
    """A moment of the years 1000 to 9999, as Python's `str` writes it, in quotes."""
    day = moment_us // _DAY_US
    time_us = moment_us - day * _DAY_US
    # days since 0000-03-01 by eras of 400 years; March is month 0
    shifted = day + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    out[at] = 34
    at = _padded(out, at + 1, year_of_era + era * 400 + (1 if month >= 10 else 0), 4)
    out[at] = 45
    at = _padded(out, at + 1, month + 3 if month < 10 else month - 9, 2)
    out[at] = 45
    at = _padded(out, at + 1, of_year - (153 * month + 2) // 5 + 1, 2)
    second = time_us // 1_000_000
    fraction = time_us - second * 1_000_000
    minute = second // 60
    hour = minute // 60
    out[at] = 32
    at = _padded(out, at + 1, hour, 2)
    out[at] = 58
    at = _padded(out, at + 1, minute - hour * 60, 2)
    out[at] = 58
    at = _padded(out, at + 1, second - minute * 60, 2)
    if fraction:
        out[at] = 46
        at = _padded(out, at + 1, fraction, 6)
    at = _copied(out, at, suffixes, start, stop)
    out[at] = 34
    return at + 1
