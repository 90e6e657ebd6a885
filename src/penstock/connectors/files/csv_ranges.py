"""CSV files by ranges of bytes that end where lines end."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.connectors.planned.row_numbers import first_of
from penstock.connectors.planned.source_port import Split

_CHUNK_BYTES = 1 << 20  # as Arrow's own: it refuses longer lines
_RANGE_BYTES = 8 << 20  # of a split, so that tasks get about equal shares


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """What one look at all bytes of a file found.

    `can_be_cut` is False where a line end may stand inside a field (there are quotes), where the text is not UTF-8, or
    where lines are too long: such a file is read whole, as the in-process engine reads it.
    """

    lines: int
    size_bytes: int
    can_be_cut: bool


@functools.lru_cache(maxsize=512)
def scanned(path: str) -> ScannedFile:
    """Counts lines, and looks for what forbids a cut."""
    lines = size_bytes = 0
    can_be_cut, rest = True, b""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            lines, size_bytes = lines + chunk.count(b"\n"), size_bytes + len(chunk)
            if can_be_cut:
                edge = chunk.rfind(b"\n") + 1
                can_be_cut = edge > 0 or not file.peek(1)
                can_be_cut = can_be_cut and b'"' not in chunk and _is_text(rest + chunk[:edge])
                rest = chunk[edge:]
    return ScannedFile(lines + bool(rest), size_bytes, can_be_cut and _is_text(rest))


def _is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8, as Arrow sees it."""
    try:
        pa.array([data], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def place_behind(path: str, begin: int, lines: int) -> int:
    """Where so many lines end that begin at a place."""
    with open(path, "rb") as file:
        file.seek(begin)
        place = begin
        while chunk := file.read(_CHUNK_BYTES):
            here = chunk.count(b"\n")
            if here >= lines:
                ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10)
                return place + int(ends[lines - 1]) + 1
            lines, place = lines - here, place + len(chunk)
    return place


def byte_ranges(path: str, number: int, begin: int, end: int | None) -> Iterator[Split]:
    """Pieces of some megabytes between two places, numbered by their bytes: a line has one at least."""
    file = scanned(path)
    if not file.can_be_cut:
        yield Split({"path": path, "begin": 0, "end": None}, first_of(number), max(file.lines, 1))
        return
    stop, each = file.size_bytes if end is None else end, file.lines / max(file.size_bytes, 1)
    while begin < stop:
        edge = min(_line_end(path, begin + _RANGE_BYTES), stop) if stop - begin > _RANGE_BYTES else stop
        part = {"path": path, "begin": begin, "end": edge}
        yield Split(part, first_of(number) + begin, max(round((edge - begin) * each), 1))
        begin = edge


def _line_end(path: str, place: int) -> int:
    """The first place from one on where a line ends."""
    with open(path, "rb") as file:
        file.seek(place)
        return place + len(file.readline())
