"""One partition through a pool: read ahead, hand out, put in order, yield."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from penstock.element.pool.calls import Calls, ElasticFailure, Outcome, Unit
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.loop_pool import LoopPool
from penstock.element.pool.thread_pool import ThreadPool
from penstock.operators.python_functions import failure

_AHEAD = 3  # units in flight per thread
_LEAST_AHEAD = 16
# Per-tuple calls are handed out in units: handing one out costs a fifth of what a call of a service computes.  So they
# take up to the latter, but all threads get some of what was read, unless its calls are over within the former.
_LEAST_UNIT_S, _MOST_UNIT_S = 0.002, 0.05
_UNITS_PER_THREAD = 4
_MOST_UNIT_ROWS = 1024
_READ_ROWS, _READ_BYTES = 1024, 1 << 20  # become dicts at a time
_YIELD_ROWS = 1024
_YIELD_S = 0.2


class ElasticStream:
    """The pool and level of one `elastic_map` in a worker process; they outlive tasks, as a cache."""

    def __init__(self, calls: Calls, keeper: LevelKeeper, *, ordered: bool, block_rows: int, name: str) -> None:
        self.calls, self.keeper, self.ordered, self.block_rows, self.name = calls, keeper, ordered, block_rows, name
        self.pool: Pool = pool_of(calls)
        self.pool.set_level(keeper.level)
        self._call_s = 0.0  # per row, smoothed
        self._warned = False

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Outputs of a partition's batches."""
        self.keeper.next_task()
        self.pool.set_level(self.keeper.level)
        task = _Task(self, batches)
        try:
            while (outputs := task.advance()) is not None:
                if outputs:
                    self.keeper.pause()
                    yield from outputs
                    self.keeper.resume(was_busy=self.pool.waiting > 0)
        finally:
            self.keeper.end_task()

    def unit_rows(self, left: int) -> int:
        """Of so many rows that were read and not handed out."""
        if not self.calls.per_tuple:
            return self.block_rows
        if self._call_s == 0:
            return 1
        least, most = int(_LEAST_UNIT_S / self._call_s), int(_MOST_UNIT_S / self._call_s)
        fair = left // (_UNITS_PER_THREAD * self.keeper.level)
        return max(1, min(_MOST_UNIT_ROWS, max(least, min(most, fair))))

    def learn(self, outcome: Outcome) -> None:
        if rows := outcome.unit.batch.num_rows:
            own_s = outcome.busy_s / rows
            self._call_s = own_s if self._call_s == 0 else 0.9 * self._call_s + 0.1 * own_s

    def advise(self) -> None:
        """Tells once, where the worker's messages go, that threads are of no use here."""
        if self.keeper.gains_nothing and not self._warned:
            self._warned = True
            print(
                f"{self.name} computes and gains nothing from a second thread: it holds the GIL, or all cores are in "
                "use; more partitions (df.repartition) use more cores where there are any",
                file=sys.stderr,
                flush=True,
            )


class _Task:
    """What is known of one partition."""

    def __init__(self, stream: ElasticStream, batches: Iterable[pa.RecordBatch]) -> None:
        self.stream, self._units = stream, _Units(stream, batches)
        self._submitted = self._collected = self._released = 0
        self._waiting: dict[int, Outcome] = {}
        self._ready: list[Outcome] = []
        self._row_count, self._yielded_s = 0, time.monotonic()

    def advance(self) -> list[pa.RecordBatch] | None:
        """Does something; gives what can be yielded now, None at the end."""
        self._hand_out()
        if self._collected == self._submitted:
            return self._joined() if self._ready else None
        outcome = self._taken()
        if outcome is not None:
            self._collect(outcome)
        late = time.monotonic() - self._yielded_s > _YIELD_S
        return self._joined() if self._ready and (self._row_count >= _YIELD_ROWS or late) else []

    def _joined(self) -> list[pa.RecordBatch]:
        ready, self._ready, self._row_count, self._yielded_s = self._ready, [], 0, time.monotonic()
        try:
            return [self.stream.calls.joined(ready)]
        except Exception as raised:
            raise ElasticFailure(f"{self.stream.name} {failure(raised)}") from None

    def _taken(self) -> Outcome | None:
        try:
            return self.stream.pool.take(0.05)
        except ElasticFailure as failure:
            raise ElasticFailure(f"{self.stream.name} {failure}") from None

    def _hand_out(self) -> None:
        """Keeps the threads in work; outputs that wait for earlier ones count as in flight, so memory is bounded."""
        most = max(_AHEAD * self.stream.keeper.level, _LEAST_AHEAD)
        while self._submitted - self._released < most and not self._units.ended:
            idle = self._submitted == self._collected
            begin = time.perf_counter()
            unit = self._units.next(self._submitted)
            if idle:
                self.stream.keeper.starved(time.perf_counter() - begin)
            if unit is None:
                return
            self.stream.pool.submit(unit)
            self._submitted += 1

    def _collect(self, outcome: Outcome) -> None:
        self._collected += 1
        self.stream.learn(outcome)
        keeper = self.stream.keeper
        has_work = self._submitted - self._collected >= keeper.level
        if has_work or not self._units.ended:  # at the very end of a partition there is not enough to do
            begun = self._submitted - self.stream.pool.waiting
            level = keeper.completed(outcome.unit.number, outcome.unit.batch.num_rows, begun)
            if level is not None:
                self.stream.pool.set_level(level)
            self.stream.advise()
        if not self.stream.ordered:
            self._release(outcome)
            return
        self._waiting[outcome.unit.number] = outcome
        while self._released in self._waiting:
            self._release(self._waiting.pop(self._released))

    def _release(self, outcome: Outcome) -> None:
        self._released += 1
        if outcome.error is not None:
            raise ElasticFailure(f"{self.stream.name} {outcome.error}")
        if rows := sum(map(len, outcome.parts)):
            self._ready.append(outcome)
            self._row_count += rows


class _Units:
    """Batches cut into units.

    Rows become dicts many at a time and on this thread: for each unit, on threads that stand in line for the GIL, that
    took longer than a call of a service.
    """

    def __init__(self, stream: ElasticStream, batches: Iterable[pa.RecordBatch]) -> None:
        self._stream, self._batches = stream, iter(batches)
        self._batch: pa.RecordBatch | None = None
        self._start = 0
        self._arguments: deque[Any] = deque()  # of rows from `_start` on
        self.ended = False

    def next(self, number: int) -> Unit | None:
        while self._batch is None or self._start >= self._batch.num_rows:
            self._batch, self._start = next(self._batches, None), 0
            if self._batch is None:
                self.ended = True
                return None
        left = self._batch.num_rows - self._start
        rows = min(left, self._stream.unit_rows(left))
        part = self._batch.slice(self._start, rows)
        arguments = self._taken(self._batch, rows) if self._stream.calls.per_tuple else None
        self._start += rows
        return Unit(number, part, arguments)

    def _taken(self, batch: pa.RecordBatch, rows: int) -> list[Any]:
        while len(self._arguments) < rows:
            small = min(_READ_ROWS, _READ_BYTES * batch.num_rows // max(batch.nbytes, 1))
            more = batch.slice(self._start + len(self._arguments), max(rows, small))
            self._arguments.extend(self._stream.calls.arguments(more))
        return [self._arguments.popleft() for _ in range(rows)]


class Pool(Protocol):
    """At most `level` calls are under way at once, besides those that were given up and have not come back."""

    def set_level(self, level: int) -> None: ...

    def submit(self, unit: Unit) -> None: ...

    @property
    def waiting(self) -> int:
        """Units that were submitted and not begun, by a rough count."""
        ...

    def take(self, timeout_s: float) -> Outcome | None:
        """The next outcome, whatever its unit; None where none came in time."""
        ...

    def close(self) -> None: ...


def pool_of(calls: Calls) -> Pool:
    return LoopPool(calls) if calls.is_async else ThreadPool(calls)
