"""An operator with a meter: tuples of every block, CPU of some of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from penstock.block.block import Block, empty_block
from penstock.block.position import EVERYTHING, Frontier
from penstock.measure.task.sampling_interval import Pace, Turn, clock_pair_ns
from penstock.operators.protocol import OperatorRuntime

_UNTIMED = -1
Call = tuple[int, int, int]  # tuples in, tuples out, CPU ns or _UNTIMED
PlainFigures = tuple[str, int, int, int, int, float | None, int]


class OperatorMeter:
    """The calls of one operator, of all its copies in this process; any number of threads may add to them.

    Appending to a list is one step for the interpreter, so that no thread's call is lost without a lock.
    """

    __slots__ = ("calls", "name", "turn")

    def __init__(self, name: str, pace: Pace) -> None:
        self.name, self.turn = name, Turn(pace)
        self.calls: list[Call] = []

    def take(self, state_bytes: int = 0) -> PlainFigures:
        """What was measured since the last time, as an OperatorObservation has it by position."""
        calls, self.calls = self.calls, []
        return summed(self.name, calls, state_bytes, clock_pair_ns() // 2)


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
            cpu_ns = time.thread_time_ns() - start
        else:
            outputs, cpu_ns = self._runtime.process(inputs, frontier), _UNTIMED
        taken = inputs[0].rows if len(inputs) == 1 else sum([block.rows for block in inputs])
        given = outputs[0].rows if len(outputs) == 1 else sum([block.rows for block in outputs])
        meter.calls.append((taken, given, cpu_ns))
        return outputs


def summed(name: str, calls: Sequence[Call], state_bytes: int, clock_ns: int = 0) -> PlainFigures:
    """The sum of calls; CPU of those that were timed is scaled to all by tuples, or by calls where no tuples came.

    `clock_ns` is the clock's own share of each timed call.
    """
    tuples_in = tuples_out = timed = timed_in = cpu_ns = 0
    for taken, given, own_ns in calls:
        tuples_in += taken
        tuples_out += given
        if own_ns != _UNTIMED:
            timed += 1
            timed_in += taken
            cpu_ns += max(own_ns - clock_ns, 0)
    cpu_s = None
    if timed:
        scale = tuples_in / timed_in if timed_in else len(calls) / timed
        cpu_s = cpu_ns * scale / 1e9
    return name, tuples_in, tuples_out, len(calls), timed, cpu_s, state_bytes


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
