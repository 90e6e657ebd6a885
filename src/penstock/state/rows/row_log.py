"""How a task logs its changes: whole slots, changed rows or the tuples themselves, whichever is shorter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.kernels.windows.count.chunks import GRANULE
from penstock.state.checkpoint.checksum import checksums
from penstock.state.checkpoint.entries import ENTRY, Entries, Heads, no_entries
from penstock.state.checkpoint.logs import Logs
from penstock.state.extents import Integers
from penstock.state.memory.header import Field
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows import held_sections
from penstock.state.rows.key_cache import Ids, KeyCache
from penstock.state.rows.recorded_tuples import NUMBER_BYTES, RecordedTuples
from penstock.state.rows.row_kernels import compiled as row_kernel
from penstock.state.rows.sections import HEAD_WORDS, ROWS, ROWS_HELD, TUPLES, WHOLE, WHOLE_HELD, Sections, compiled
from penstock.state.token import Token

_BUFFER_WORDS = 1 << 23
PIECES_MAX = 512
AGE_MAX_BATCHES = 1024
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True, eq=False)
class HeldSlots:
    """A task's slots as it found them: their heads, and how many keys and bytes of text they had."""

    token: Token
    slots: Integers
    heads: Heads
    first_key: Integers
    first_text: Integers


def write_log(memory: HostMemory, keys: KeyCache, logs: Logs, recorded: RecordedTuples, held: HeldSlots) -> Entries:
    """Writes one file with a section for each slot that changed (none where none did), and gives its entries."""
    touched = keys.touched
    entries = _entries_of_keys(memory, keys, touched)
    by_tuples = recorded.is_shorter(len(touched), int(entries.sum()))
    ids = recorded.ids if by_tuples else touched
    counts = np.bincount(keys.slot[ids], minlength=memory.layout.slots)[held.slots]
    sections = _sections(memory, held, counts, entries[held.slots], TUPLES if by_tuples else ROWS)
    if not len(sections.slots):
        return no_entries()
    return _write(memory, logs, sections, _listed(memory, keys, ids, sections), recorded, held.token)


def _entries_of_keys(memory: HostMemory, keys: KeyCache, ids: Ids) -> Integers:
    """By slot: the entries in chunks of some keys."""
    entries = np.zeros(memory.layout.slots, np.int64)
    if memory.pool is not None:
        tables = (keys.group, keys.slot, entries)
        held_sections.compiled("entries_of_ids")(memory.view(), memory.chunk_view(), ids, *tables)
    return entries


def _sections(memory: HostMemory, held: HeldSlots, counts: Integers, entries: Integers, kind: int) -> Sections:
    """A section for each slot of which so many rows or tuples are to be listed, or which is due to be written whole.

    `entries` are those of the rows that changed.
    """
    fields, slots = memory.header.fields, held.slots
    keys, text = fields[Field.KEYS, slots], fields[Field.TEXT, slots]
    key_bytes, row_bytes, entry_bytes = 8 * memory.codec.words, 8 * memory.row_words, 8 * memory.entry_words
    granules = np.zeros(len(slots), np.int64) if memory.pool is None else memory.pool.granules(slots)
    each = row_bytes if kind == ROWS else 8 * len(memory.layout.tuple_types)
    entries = entries if kind == ROWS else np.zeros(len(slots), np.int64)
    new_bytes = (keys - held.first_key) * key_bytes + text - held.first_text
    change = (counts > 0) * 8 * HEAD_WORDS + new_bytes + counts * (NUMBER_BYTES + each) + entries * entry_bytes
    whole = 8 * HEAD_WORDS + keys * (key_bytes + row_bytes) + text + GRANULE * granules * entry_bytes
    is_whole = whole_slots(slots, held.heads, change, whole, held.token.batch)
    if memory.pool is not None:
        entries = np.where(is_whole, _entries_of_slots(memory, slots, is_whole), entries)
    first_key, first_text = (np.where(is_whole, 0, first) for first in (held.first_key, held.first_text))
    listed = np.where(is_whole, 0, counts)
    starts = (slots, np.where(is_whole, WHOLE, kind), first_key, first_text)
    if memory.pool is not None:
        starts = (slots, _of_held(starts[1]), first_key, first_text)
    lengths = (keys - first_key, text - first_text, np.where(is_whole, keys, counts), np.cumsum(listed) - listed)
    written = np.flatnonzero(is_whole | (counts > 0))
    return Sections(*(column[written] for column in (*starts, *lengths, entries, granules)))


def _of_held(kinds: Integers) -> Integers:
    return np.select([kinds == WHOLE, kinds == ROWS], [WHOLE_HELD, ROWS_HELD], kinds)


def _entries_of_slots(memory: HostMemory, slots: Integers, is_asked: npt.NDArray[np.bool_]) -> Integers:
    """The entries in chunks of all keys of those slots that are asked for."""
    entries = np.zeros(len(slots), np.int64)
    found = np.zeros(int(is_asked.sum()), np.int64)
    held_sections.compiled("entries_of_slots")(memory.view(), memory.chunk_view(), slots[is_asked], found)
    entries[is_asked] = found
    return entries


def _listed(memory: HostMemory, keys: KeyCache, ids: Ids, sections: Sections) -> tuple[Integers, Ids]:
    """Which of the ids each section lists, in order, and their numbers within the slot."""
    section_by_slot = np.full(memory.layout.slots, -1, np.int64)
    partial = np.flatnonzero(~sections.is_whole)
    section_by_slot[sections.slots[partial]] = partial
    total = int(sections.counts[partial].sum())
    order, locals_ = np.empty(total, np.int64), np.empty(total, np.int32)
    cursors = sections.first_row.copy()
    row_kernel("by_section")(ids, keys.slot, keys.local, section_by_slot, cursors, order, locals_)
    return order, locals_


def _write(
    memory: HostMemory,
    logs: Logs,
    sections: Sections,
    listed: tuple[Integers, Ids],
    recorded: RecordedTuples,
    token: Token,
) -> Entries:
    entries = np.zeros(len(sections.slots), ENTRY)
    entries["slot"], entries["whole"] = sections.slots, sections.is_whole
    entries["epoch"], entries["batch"], entries["attempt"] = token.epoch, token.batch, token.attempt
    lengths = sections.words(memory.codec.words, memory.row_words, recorded.words, memory.entry_words)
    tuples = (recorded.values, recorded.words, int(recorded.has_nulls))
    entries["length"] = 8 * lengths
    with logs.writer(token) as writer:
        for start, stop in _buffers(lengths):
            stops = np.cumsum(lengths[start:stop])
            starts = stops - lengths[start:stop]
            words = logs.buffer(int(stops[-1]))
            parts = (sections.part(start, stop), starts, *listed, *tuples, words)
            if memory.pool is None:
                compiled("write")(memory.view(), *parts)
            else:
                held_sections.compiled("write")(memory.view(), memory.chunk_view(), *parts)
            entries["offset"][start:stop] = writer.write(words) + 8 * starts
            entries["checksum"][start:stop] = checksums(words, starts, stops)
    return entries


def _buffers(lengths: Integers) -> Iterator[tuple[int, int]]:
    """Ranges of sections that are written together."""
    start, total = 0, 0
    for place, length in enumerate(lengths.tolist()):
        if total and total + length > _BUFFER_WORDS:
            yield start, place
            start, total = place, 0
        total += length
    yield start, len(lengths)


def whole_slots(
    slots: Integers, heads: Heads, change_bytes: Integers, whole_bytes: Integers, batch: int
) -> npt.NDArray[np.bool_]:
    """Whether each slot is to be written whole in this batch.

    A change that is nearly everything, a history twice as long as the slot itself, one of too many pieces, or one whose
    oldest piece would keep an old file alive (even where nothing changed).  Each slot has its own limit, so that those
    which grow alike do not all come in one batch.
    """
    spread = (slots * _GOLDEN) % 1.0
    changed = change_bytes > 0
    nearly_all = 2 * change_bytes >= whole_bytes
    too_long = heads["bytes"] + change_bytes >= whole_bytes * (1.5 + spread)
    too_many = heads["pieces"] >= PIECES_MAX * (0.5 + 0.5 * spread)
    too_old = (heads["pieces"] > 0) & (batch - heads["oldest_batch"] >= AGE_MAX_BATCHES * (0.5 + 0.5 * spread))
    return changed & (nearly_all | too_long | too_many) | too_old
