"""Slots made anew from the checkpoint, exactly as they were after some batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from penstock.block.column import FixedColumn, Mask, numpy_type
from penstock.errors import CorruptStateError
from penstock.kernels.windows.count.chunks import Owners
from penstock.state.checkpoint.checksum import Words
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.logs import Logs
from penstock.state.extents import Integers
from penstock.state.memory.header import Field
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.held_sections import apply_held
from penstock.state.rows.key_cache import Ids
from penstock.state.rows.sections import TUPLES, compiled, heads_of

Replay = Callable[[Ids, list[FixedColumn], Owners], None]

_READ_BYTES_MAX = 1 << 26
_TOKEN_FIELDS = ((Field.EPOCH, "epoch"), (Field.BATCH, "batch"), (Field.ATTEMPT, "attempt"))


def rebuild(
    memory: HostMemory, logs: Logs, slots: Integers, is_dirty: Mask, history: Entries, replay: Replay | None
) -> None:
    """Brings slots, which the caller holds and has marked dirty, to the newest entry of their history.

    A slot that was clean before and stands somewhere in its history needs only what came after; others begin anew.
    """
    clean = np.zeros(memory.layout.slots, np.bool_)
    clean[slots[~is_dirty]] = True
    missing, stands = _missing(memory, clean, history)
    memory.header.clear(slots[~stands[slots]])
    for entries in _by_file(missing):
        words, starts = logs.read(entries)
        _apply(memory, logs, entries, words, starts)
        tuples = starts[words[starts] == TUPLES]
        if len(tuples):
            _replay(memory, words, tuples, replay)
    for field, name in _TOKEN_FIELDS:
        # Later entries of a slot come later, and the last of them stays.
        memory.header.fields[field, history["slot"]] = history[name]


def missing_bytes(memory: HostMemory, slots: Integers, is_dirty: Mask, history: Entries) -> Integers:
    """How many bytes of logs a rebuild of each slot would read; 0 for all others."""
    clean = np.zeros(memory.layout.slots, np.bool_)
    clean[slots[~is_dirty]] = True
    missing, _ = _missing(memory, clean, history)
    lengths = np.bincount(missing["slot"], weights=missing["length"], minlength=memory.layout.slots)
    return lengths.astype(np.int64)


def _missing(memory: HostMemory, clean: Mask, history: Entries) -> tuple[Entries, Mask]:
    """The entries that slots lack, and which slots stand somewhere in their history."""
    slots, fields = history["slot"], memory.header.fields
    is_at = clean[slots]
    for field, name in _TOKEN_FIELDS:
        is_at &= fields[field, slots] == history[name]
    stands = np.zeros(memory.layout.slots, np.bool_)
    stands[slots[is_at]] = True
    lacks = ~stands[slots] | (history["batch"] > fields[Field.BATCH, slots])
    return history[lacks], stands


def _by_file(history: Entries) -> Iterator[Entries]:
    """Entries of one file and of at most so many bytes at a time, oldest first."""
    ordered = history[np.lexsort((history["offset"], history["attempt"], history["epoch"], history["batch"]))]
    start = 0
    while start < len(ordered):
        rest = ordered[start:]
        same = (rest["attempt"] == rest["attempt"][0]) & (rest["epoch"] == rest["epoch"][0])
        same &= (rest["batch"] == rest["batch"][0]) & (rest["offset"] - rest["offset"][0] < _READ_BYTES_MAX)
        count = len(rest) if same.all() else int(same.argmin())
        yield rest[:count]
        start += count


def _apply(memory: HostMemory, logs: Logs, entries: Entries, words: Words, starts: Integers) -> None:
    heads = heads_of(words, starts)
    slots, first_keys = heads[:, 5], heads[:, 1]
    fields = memory.header.fields
    if (slots != entries["slot"]).any() or (first_keys != fields[Field.KEYS, slots]).any():
        raise CorruptStateError(f"a log of '{logs.directory}' does not follow the one before it: {entries[0]}")
    if heads[:, 6].any() and memory.layout.has_nulls:
        memory.use_nulls()
    memory.reserve(slots, first_keys + heads[:, 2], fields[Field.TEXT, slots] + heads[:, 3])
    if memory.pool is None:
        compiled("apply")(memory.view(), words, starts)
        return
    memory.pool.reserve(slots, np.maximum(heads[:, 7] - memory.pool.granules(slots), 0))
    apply_held(memory, words, starts)


def _replay(memory: HostMemory, words: Words, starts: Integers, replay: Replay | None) -> None:
    assert replay is not None, "only an operator that can replay tuples logs them"
    types, total = memory.layout.tuple_types, int(words[starts + 4].sum())
    groups, values = np.empty(total, np.int32), np.empty((len(types) + 1, total), np.int64)
    compiled("read_tuples")(memory.view(), words, starts, len(types), groups, values)
    sections = np.repeat(np.arange(len(starts), dtype=np.int32), words[starts + 4])
    owners = (sections, words[starts + 5].astype(np.int32))
    replay(groups, [_column(values[c], values[-1], c, type_) for c, type_ in enumerate(types)], owners)


def _column(words: Integers, nulls: Integers, place: int, type_: pa.DataType) -> FixedColumn:
    dtype = numpy_type(type_)
    values = words.view(np.float64).astype(dtype, copy=False) if dtype.kind == "f" else words.astype(dtype)
    is_valid = (nulls >> place) & 1 == 0
    return FixedColumn(values, type_, None if is_valid.all() else is_valid)
