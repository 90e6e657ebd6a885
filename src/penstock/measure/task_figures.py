"""What one task measures, inside the Python worker, and the report that goes to the driver."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.element.block import Block
from penstock.element.column import CodedColumn, FixedColumn
from penstock.element.operators.protocol import RunningOperator
from penstock.measure.gate import Gate
from penstock.measure.metered_operator import MeteredOperator, meter_call_ns
from penstock.measure.observation import PortObservation, ReplicaObservation
from penstock.measure.pace import Pace, Turn, clock_pair_ns
from penstock.measure.service_times import ServiceTimes
from penstock.measure.slot_counts import SlotCounts

Counts = npt.NDArray[np.int64]
RESULT_BLOCKS_MAX = 2048  # more are put together with their neighbours


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task's figures; `result_tuples[i]` results were triggered by the source's block that begins at
    `result_starts[i]`, and no block that the task took had more than `block_rows` tuples.
    """

    replica: ReplicaObservation
    block_rows: int = 0
    result_starts: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    result_tuples: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    slot_tuples_by_element: dict[str, Counts] = field(default_factory=dict)

    def encode(self) -> bytes:
        return pickle.dumps(self, protocol=5)


def decode(payload: bytes | memoryview) -> TaskReport:
    report = pickle.loads(payload)
    assert isinstance(report, TaskReport)
    return report


@dataclass(frozen=True, slots=True)
class TaskStart:
    """The clocks when a task began."""

    wall_s: float = field(default_factory=time.perf_counter)
    cpu_s: float = field(default_factory=time.process_time)


class ElementMeters:
    """The meters of an element in this process; they live as long as its operators."""

    _task_ended_cpu_s = 0.0  # of the whole process, whatever element its last task was of

    def __init__(self) -> None:
        self.pace, self.slot_turn = Pace(), Turn(Pace())
        self.operators: list[MeteredOperator] = []

    def metered(self, name: str, running: RunningOperator) -> MeteredOperator:
        """The operator with a meter in front."""
        self.operators.append(MeteredOperator(name, running, self.pace))
        return self.operators[-1]

    def begin(self, replica: int, start: TaskStart) -> TaskFigures:
        """The figures of a task."""
        for operator in self.operators:
            operator.forget()  # what a task that failed has left
        loop_cpu_s = start.cpu_s - ElementMeters._task_ended_cpu_s
        ElementMeters._task_ended_cpu_s = start.cpu_s
        return TaskFigures(self, replica, start, loop_cpu_s)

    def end(self) -> float:
        """The process's CPU clock at the end of a task."""
        ElementMeters._task_ended_cpu_s = time.process_time()
        return ElementMeters._task_ended_cpu_s


class TaskFigures:
    """Counts of a task; `entry` and `exit` are the gates that its batches pass."""

    def __init__(self, meters: ElementMeters, replica: int, start: TaskStart, loop_cpu_s: float) -> None:
        self._meters, self._replica = meters, replica
        self._start, self._loop_cpu_s = start, loop_cpu_s
        self.entry, self.exit = Gate(meters.pace), Gate(meters.pace)
        self.service = ServiceTimes()
        self.slots = SlotCounts(meters.slot_turn)
        self._inputs: dict[str, list[int]] = {}
        self._outputs: dict[str, list[int]] = {}
        self._results: list[tuple[int, int]] = []
        self._block_rows = 0

    def took(self, stream: str, tuples: int, size_bytes: int) -> None:
        """A block came in."""
        self._block_rows = max(self._block_rows, tuples)
        _add(self._inputs, stream, tuples, size_bytes)

    def gave(self, stream: str, tuples: int, size_bytes: int) -> None:
        """A block left by a stream, or into a sink."""
        _add(self._outputs, stream, tuples, size_bytes)

    def resulted(self, sequence: int, tuples: int) -> None:
        """Results reached a sink; the source's block that begins at `sequence` triggered them."""
        self._results.append((sequence, tuples))

    def report(self, slots_rebuilt: int = 0, *, settled: bool = True) -> TaskReport:
        """All that was measured; the task is over but for this."""
        report_ns = time.thread_time_ns()
        operators = tuple(operator.drain() for operator in self._meters.operators)
        starts, tuples = result_blocks(self._results)
        inputs, outputs = _ports(self._inputs), _ports(self._outputs)
        wall_s, cpu_s = time.perf_counter() - self._start.wall_s, self._meters.end() - self._start.cpu_s
        waiting_s = self.entry.waiting_s + self.exit.waiting_s
        calls = sum(o.blocks for o in operators)
        timed = sum(o.timed_blocks for o in operators) + self.entry.timed + self.exit.timed
        passages = self.entry.passages + self.exit.passages
        self._meters.pace.adapt(cpu_s * 1e9, calls + passages, clock_pair_ns())
        self.slots.adapt(cpu_s * 1e9)
        counted_ns = calls * meter_call_ns() + timed * clock_pair_ns() + self.service.blocks * _block_ns()
        measuring_ns = counted_ns + self.slots.spent_ns + time.thread_time_ns() - report_ns
        replica = ReplicaObservation(
            self._replica, sum(p.tuples for p in inputs), sum(p.tuples for p in outputs), max(wall_s - waiting_s, 0.0),
            cpu_s, slots_rebuilt, waiting_s, inputs, outputs, operators, self.service.variance_s2,
            worker_loop_cpu_s=self._loop_cpu_s, measuring_cpu_s=measuring_ns / 1e9, settled=settled,
        )  # fmt: skip
        return TaskReport(replica, self._block_rows, starts, tuples, self.slots.counts_by_element())


def result_blocks(results: list[tuple[int, int]]) -> tuple[Counts, Counts]:
    """Results by the block that triggered them, in order, at most RESULT_BLOCKS_MAX of them."""
    if not results:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    pairs = np.array(results, np.int64)
    starts, places = np.unique(pairs[:, 0], return_inverse=True)
    tuples = np.bincount(places, weights=pairs[:, 1]).astype(np.int64)
    every = -(-len(starts) // RESULT_BLOCKS_MAX)
    heads = np.arange(0, len(starts), every)
    return starts[heads], np.add.reduceat(tuples, heads)


def block_bytes(block: Block) -> int:
    """The size of a block's columns; what many blocks share, such as dictionaries, does not count."""
    size_bytes = 0
    for column in block.columns:
        if isinstance(column, FixedColumn):
            size_bytes += column.values.nbytes
        else:
            size_bytes += column.codes.nbytes if isinstance(column, CodedColumn) else column.array.nbytes
    return size_bytes


def _add(ports: dict[str, list[int]], stream: str, tuples: int, size_bytes: int) -> None:
    port = ports.get(stream)
    if port is None:
        ports[stream] = [tuples, size_bytes]
    else:
        port[0] += tuples
        port[1] += size_bytes


def _ports(ports: dict[str, list[int]]) -> tuple[PortObservation, ...]:
    return tuple(PortObservation(stream, tuples, size_bytes) for stream, (tuples, size_bytes) in ports.items())


@lru_cache(maxsize=1)
def _block_ns() -> int:
    """What counting one block costs here: two gates, a step, two ports and a result."""
    meters, rounds = ElementMeters(), 100
    meters.pace.below = 0
    figures = TaskFigures(meters, 0, TaskStart(), 0.0)
    spent_ns = []
    for _ in range(2):
        start = time.thread_time_ns()
        for i in figures.exit.outward(figures.entry.inward(range(rounds))):
            figures.took("a", 1, 8)
            step_ns = time.perf_counter_ns()
            figures.service.add(1, time.perf_counter_ns() - step_ns)
            figures.gave("a", 1, 8)
            figures.resulted(i, 1)
        spent_ns.append(time.thread_time_ns() - start)
    return spent_ns[1] // rounds
