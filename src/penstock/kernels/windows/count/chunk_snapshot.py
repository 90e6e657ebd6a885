"""Windows whose entries lie in chunks, as arrays: rows without their tables, and all entries one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import njit

from penstock.block.column import Array
from penstock.kernels.windows.count.chunks import (
    GRANULE,
    ChunkLayout,
    ChunkMemory,
    Integers,
    copy_in,
    copy_out,
    settle,
    take,
)
from penstock.kernels.windows.count.growing import RowTable


def exported(chunks: ChunkMemory, words: RowTable, nulls: RowTable, groups: int) -> dict[str, Array]:
    """The state of so many groups; about nulls only where something was kept about them."""
    layout, rows = chunks.layout, words.rows(1, groups + 1)
    arrays: dict[str, Array] = {
        "words": rows[:, : layout.fixed].copy(),
        "entries": _gathered(layout, rows, chunks.values),
    }
    if chunks.nulls.words:
        arrays["nulls"] = nulls.rows(1, groups + 1).copy()
        arrays["entry_nulls"] = _gathered(layout, rows, chunks.nulls)
    return arrays


def restored(chunks: ChunkMemory, words: RowTable, nulls: RowTable, arrays: Mapping[str, Array]) -> None:
    """Fills new tables, which have room for the rows, with what was exported, now or by versions without chunks."""
    layout = chunks.layout
    counts = np.minimum(arrays["words"][:, layout.head_at], layout.full)
    # All at once: what is looked at below must not move.
    chunks.grow(0, int(layout.first[np.searchsorted(layout.first, counts)].sum()) // GRANULE)
    rows = words.rows(1, len(counts) + 1)
    rows[:, : layout.fixed] = arrays["words"][:, : layout.fixed]
    entries, entry_nulls = (_entries(arrays, name, counts, layout) for name in ("words", "nulls"))
    tables = (
        chunks.values.integers,
        layout.entry_words,
        chunks.nulls.integers,
        layout.entry_nulls if len(entry_nulls) else 0,
    )
    _compiled("scatter")(
        rows.reshape(-1), rows.shape[1], layout.view(), counts, *chunks.ranges, *tables, entries, entry_nulls
    )
    if "nulls" in arrays and nulls.words:
        nulls.rows(1, len(counts) + 1)[:] = arrays["nulls"][:, : nulls.words]


def _entries(arrays: Mapping[str, Array], name: str, counts: Integers, layout: ChunkLayout) -> Integers:
    """All entries one after the other; those of versions without chunks are the last words of their rows."""
    given = arrays.get({"words": "entries", "nulls": "entry_nulls"}[name])
    width = {"words": layout.entry_words, "nulls": layout.entry_nulls}[name]
    if given is not None:
        return np.ascontiguousarray(given)
    if name not in arrays or not width:
        return np.empty(0, np.int64)
    rows = arrays[name]
    each = rows[:, rows.shape[1] - layout.full * width :].reshape(len(rows), layout.full, width)
    taken: Integers = each[np.arange(layout.full) < counts[:, None]].reshape(-1)
    return taken


def _gathered(layout: ChunkLayout, rows: Integers, table: RowTable) -> Integers:
    counts = np.minimum(rows[:, layout.head_at], layout.full)
    out = np.empty(int(counts.sum()) * (table.words // GRANULE), np.int64)
    _compiled("gather")(
        rows.reshape(-1), rows.shape[1], layout.view(), counts, table.integers, table.words // GRANULE, out
    )
    return out


def _gather(words, width, view, counts, source, entry_words, out):  # type: ignore[no-untyped-def]
    table, at = words.view(np.int32), 0
    for i in range(len(counts)):
        at = copy_out(table, 2 * i * width + view[2], view, source, entry_words, counts[i], out, at)


def _scatter(  # type: ignore[no-untyped-def]
    words, width, view, counts, nexts, ends, values, entry_words, nulls, entry_nulls, entries, null_entries
):
    table, at, null_at = words.view(np.int32), 0, 0
    for i in range(len(counts)):
        place = 2 * i * width + view[2]
        take(table, place, view, 0, 0, counts[i], 0, nexts, ends, nulls, entry_nulls)
        settle(table, place, view, words[i * width + view[1]])
        at = copy_in(table, place, view, values, entry_words, counts[i], entries, at)
        null_at = copy_in(table, place, view, nulls, entry_nulls, counts[i], null_entries, null_at)


@functools.cache
def _compiled(name: str) -> Callable[..., Any]:
    kernels: dict[str, Callable[..., Any]] = {"gather": _gather, "scatter": _scatter}
    kernel: Callable[..., Any] = njit(nogil=True, cache=True)(kernels[name])
    return kernel
