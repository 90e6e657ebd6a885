"""An operator with a meter: tuples of every block, CPU of some of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from penstock.element.block import Block, empty_block
from penstock.element.operators.protocol import RunningOperator
from penstock.element.position import EVERYTHING, Frontier
from penstock.measure.observation import OperatorObservation
from penstock.measure.pace import Pace, Turn, clock_pair_ns

_UNTIMED = -1


class MeteredOperator:
    """Stands in front of a running operator; any number of threads may call it.

    A hot path: appending to a list is one step for the interpreter, so that no thread's count is lost without a lock.
    """

    __slots__ = ("_calls", "_turn", "name", "running")

    def __init__(self, name: str, running: RunningOperator, pace: Pace) -> None:
        self.name, self.running = name, running
        self._turn = Turn(pace)
        self._calls: list[tuple[int, int, int]] = []  # tuples in, tuples out, CPU ns or _UNTIMED

    @property
    def state_bytes(self) -> int:
        return self.running.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """What the operator emits."""
        if self._turn.is_due():
            start = time.thread_time_ns()
            outputs = self.running.process(inputs, frontier)
            cpu_ns = time.thread_time_ns() - start
        else:
            outputs, cpu_ns = self.running.process(inputs, frontier), _UNTIMED
        taken = inputs[0].rows if len(inputs) == 1 else sum([block.rows for block in inputs])
        given = outputs[0].rows if len(outputs) == 1 else sum([block.rows for block in outputs])
        self._calls.append((taken, given, cpu_ns))
        return outputs

    def drain(self) -> OperatorObservation:
        """What was measured since the last drain."""
        calls, self._calls = self._calls, []
        return observed(self.name, calls, self.state_bytes, clock_pair_ns() // 2)

    def forget(self) -> None:
        """Leaves out what was measured since the last drain."""
        self._calls = []


def observed(
    name: str, calls: Sequence[tuple[int, int, int]], state_bytes: int, clock_ns: int = 0
) -> OperatorObservation:
    """The sum of calls; CPU of those that were timed is scaled to all by tuples, or by calls where no tuples came.

    `clock_ns` is the clock's own share of each timed call.
    """
    timed = [call for call in calls if call[2] != _UNTIMED]
    tuples_in = sum(call[0] for call in calls)
    cpu_s = None
    if timed:
        timed_in = sum(call[0] for call in timed)
        scale = tuples_in / timed_in if timed_in else len(calls) / len(timed)
        cpu_s = sum(max(call[2] - clock_ns, 0) for call in timed) * scale / 1e9
    return OperatorObservation(
        name, tuples_in, sum(call[1] for call in calls), len(calls), len(timed), cpu_s, state_bytes
    )


class _Nothing:
    """An operator that does nothing, to see what a meter costs."""

    state_bytes = 0

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        return (inputs[0],)


@lru_cache(maxsize=1)
def meter_call_ns() -> int:
    """What a meter adds to a call that is not timed, here."""
    import pyarrow as pa

    inputs, rounds = [empty_block(pa.schema([]))], 200
    pace = Pace()
    pace.below = 0
    metered, bare = MeteredOperator("nothing", _Nothing(), pace), _Nothing()
    spent_ns = []
    for operator in (metered, bare, metered, bare):
        start = time.thread_time_ns()
        for _ in range(rounds):
            operator.process(inputs, EVERYTHING)
        spent_ns.append(time.thread_time_ns() - start)
    return max(0, (spent_ns[2] - spent_ns[3]) // rounds)
