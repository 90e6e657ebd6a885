"""ELASTIC's two ways to add up a grid on several threads: one shared grid, or one per thread and a sum at the end.

Visibilities are convolved onto a grid of complex numbers, as in radio imaging: each adds a small kernel around its own
place. On a shared grid every addition is a compare-and-swap, or every block takes a lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

Grid = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
_SUPPORT = 7  # cells on a side of what one visibility adds


@dataclass(frozen=True, slots=True)
class GridRow:
    """A way, and how many visibilities a second it adds up."""

    name: str
    threads: int
    visibilities_s: float


@intrinsic
def _add_by_swap(typing_context, grid, place, value):  # type: ignore[no-untyped-def]
    """Adds to a cell atomically; on this hardware a floating-point addition is a loop around compare-and-swap."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        cell = cgutils.get_item_pointer(context, builder, array_type, array, [arguments[1]])  # type: ignore[no-untyped-call]
        integer, real = ir.IntType(64), ir.DoubleType()
        bits = builder.bitcast(cell, integer.as_pointer())
        loop, after = builder.append_basic_block("swap"), builder.append_basic_block("swapped")
        first = builder.load(bits)
        before = builder.block
        builder.branch(loop)
        builder.position_at_end(loop)
        seen = builder.phi(integer)
        seen.add_incoming(first, before)
        wanted = builder.bitcast(builder.fadd(builder.bitcast(seen, real), arguments[2]), integer)
        result = builder.cmpxchg(bits, seen, wanted, "monotonic", "monotonic")
        seen.add_incoming(builder.extract_value(result, 0), loop)
        builder.cbranch(builder.extract_value(result, 1), after, loop)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.void(grid, types.intp, types.float64), generate


@njit(nogil=True)
def add_plainly(grid, places, side):  # type: ignore[no-untyped-def]
    """Adds all visibilities to a grid that no other thread uses."""
    for place in places:
        for row in range(_SUPPORT):
            for column in range(_SUPPORT):
                grid[place + row * side + column] += 1.0 / (1.0 + row + column)


@njit(nogil=True)
def add_by_swap(grid, places, side):  # type: ignore[no-untyped-def]
    """Adds all visibilities to a grid that other threads use, too."""
    for place in places:
        for row in range(_SUPPORT):
            for column in range(_SUPPORT):
                _add_by_swap(grid, place + row * side + column, 1.0 / (1.0 + row + column))  # type: ignore[call-arg]


def places_of(visibilities: int, side: int, seed: int = 1) -> Places:
    """Where visibilities fall: dense in the middle, as baselines are."""
    random = np.random.default_rng(seed)
    extent = side - _SUPPORT
    spots = np.clip(random.normal(extent / 2, extent / 8, (visibilities, 2)).astype(np.int64), 0, extent - 1)
    places: Places = spots[:, 0] * side + spots[:, 1]
    return places


class Gridding:
    """Blocks of visibilities and the ways to add them up; every way gives the same grid."""

    def __init__(self, blocks: int = 512, block_rows: int = 4096, side: int = 512) -> None:
        self.side = side
        places = places_of(blocks * block_rows, side)
        self.blocks = np.array_split(places, blocks)
        for add in (add_plainly, add_by_swap):
            add(np.zeros(side * side), self.blocks[0][:1], side)  # compiles

    def sequential(self, threads: int = 1) -> Grid:
        grid = np.zeros(self.side * self.side)
        for block in self.blocks:
            add_plainly(grid, block, self.side)
        return grid

    def local(self, threads: int) -> Grid:
        grids = [np.zeros(self.side * self.side) for _ in range(threads)]
        self._share_out(threads, lambda number, block: add_plainly(grids[number], block, self.side))
        total: Grid = np.sum(grids, axis=0)
        return total

    def swapped(self, threads: int) -> Grid:
        grid = np.zeros(self.side * self.side)
        self._share_out(threads, lambda number, block: add_by_swap(grid, block, self.side))
        return grid

    def locked(self, threads: int) -> Grid:
        grid, lock = np.zeros(self.side * self.side), threading.Lock()

        def add(number: int, block: Places) -> None:
            with lock:
                add_plainly(grid, block, self.side)

        self._share_out(threads, add)
        return grid

    def _share_out(self, threads: int, add: Callable[[int, Places], None]) -> None:
        def work(number: int) -> None:
            for block in self.blocks[number::threads]:
                add(number, block)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))

    def rows(self, threads: int, rounds: int = 3) -> list[GridRow]:
        """The best of a few rounds of each way, in turns."""
        ways: list[tuple[str, int, Callable[[int], Grid]]] = [
            ("sequential", 1, self.sequential),
            ("local grids", threads, self.local),
            ("shared grid, compare-and-swap", threads, self.swapped),
            ("shared grid, lock per block", threads, self.locked),
        ]
        visibilities = sum(len(block) for block in self.blocks)
        best_s = dict.fromkeys((name for name, _, _ in ways), float("inf"))
        for _ in range(rounds):
            for name, used, way in ways:
                begin_s = time.perf_counter()
                way(used)
                best_s[name] = min(best_s[name], time.perf_counter() - begin_s)
        return [GridRow(name, used, visibilities / best_s[name]) for name, used, _ in ways]
