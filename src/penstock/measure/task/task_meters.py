"""What one task measures, inside the Python worker, and the report that goes to the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.block import Block, empty_block
from penstock.host.core_wait import core_wait_s
from penstock.measure.replica_threads import ThreadsLeft
from penstock.measure.task.arrival_pieces import ArrivalPieces
from penstock.measure.task.block_bytes import block_bytes
from penstock.measure.task.cpu_budget import Allowance
from penstock.measure.task.metered_operator import MeteredOperator, OperatorMeter, meter_call_ns
from penstock.measure.task.sampling_interval import Pace, Turn, clock_pair_ns
from penstock.measure.task.slot_counts import SlotCounts, counting_ns
from penstock.measure.task.task_report import PlainReport, encode
from penstock.measure.task.triggers import Triggers
from penstock.operators.protocol import OperatorRuntime

# Between two blocks kernels push the meters' code and data out of the caches: benchmark `measuring` shows about
# three times the cost of a loop that does nothing else.
_COLD = 3
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskStart:
    """The clocks when a task began."""

    wall_s: float = field(default_factory=time.perf_counter)
    cpu_s: float = field(default_factory=time.process_time)
    stalled_s: float = field(default_factory=core_wait_s)


class ElementMeters:
    """The meters of an element in this process; they live as long as its operators."""

    _task_ended_cpu_s = 0.0  # of the whole process, whatever element its last task was of
    encoding_ns = 0  # for reports before

    def __init__(self) -> None:
        self.pace, self.slot_turn = Pace(), Turn(Pace())
        self.step_turn = Turn(self.pace)
        self.operators: dict[str, OperatorMeter] = {}
        self._state_allowance, self._state_bytes = Allowance(0.001), dict[str, int]()

    def metered(self, name: str, runtime: OperatorRuntime, ports: int | None = None) -> MeteredOperator:
        """The operator with a meter in front; copies of an operator share one.  `ports`: its inputs without ticks."""
        return MeteredOperator(runtime, self.operators.setdefault(name, OperatorMeter(name, self.pace, ports)))

    def reading(self, source: str, read: Callable[[], Block]) -> Block:
        """The block that `read` gives, with its CPU and tuples as the source's."""
        if source not in self.operators:  # in front of the others, as it runs
            self.operators = {source: OperatorMeter(source, self.pace), **self.operators}
        return self.operators[source].reading(read)

    def delivery(self, sink: str, tuples: int, deliver: Callable[[], T]) -> T:
        """What `deliver` gives, which writes or sends tuples of a sink, whose CPU it is."""
        meter = self.operators.get(sink)
        return deliver() if meter is None else meter.delivery(tuples, deliver)

    def begin(self, replica: int, start: TaskStart) -> TaskFigures:
        """The figures of a task."""
        for meter in self.operators.values():
            meter.calls, meter.delivered = [], []  # what a task that failed has left
        loop_cpu_s = start.cpu_s - ElementMeters._task_ended_cpu_s
        ElementMeters._task_ended_cpu_s = start.cpu_s
        return TaskFigures(self, replica, start, loop_cpu_s)

    def state_bytes(self, ask: Callable[[], Mapping[str, int]], cpu_s: float) -> Mapping[str, int]:
        """What `ask` says of each operator's state, or said when it was last asked: with many slots it is slow."""
        if self._state_allowance.is_enough(cpu_s):
            start_s = time.thread_time()
            self._state_bytes = dict(ask())
            self._state_allowance.spend(time.thread_time() - start_s)
        return self._state_bytes

    def take_sizing_ns(self) -> int:
        """What telling the bytes of blocks has taken since the last time."""
        spent_ns = sum([meter.sizing_ns for meter in self.operators.values()])
        for meter in self.operators.values():
            meter.sizing_ns = 0
        return spent_ns

    def end(self) -> float:
        """The process's CPU clock at the end of a task."""
        ElementMeters._task_ended_cpu_s = time.process_time()
        return ElementMeters._task_ended_cpu_s


class TaskFigures:
    """Counts of a task; `entry` and `exit` are the gates that its batches pass."""

    def __init__(self, meters: ElementMeters, replica: int, start: TaskStart, loop_cpu_s: float) -> None:
        self._meters, self._replica = meters, replica
        self._start, self._loop_cpu_s = start, loop_cpu_s
        self.entry, self.exit = TransferTime(Pace()), TransferTime(meters.pace)  # few, long passages come in
        self.service, self.step_turn = ServiceTimes(), meters.step_turn
        self.slots = SlotCounts(meters.slot_turn)
        self._inputs: dict[str, list[int]] = {}
        self._outputs: dict[str, list[int]] = {}
        self._taken: dict[str, tuple[int, int]] = {}
        self._blocks = 0
        self.read_tuples = 0  # from sources
        self.triggers, self.arrivals = Triggers(), ArrivalPieces()

    def took(self, stream: str, tuples: int, size_bytes: int) -> None:
        """A block came in."""
        self._blocks += 1
        _add(self._inputs, stream, tuples, size_bytes)

    def read(self, source: str, tuples: int, size_bytes: int) -> None:
        """A block came from a source."""
        self.read_tuples += tuples
        self.took(source, tuples, size_bytes)

    def gave(self, stream: str, tuples: int, size_bytes: int) -> None:
        """A block left by a stream, or into a sink."""
        _add(self._outputs, stream, tuples, size_bytes)

    def took_offsets(self, source: str, start: int, stop: int) -> None:
        """A block came from some offsets of a source."""
        first, end = self._taken.get(source, (start, stop))
        self._taken[source] = (min(first, start), max(end, stop))

    def report(
        self,
        slots_rebuilt: int = 0,
        state_bytes: Callable[[], Mapping[str, int]] = dict,
        *,
        threads: ThreadsLeft | None = None,
        slot_cpu_ns: npt.NDArray[np.int64] | None = None,
    ) -> PlainReport:
        """All that was measured; the task is over but for this."""
        report_ns = time.thread_time_ns()
        meters = self._meters
        known = meters.state_bytes(state_bytes, time.process_time() - self._start.cpu_s)
        deliveries_ns = [own_ns for meter in meters.operators.values() for _, own_ns in meter.delivered]
        operators = tuple([meter.take(known.get(name, 0)) for name, meter in meters.operators.items()])
        triggers, slots = self.triggers.rows(), self.slots.counts_by_element()
        wall_s, cpu_s = time.perf_counter() - self._start.wall_s, meters.end() - self._start.cpu_s
        waiting_s = self.entry.waiting_s + self.exit.waiting_s
        calls = sum([own[3] for own in operators]) + len(deliveries_ns)
        timed = sum([own[4] for own in operators]) + sum([own_ns >= 0 for own_ns in deliveries_ns])
        timed += self.entry.timed + self.exit.timed + self.service.blocks
        sizing_ns = meters.take_sizing_ns()
        cost_ns = _COLD * clock_pair_ns() + sizing_ns / max(timed, 1)
        meters.pace.adapt(cpu_s * 1e9, calls + self.exit.passages + self._blocks, cost_ns)
        self.slots.adapt(cpu_s * 1e9)
        dealt_ns = self.slots.counted_blocks * counting_ns()
        counted_ns = _COLD * (calls * meter_call_ns() + timed * clock_pair_ns() + self._blocks * _block_ns() + dealt_ns)
        encoding_ns, ElementMeters.encoding_ns = ElementMeters.encoding_ns, 0
        timed_ns = (
            encoding_ns + sizing_ns + self.slots.spent_ns + self.triggers.spent_ns + time.thread_time_ns() - report_ns
        )
        replica = (
            self._replica, self.tuples_in, sum([own[0] for own in self._outputs.values()]),
            max(wall_s - waiting_s, 0.0), cpu_s, slots_rebuilt, waiting_s, _ports(self._inputs), _ports(self._outputs),
            operators, self.service.variance_s2, None, self._loop_cpu_s, (counted_ns + timed_ns) / 1e9,
            threads is None or threads.settled, None if threads is None else threads.seen,
            max(core_wait_s() - self._start.stalled_s, 0.0),
        )  # fmt: skip
        counts_by_element = {name: counts.tobytes() for name, counts in slots.items()}
        timed_slots = None if slot_cpu_ns is None else slot_cpu_ns.tobytes()
        return replica, self._taken, triggers, counts_by_element, self.arrivals.plain(), timed_slots

    @property
    def tuples_in(self) -> int:
        return sum([own[0] for own in self._inputs.values()])


def encoded(plain: PlainReport) -> bytes:
    """The report as bytes; what that takes counts as measuring with the next report of this process."""
    start_ns = time.thread_time_ns()
    payload = encode(plain)
    ElementMeters.encoding_ns += time.thread_time_ns() - start_ns
    return payload


def _add(ports: dict[str, list[int]], stream: str, tuples: int, size_bytes: int) -> None:
    port = ports.get(stream)
    if port is None:
        ports[stream] = [tuples, size_bytes]
    else:
        port[0] += tuples
        port[1] += size_bytes


def _ports(ports: dict[str, list[int]]) -> tuple[tuple[str, int, int], ...]:
    return tuple([(stream, tuples, size_bytes) for stream, (tuples, size_bytes) in ports.items()])


@lru_cache(maxsize=1)
def _block_ns() -> int:
    """What counting one block costs here: a passage, a step, two ports and a result."""
    meters, rounds = ElementMeters(), 100
    meters.pace.below = 0
    figures = TaskFigures(meters, 0, TaskStart(), 0.0)
    block = empty_block(pa.schema([(f"x{i}", pa.float64()) for i in range(6)]))
    spent_ns = []
    for _ in range(2):
        start = time.thread_time_ns()
        for i in figures.exit.outward(range(rounds)):
            figures.took("a", 1, block_bytes(block))
            figures.step_turn.is_due()
            figures.gave("a", 1, block_bytes(block))
            figures.triggers.add(block, 0, i, 1)
        spent_ns.append(time.thread_time_ns() - start)
    return spent_ns[1] // rounds


class TransferTime:
    """Time in Spark's hands, inwards or outwards: times some passages and takes them for all."""

    __slots__ = ("_turn", "_waiting_ns", "passages", "timed")

    def __init__(self, pace: Pace) -> None:
        self._turn = Turn(pace)
        self.passages = self.timed = self._waiting_ns = 0

    @property
    def waiting_s(self) -> float:
        """Time in which nothing was done: all of it but the CPU."""
        return self._waiting_ns * self.passages / self.timed / 1e9 if self.timed else 0.0

    def inward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; asking for the next one is a passage."""
        source = iter(items)
        while True:
            self.passages += 1
            start = (time.perf_counter_ns(), time.thread_time_ns()) if self._turn.is_due() else None
            try:
                item = next(source)
            except StopIteration:
                self._note(start)
                return
            self._note(start)
            yield item

    def outward(self, items: Iterable[T]) -> Iterator[T]:
        """The items; handing one over, until the next is asked for, is a passage."""
        for item in items:
            self.passages += 1
            if self._turn.is_due():
                start = time.perf_counter_ns(), time.thread_time_ns()
                yield item
                self._note(start)
            else:
                yield item

    def _note(self, start: tuple[int, int] | None) -> None:
        if start is not None:
            cpu_ns = time.thread_time_ns() - start[1] - clock_pair_ns() // 2
            self._waiting_ns += max(0, time.perf_counter_ns() - start[0] - max(cpu_ns, 0))
            self.timed += 1


class ServiceTimes:
    """Sums over blocks: tuples k, seconds T, and T^2 / k."""

    __slots__ = ("_squares", "blocks", "seconds", "tuples")

    def __init__(self) -> None:
        self.blocks = self.tuples = 0
        self.seconds = self._squares = 0.0

    def add(self, tuples: int, elapsed_ns: int) -> None:
        """A block was taken through all operators, and timed."""
        self.blocks += 1
        if tuples:
            seconds = elapsed_ns * 1e-9
            self.tuples += tuples
            self.seconds += seconds
            self._squares += seconds * seconds / tuples

    @property
    def variance_s2(self) -> float | None:
        """The variance of one tuple's service time, None below two blocks.

        A block of k independent tuples of mean m and variance v takes T with mean k m and variance k v, so that v is
        the mean of (T - k m)^2 / k; with m = sum T / sum k the squares sum to (sum T^2 / k) - m sum T.
        """
        if self.blocks < 2 or not self.tuples:
            return None
        mean_s = self.seconds / self.tuples
        return max(0.0, self._squares - mean_s * self.seconds) / (self.blocks - 1)
