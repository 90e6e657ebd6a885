"""Dictionaries of coded columns: what was once computed for a dictionary is kept while blocks go on sharing it."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Payload = TypeVar("Payload")
_MOST = 16


class DictionaryCache(Generic[Payload]):
    """Something kept per dictionary, found by where its memory lies; the newest few dictionaries are held."""

    __slots__ = ("_last", "_payloads")

    def __init__(self) -> None:
        self._payloads: dict[tuple[int, int, int], tuple[pa.Array, Payload]] = {}
        self._last: tuple[pa.Array, Payload] | None = None

    def find(self, dictionary: pa.Array) -> Payload | None:
        last = self._last
        if last is not None and last[0] is dictionary:
            return last[1]
        entry = self._payloads.get(_place(dictionary))
        if entry is None:
            return None
        self._last = dictionary, entry[1]
        return entry[1]

    def keep(self, dictionary: pa.Array, payload: Payload) -> None:
        # holding the dictionary keeps its memory, so that the place cannot come to mean another one
        self._payloads[_place(dictionary)] = dictionary, payload
        self._last = dictionary, payload
        for oldest in list(self._payloads)[:-_MOST]:  # a list, since other threads keep dictionaries here, too
            self._payloads.pop(oldest, None)


def codes_of(dictionary: pa.Array, text: str) -> tuple[int, ...]:
    """The codes that stand for a text; none where it does not occur, several where a dictionary repeats itself."""
    found = np.flatnonzero(pc.equal(dictionary, text).to_numpy(zero_copy_only=False))
    return tuple(int(code) for code in found)


def _place(dictionary: pa.Array) -> tuple[int, int, int]:
    offsets = dictionary.buffers()[1]
    return (0 if offsets is None else offsets.address), dictionary.offset, len(dictionary)
