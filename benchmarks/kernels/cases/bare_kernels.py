"""Kernels without the engine around them, on the ready arrays that their limits get: dense ids, merged ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from benchmarks.kernels.loop import Array
from penstock.block.block import Block
from penstock.block.column import Column, FixedColumn, column_of
from penstock.kernels.gather import read_only
from penstock.kernels.joins.window_join import WindowJoin
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.kernels.windows.count.count_window import CountWindow
from penstock.kernels.windows.time.time_window import TimeWindow
from penstock.operators.windows.join_emits import JoinEmits
from penstock.operators.windows.join_store import JoinStore


class Runner(Protocol):
    """Something with the blocks of a job: `run(i)` processes one, `advance` moves event times on after all of them."""

    def run(self, number: int) -> Any: ...

    def advance(self) -> None: ...


class BareKernel(Runner, Protocol):
    """A kernel; `columns` of what `run(i)` gave are the limit's outputs by name."""

    def columns(self, result: Any) -> Mapping[str, Array]: ...


class CountKernel:
    """Count windows; the key of each firing is gathered, as the limit writes it."""

    def __init__(
        self, window: CountWindow, keys: int, blocks: Sequence[tuple[Array, ...]], names: Sequence[str]
    ) -> None:
        self._window, self._keys, self._names = window, keys, names
        self._blocks = [(groups, [FixedColumn(values, pa.float64())]) for groups, values in blocks]

    def run(self, number: int) -> tuple[Array, tuple[FixedColumn, ...]]:
        groups, columns = self._blocks[number]
        fired = self._window.process(groups, self._keys, columns)
        return groups if fired.rows is None else groups[fired.rows], fired.columns

    def columns(self, result: tuple[Array, tuple[FixedColumn, ...]]) -> dict[str, Array]:
        groups, columns = result
        return {"ticker": groups, **{name: c.values for name, c in zip(self._names, columns, strict=True)}}

    def advance(self) -> None:
        """Nothing moves on."""


class TimeKernel:
    """Time windows; event times are this kernel's own, since they move on, and read-only, as Arrow's memory is."""

    def __init__(self, window: TimeWindow, keys: int, blocks: Sequence[tuple[Array, ...]], span_us: int) -> None:
        self._window, self._keys, self._span_us = window, keys, span_us
        self._blocks = [
            (groups, event_us.copy(), [FixedColumn(read_only(values), pa.float64())])
            for groups, event_us, values in blocks
        ]
        self._times = [read_only(event_us) for _, event_us, _ in self._blocks]

    def run(self, number: int) -> Any:
        groups, _, columns = self._blocks[number]
        return self._window.process(groups, self._keys, self._times[number], columns)

    def columns(self, result: Any) -> dict[str, Array]:
        count, total = result.columns
        return {"ticker": result.groups, "end": result.ends_us, "n": count.values, "total": total.values}

    def advance(self) -> None:
        for _, event_us, _ in self._blocks:
            event_us += self._span_us


class JoinKernel:
    """The pairs of a window join, its stores of rows, and predicate and emits over the pairs."""

    def __init__(
        self,
        join: WindowJoin,
        emits: JoinEmits,
        keys: int,
        merged: Sequence[tuple[Array, Array]],
        sides: tuple[Sequence[Block], Sequence[Block]],
        names: Sequence[str],
    ) -> None:
        self._join, self._emits, self._keys, self._names = join, emits, keys, names
        self._merged, self._sides = merged, sides
        self._stores = [JoinStore(join, port, sides[port][0].schema, emits.columns_of(port), []) for port in (0, 1)]

    def run(self, number: int) -> tuple[Column, ...]:
        pairs = self._join.process(*self._merged[number], self._keys, None)
        for store, side in zip(self._stores, self._sides, strict=True):
            store.append(side[number])
        _, emits = self._emits.process(self._stores, pairs.trigger, pairs.left, pairs.right)
        for store in self._stores:
            store.compact()
        return emits

    def columns(self, result: tuple[Column, ...]) -> dict[str, Array]:
        return {n: c.values for n, c in zip(self._names, result, strict=True) if isinstance(c, FixedColumn)}

    def advance(self) -> None:
        """Nothing moves on."""


class KeyLookup:
    """The way from keys to dense ids, which limits and bare kernels are spared."""

    def __init__(self, column: pa.ChunkedArray, cuts: Sequence[int]) -> None:
        keys, ends = column_of(column), np.cumsum(cuts)
        self._index = KeyIndex((keys.type,))
        self._blocks = [(keys.slice(int(end - rows), int(end)), rows) for end, rows in zip(ends, cuts, strict=True)]

    def run(self, number: int) -> Array:
        column, rows = self._blocks[number]
        return self._index.assign([column], rows)

    def advance(self) -> None:
        """Nothing moves on."""
