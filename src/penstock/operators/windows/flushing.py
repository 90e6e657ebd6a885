"""Windows that fire what they hold at the end of the input: tumbling ones, and time windows at every end to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.block.block import Block, concat_blocks, empty_block
from penstock.block.column import Column, FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import AT_TICK, EVERYTHING, Frontier, Integers, Position
from penstock.kernels.snapshot import SnapshotFields
from penstock.kernels.watermark import END
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.windows.aggregate import NO_MARKS, AggregateRuntime, Results
from penstock.operators.windows.row_windows import HeldWindows
from penstock.operators.windows.sort import SortRuntime

_NOTHING = np.zeros(1, np.int64)


@runtime_checkable
class Flushable(Protocol):
    """What an operator's windows hold when the input ends, as results."""

    def flush(self) -> Block: ...


def can_flush(operator: ops.Operator) -> bool:
    """Whether an operator's windows fire at the end of the input."""
    match operator:
        case ops.Aggregate():
            return operator.window.kind == "tumbling" or operator.window.measure == "time"
        case ops.Sort():
            return True
        case _:
            return False


class FlushingOperator(SnapshotFields):
    """Stands in front of a runtime operator and reads the ticks behind its input, of which only the end counts.

    `rank` is the operator's place in the program.
    """

    snapshot_fields = ("runtime",)

    def __init__(self, runtime: OperatorRuntime, rank: int) -> None:
        assert isinstance(runtime, Flushable)
        self.runtime, self._rank = runtime, rank

    @property
    def state_bytes(self) -> int:
        return self.runtime.state_bytes

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block, ticks = inputs
        outputs: list[Block] = []
        if block.rows or block.punctuations is not None:
            outputs += self.runtime.process((block,), frontier)
        kinds = ticks.columns[0]
        assert isinstance(kinds, FixedColumn)
        if (kinds.values == END).any():
            assert isinstance(self.runtime, Flushable)
            outputs.append(self._at_the_end(self.runtime.flush(), block.position is not None))
        if not outputs:
            return (empty_block(self.runtime.operator.schema),)  # type: ignore[attr-defined]
        return (concat_blocks(outputs),)

    def _at_the_end(self, results: Block, is_placed: bool) -> Block:
        """Behind all that came of any tuple, in the order of the program."""
        if not is_placed:
            return results
        rows = results.rows
        levels = np.vstack([np.full(rows, AT_TICK + self._rank, np.int64), np.arange(rows, dtype=np.int64)])
        root = [np.full(rows, own) for own in EVERYTHING]
        position = Position(root[0], root[1], root[2], levels)
        return Block(results.schema, results.columns, rows, position)


class FlushingAggregate(AggregateRuntime):
    """Keeps the rows of its groups' own windows next to the kernel, which has only running values of them."""

    def __init__(self, operator: ops.Aggregate, schema: pa.Schema, letters: DeadLetters, stage: int = 0) -> None:
        super().__init__(operator, schema, letters, stage=stage)
        self.rest = HeldWindows(self.operator.window) if self.has_own_windows else None
        if self.rest is not None:
            self.snapshot_fields = (*self.snapshot_fields, "rest")

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        if self.rest is not None:
            block = inputs[0]
            groups, count = self._groups(block)
            columns = [*self.arguments.columns(block), *(block.columns[place] for place in self.key_columns)]
            self.rest.process(columns, groups, count, np.zeros(block.rows), NO_MARKS)
        return super().process(inputs, frontier)

    def flush(self) -> Block:
        """One result for each group in each window that holds something, windows by their oldest tuple."""
        held = self.held if self.rest is None else self.rest
        if held is not None and held.columns is None:
            return empty_block(self.operator.schema)
        if self.rest is not None:
            count, results = self._of_rest(self.rest)
        elif self.times is not None:
            count, results = self._of_time_windows()
        else:
            assert self.held is not None
            firings, taken = self.held.flush()
            results = self._from_rows(firings.offsets, taken) | self._of_groups(firings.groups)
            results |= self._of_windows(firings.ends, firings.window_rows)
            count = len(firings.groups)
        rows, results = self._without_failed(None, results, count)
        count = count if rows is None else len(rows)
        return Block(self.operator.schema, self._columns(results, count), count)

    def _of_rest(self, rest: HeldWindows) -> tuple[int, Results]:
        firings, taken = rest.flush()
        offsets, arguments = firings.offsets, taken[: len(self.plan.arguments)]
        results: Results = {}
        for call, function, argument in (*self.plan.by_kernel, *self.plan.by_rows):
            results[call] = self._of_segments(function, None if argument is None else arguments[argument], offsets)
        for call, argument in self.plan.of_trigger:
            results[call] = arguments[argument].take(offsets[1:] - 1)
        for call, key in self.plan.of_key:
            results[call] = taken[len(arguments) + key].take(offsets[:-1])
        return len(firings.groups), results

    def _of_time_windows(self) -> tuple[int, Results]:
        """Moves the clock by a tuple of a group of its own, to where all windows have ended."""
        assert self.times is not None
        started, pane, *_ = self.times.clock
        window, count = self.operator.window, 1 if self.keys is None else self.keys.count
        beyond_us = (pane + int(window.size // window.every) + 1) * int(window.every) if started else 0
        columns = [FixedColumn(np.zeros(1, type_), pa.from_numpy_dtype(type_)) for type_ in self.times.shape[1]]
        fired = self.times.process(np.full(1, count, np.int32), count + 1, _NOTHING + beyond_us, columns)
        results = self._of_fired(fired)
        return len(fired.rows), results


class FlushingSort(SortRuntime):
    def flush(self) -> Block:
        if self.windows is None:
            held = empty_block(self.operator.schema) if self.store is None else self.store
            self.store = None
            return held.take(self._order(held, np.zeros(held.rows, np.int64)))
        firings, taken = self.windows.flush()
        segment: Integers = np.repeat(np.arange(len(firings.triggers)), np.diff(firings.offsets))
        block = Block(self.operator.schema, taken or _no_columns(self.operator.schema), len(segment))
        return block.take(self._order(block, segment))


def _no_columns(schema: pa.Schema) -> tuple[Column, ...]:
    return empty_block(schema).columns
