"""The schedule of recorded traces, one per key: how many tuples of which key come in an interval, and in what order."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types

from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals
from penstock.connectors.trace.market import Codes, Floats, Integers, generator
from penstock.connectors.trace.rate_files import TraceFile
from penstock.errors import InputError

_INTERVAL_TUPLES_MAX = 2_000_000_000
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Whole tuples per interval: `bounds[i]` in all before interval i, `prefixes[i, k]` of keys below k within it.

    The r-th tuple of an interval takes place (r * stride + shift) mod tuples in the row of all its keys' tuples.  A
    stride near the golden ratio spreads every key evenly over the interval, and one that is coprime to the number of
    tuples takes each place once: every key has exactly its count.
    """

    arrivals: Arrivals
    bounds: Integers
    prefixes: npt.NDArray[np.int32]
    strides: Integers
    shifts: Integers

    def fill_codes(self, start: int, codes: Codes) -> None:
        """The key of each tuple from `start` on."""
        _codes_kernel()(start, codes, self.bounds, self.prefixes, self.strides, self.shifts)


def recorded_schedule(
    files: Sequence[TraceFile], rate_tuples_s: float | None, seed: int, speed_up: float = 1.0
) -> Schedule:
    """All traces on one clock, `speed_up` times as fast; scaled to `rate_tuples_s` on average where that is given."""
    grid = np.unique(np.concatenate([file.edges_s for file in files]))
    if files[0].clock == "seconds since its beginning" and grid[0] > 0:
        grid = np.concatenate([[0.0], grid])
    edges_s = (grid - grid[0]) / speed_up
    sums = np.stack([_sums_on(grid, file) for file in files])
    if rate_tuples_s is not None:
        sums *= rate_tuples_s * edges_s[-1] / sums[:, -1].sum()
    _check_counts(np.diff(sums.sum(axis=0)))
    # Rounding the sums, not the counts, keeps every key within half a tuple of its trace at any moment.
    counts: Integers = np.diff(np.floor(sums + 0.5), axis=1).astype(np.int64)
    return _schedule(edges_s, counts, seed)


@functools.lru_cache(maxsize=8)
def key_names(paths: tuple[str, ...]) -> pa.Array:
    """A name for each file's key: the file's, without what all of them begin with, up to a mark.

    >>> key_names(("data/volume_KO.csv", "data/volume_IBM.csv")).to_pylist()
    ['KO', 'IBM']
    """
    stems = [Path(path).stem for path in paths]
    marks = [i + 1 for i, letter in enumerate(stems[0]) if not letter.isalnum()]
    mark = max((end for end in marks if len({stem[:end] for stem in stems}) == 1 < len(stems)), default=0)
    short = [stem[mark:] for stem in stems]
    return pa.array(short if all(short) and len(set(short)) == len(short) else paths, pa.string())


def _sums_on(grid: Floats, file: TraceFile) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(file.counts)])
    return np.asarray(np.interp(grid, file.edges_s, sums))


def _check_counts(tuples: Floats) -> None:
    if not tuples.max() <= _INTERVAL_TUPLES_MAX:
        rule = f"an interval of a trace has {_INTERVAL_TUPLES_MAX} tuples at most"
        raise InputError(f"{rule}; got {tuples.max():.0f}; lower rate_tuples_s, or cut the interval in several")


def _schedule(edges_s: Floats, counts: Integers, seed: int) -> Schedule:
    tuples = counts.sum(axis=0)
    if not tuples.any():
        raise InputError("a trace needs one tuple at least; got a rate at which none ever comes; raise rate_tuples_s")
    prefixes = np.zeros((counts.shape[1], counts.shape[0] + 1), np.int32)
    prefixes[:, 1:] = np.cumsum(counts.T, axis=1)
    shifts = generator(seed, "schedule").integers(0, np.maximum(tuples, 1))
    bounds = np.concatenate([[0], np.cumsum(tuples)])
    strides = np.array([_stride(int(count)) for count in tuples], np.int64)
    return Schedule(counted_arrivals(edges_s, tuples), bounds, prefixes, strides, shifts)


def _stride(count: int) -> int:
    """The number nearest to the golden section of a count, from below, that has no factor in common with it."""
    stride = max(1, round(count * _GOLDEN))
    while math.gcd(stride, count) > 1:
        stride -= 1
    return stride


def _fill_codes(
    start: int, codes: Codes, bounds: Integers, prefixes: npt.NDArray[np.int32], strides: Integers, shifts: Integers
) -> None:
    interval = np.searchsorted(bounds, start, side="right") - 1
    for i in range(len(codes)):
        offset = start + i
        while offset >= bounds[interval + 1]:
            interval += 1
        tuples = bounds[interval + 1] - bounds[interval]
        place = ((offset - bounds[interval]) * strides[interval] + shifts[interval]) % tuples
        low, high = 0, prefixes.shape[1] - 1
        while high - low > 1:
            middle = (low + high) // 2
            if prefixes[interval, middle] <= place:
                low = middle
            else:
                high = middle
        codes[i] = low


@functools.cache
def _codes_kernel() -> Callable[..., None]:
    integers = types.int64[::1]
    signature = types.void(types.int64, types.int32[::1], integers, types.int32[:, ::1], integers, integers)
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True)(_fill_codes)
    return kernel
