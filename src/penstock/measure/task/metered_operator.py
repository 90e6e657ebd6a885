"""An operator with a meter: tuples of every block, CPU of some of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa

from penstock.block.block import Block, empty_block
from penstock.block.position import EVERYTHING, Frontier
from penstock.measure.task.block_bytes import block_bytes
from penstock.measure.task.sampling_interval import Pace, Turn, clock_pair_ns
from penstock.operators.protocol import OperatorRuntime

_UNTIMED = -1
Sizes = tuple[int, int]  # bytes in, bytes out
T = TypeVar("T")
# tuples in (of each input where there are several), tuples out, CPU ns or _UNTIMED, bytes where it was timed
Call = tuple[int | tuple[int, ...], int, int, Sizes | None]
PlainFigures = tuple[str, int, int, int, int, float | None, int, int | None, int | None, tuple[int, ...]]


class OperatorMeter:
    """The calls of one operator, of all its copies in this process; any number of threads may add to them.

    Appending to a list is one step for the interpreter, so that no thread's call is lost without a lock.
    """

    __slots__ = ("calls", "delivered", "delivery_turn", "name", "ports", "sizing_ns", "turn")

    def __init__(self, name: str, pace: Pace, ports: int | None = None) -> None:
        self.name, self.turn, self.ports = name, Turn(pace), ports
        self.calls: list[Call] = []
        self.delivered: list[tuple[int, int]] = []  # tuples of each block that a sink wrote, CPU ns or _UNTIMED
        self.delivery_turn = Turn(pace)
        self.sizing_ns = 0  # what telling the bytes of blocks took

    def delivery(self, tuples: int, deliver: Callable[[], T]) -> T:
        """What `deliver` gives, which writes or sends a block's tuples: its CPU is the sink's."""
        if not self.delivery_turn.is_due():
            self.delivered.append((tuples, _UNTIMED))
            return deliver()
        start = time.thread_time_ns()
        given = deliver()
        self.delivered.append((tuples, time.thread_time_ns() - start))
        return given

    def reading(self, read: Callable[[], Block]) -> Block:
        """The block that a source's `read` gives; its CPU and its tuples are the source's."""
        if not self.turn.is_due():
            block = read()
            self.calls.append((block.rows, block.rows, _UNTIMED, None))
            return block
        start = time.thread_time_ns()
        block = read()
        end = time.thread_time_ns()
        size = block_bytes(block)
        self.sizing_ns += time.thread_time_ns() - end
        self.calls.append((block.rows, block.rows, end - start, (size, size)))
        return block

    def take(self, state_bytes: int = 0) -> PlainFigures:
        """What was measured since the last time, as an OperatorObservation has it by position."""
        calls, self.calls = self.calls, []
        delivered, self.delivered = self.delivered, []
        clock_ns = clock_pair_ns() // 2
        own = summed(self.name, calls, state_bytes, clock_ns, self.ports)
        if not delivered:
            return own
        delivery_s = _delivery_s(delivered, clock_ns)  # without it, the sink's CPU is not known
        return (*own[:5], None if delivery_s is None else (own[5] or 0.0) + delivery_s, *own[6:])


class MeteredOperator:
    """Stands in front of a runtime operator."""

    __slots__ = ("_meter", "_runtime")

    def __init__(self, runtime: OperatorRuntime, meter: OperatorMeter) -> None:
        self._runtime, self._meter = runtime, meter

    @property
    def state_bytes(self) -> int:
        return self._runtime.state_bytes

    def export(self) -> dict[str, Any]:
        return self._runtime.export()

    def restore(self, state: dict[str, Any]) -> None:
        self._runtime.restore(state)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """What the operator emits; a hot path: an untimed call costs about a microsecond more."""
        meter = self._meter
        if meter.turn.is_due():
            start = time.thread_time_ns()
            outputs = self._runtime.process(inputs, frontier)
            end = time.thread_time_ns()
            cpu_ns, sizes = end - start, (_bytes(inputs), _bytes(outputs))
            meter.sizing_ns += time.thread_time_ns() - end
        else:
            outputs, cpu_ns, sizes = self._runtime.process(inputs, frontier), _UNTIMED, None
        taken = inputs[0].rows if len(inputs) == 1 else tuple([block.rows for block in inputs])
        given = outputs[0].rows if len(outputs) == 1 else sum([block.rows for block in outputs])
        meter.calls.append((taken, given, cpu_ns, sizes))
        return outputs


def _bytes(blocks: Sequence[Block]) -> int:
    return sum([block_bytes(block) for block in blocks if block.rows])


def summed(
    name: str, calls: Sequence[Call], state_bytes: int, clock_ns: int = 0, ports: int | None = None
) -> PlainFigures:
    """The sum of calls; what was measured of those that were timed is scaled to all.

    CPU goes by tuples, or by calls where no tuples came; bytes by tuples.  `clock_ns` is the clock's own share of each
    timed call.  `ports`: how many of its inputs have tuples, not ticks.
    """
    tuples_in = tuples_out = timed = timed_in = timed_out = cpu_ns = bytes_in = bytes_out = 0
    by_port: list[int] = []
    for taken, given, own_ns, sizes in calls:
        if isinstance(taken, tuple):
            by_port = [a + b for a, b in zip(by_port, taken, strict=True)] if by_port else list(taken)
            taken = sum(taken)
        tuples_in += taken
        tuples_out += given
        if own_ns != _UNTIMED and sizes is not None:
            timed += 1
            timed_in += taken
            timed_out += given
            cpu_ns += max(own_ns - clock_ns, 0)
            bytes_in += sizes[0]
            bytes_out += sizes[1]
    cpu_s = None
    if timed:
        scale = tuples_in / timed_in if timed_in else len(calls) / timed
        cpu_s = cpu_ns * scale / 1e9
    return (
        name, tuples_in, tuples_out, len(calls), timed, cpu_s, state_bytes, _scaled(bytes_in, tuples_in, timed_in),
        _scaled(bytes_out, tuples_out, timed_out), tuple(by_port[:ports]) if by_port else (tuples_in,) if calls else (),
    )  # fmt: skip


def _delivery_s(delivered: Sequence[tuple[int, int]], clock_ns: int) -> float | None:
    """CPU of all deliveries by the tuples of those that were timed; None where none of them were."""
    timed = sum([tuples for tuples, own_ns in delivered if own_ns != _UNTIMED])
    if not timed:
        return None
    cpu_ns = sum([max(own_ns - clock_ns, 0) for _, own_ns in delivered if own_ns != _UNTIMED])
    return cpu_ns * sum([tuples for tuples, _ in delivered]) / timed / 1e9


def _scaled(size_bytes: int, tuples: int, measured: int) -> int | None:
    """Bytes of all tuples by those of some; None where none of some were measured."""
    if not tuples:
        return 0
    return round(size_bytes * tuples / measured) if measured else None


class _Nothing:
    """An operator that does nothing, to see what a meter costs."""

    state_bytes = 0

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        return (inputs[0],)

    def export(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


@lru_cache(maxsize=1)
def meter_call_ns() -> int:
    """What a meter adds to a call that is not timed, here."""
    inputs, rounds = [empty_block(pa.schema([]))], 200
    pace = Pace()
    pace.below = 0
    bare = _Nothing()
    metered = MeteredOperator(bare, OperatorMeter("nothing", pace))
    spent_ns = []
    for operator in (metered, bare, metered, bare):
        start = time.thread_time_ns()
        for _ in range(rounds):
            operator.process(inputs, EVERYTHING)
        spent_ns.append(time.thread_time_ns() - start)
    return max(0, (spent_ns[2] - spent_ns[3]) // rounds)
