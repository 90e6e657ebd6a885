"""Tuples kept in memory, the newest of them where there are too many."""

from __future__ import annotations

import logging
import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.sinks.arrow_part import ArrowPart
from penstock.connectors.sinks.sink_port import Claim, Delivery, MemoryBounds, Part, SinkPromise, Sweep

_log = logging.getLogger(__name__)
MAX_ROWS = 10_000_000
MAX_MB = 1024.0


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Tuples kept for the caller; of a stream the newest, as far as they fit (None: all)."""

    max_rows: int | None = MAX_ROWS
    max_mb: float | None = MAX_MB

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("this run", keeps=MemoryBounds(self.max_rows, self.max_mb))

    def claim(self, claim: Claim) -> None:
        """Every run has memory of its own."""

    def open(self, part: Part) -> ArrowPart:
        return part.stage()

    def write(self, opened: ArrowPart, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> None:
        """The run keeps the tuples, as the promise says."""

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""


class BoundedTuples:
    """The tuples of one sink in memory; the oldest are dropped where there are too many, and counted."""

    def __init__(self, name: str, bounds: MemoryBounds) -> None:
        self._name, self._batches = name, deque[pa.RecordBatch]()
        self._max_rows = math.inf if bounds.max_rows is None else bounds.max_rows
        self._max_bytes = math.inf if bounds.max_mb is None else bounds.max_mb * (1 << 20)
        self._rows = self._bytes = 0
        self.dropped = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Keeps a batch's tuples, and drops older ones for them if need be."""
        self._batches.append(batch)
        self._rows, self._bytes = self._rows + batch.num_rows, self._bytes + batch.nbytes
        dropped = 0
        while self._batches and (self._rows > self._max_rows or self._bytes > self._max_bytes):
            dropped += self._drop_oldest()
        if dropped:
            self._note(dropped)

    def table(self, schema: pa.Schema) -> pa.Table:
        """All tuples that are kept, in order."""
        return pa.Table.from_batches(list(self._batches), schema).unify_dictionaries()

    def _drop_oldest(self) -> int:
        """Drops as many tuples of the oldest batch as there are too many; how many these were."""
        oldest = self._batches.popleft()
        surplus = self._surplus(oldest)
        self._rows, self._bytes = self._rows - oldest.num_rows, self._bytes - oldest.nbytes
        if surplus < oldest.num_rows:  # a slice would keep all of it in memory
            rest = oldest.take(pa.array(np.arange(surplus, oldest.num_rows)))
            self._batches.appendleft(rest)
            self._rows, self._bytes = self._rows + rest.num_rows, self._bytes + rest.nbytes
        return surplus

    def _surplus(self, oldest: pa.RecordBatch) -> int:
        """How many tuples of the oldest batch have to go."""
        each_bytes = max(oldest.nbytes / max(oldest.num_rows, 1), 1.0)
        surplus = max(self._rows - self._max_rows, (self._bytes - self._max_bytes) / each_bytes)
        return int(min(math.ceil(surplus), oldest.num_rows) if surplus > 0 else oldest.num_rows)

    def _note(self, dropped: int) -> None:
        if not self.dropped:
            _log.warning(
                "sink '%s' keeps the newest %d tuples in memory and drops older ones from now on; take "
                "ps.sinks.parquet(...) for all of them, or higher bounds: ps.sinks.memory(max_rows=..., max_mb=...)",
                self._name, self._rows,
            )  # fmt: skip
        self.dropped += dropped
