"""`vwap_per_ticker` by plain `mapInArrow` in `foreachBatch`: the fastest that stock PySpark gave us without its state.

Trades go to their task by `repartitionById`; the task sorts them, runs the numba loop that is the limit of the kernel
bench, and keeps its tickers' windows as one file of arrays per batch.  A batch that runs again starts from the file of
the batch before it.  The number of tasks is fixed, and keys must be small integers: code to beat, not to use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.limits import vwap_buffers, vwap_per_ticker
from benchmarks.spark.vwap.stock_tuples import RESULTS, RESULTS_SQL, Frame

_RETAINED_BATCHES = 2
Batches = Iterator[pa.RecordBatch]


def by_map_in_arrow(trades: Frame, folder: Path, batch: int, tasks: int = 2) -> Frame:
    """The results of one micro-batch; `folder` is in the checkpoint."""
    return trades.repartitionById(tasks, "part").mapInArrow(window_task(folder, batch), RESULTS_SQL)


def window_task(folder: Path, batch: int) -> Callable[[Batches], Batches]:
    return partial(_windows, str(folder), batch)


def _windows(folder: str, batch: int, batches: Batches) -> Batches:
    table = pa.Table.from_batches(list(batches)).combine_chunks()
    if not table.num_rows:
        return
    seq, ticker, price, volume = (table.column(i).to_numpy() for i in range(4))
    part = table.column(4)[0].as_py()
    order = np.argsort(seq, kind="stable")  # the rows of each map task come in order: a merge of runs
    ticker, price, volume = ticker[order], price[order], volume[order]
    prices, volumes, counts, *out = vwap_buffers(len(ticker))
    for array, held in zip((prices, volumes, counts), _read(folder, part, batch), strict=False):
        array[:] = held
    vwap_per_ticker(ticker, np.ones(len(ticker), np.int8), price, volume, prices, volumes, counts, *out)
    _write(folder, part, batch, (prices, volumes, counts))
    yield pa.RecordBatch.from_arrays([pa.array(column) for column in out], names=list(RESULTS))


def _read(folder: str, part: int, batch: int) -> list[np.ndarray]:
    path = _path(folder, part, batch - 1)
    if not path.is_file():
        return []
    with np.load(path) as held:
        return [held[name] for name in held.files]


def _write(folder: str, part: int, batch: int, arrays: tuple[np.ndarray, ...]) -> None:
    path = _path(folder, part, batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    with draft.open("wb") as file:
        np.savez(file, *arrays)
    draft.replace(path)
    _path(folder, part, batch - _RETAINED_BATCHES).unlink(missing_ok=True)


def _path(folder: str, part: int, batch: int) -> Path:
    return Path(folder) / f"{part}-{batch}.npz"
