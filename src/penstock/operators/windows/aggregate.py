"""Aggregate: one tuple per firing of a window, or per group in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.block.block import Block
from penstock.block.column import Column, FixedColumn, empty_column, numpy_type
from penstock.block.dead_letters import DeadLetters
from penstock.block.emission import emitted
from penstock.block.position import Frontier, Integers, output_numbers
from penstock.expressions.evaluation.compiled_functor import FunctorKernel
from penstock.expressions.tree import Attribute
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.kernels.snapshot import SnapshotFields
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow, Fired
from penstock.kernels.windows.time.time_window import TimeFired, TimeWindow
from penstock.operators.python_functions import failure
from penstock.operators.windows.row_windows import HeldWindows
from penstock.operators.windows.segment_aggregates import aggregate_segments, user_aggregate
from penstock.operators.windows.window_attribute import event_times_us, window_values, without_missing
from penstock.plan.aggregate_plan import Plan, has_own_windows, keeps_numbers, plan_aggregate

LATE = "came late: its window had fired already"
Groups = npt.NDArray[np.int32]
Results = dict[int, Column]


class AggregateRuntime(SnapshotFields):
    """Groups, arguments, windows, and the expressions around the calls.

    `firsts` are the types of columns of which a time window's kernel is to keep the oldest tuple's value besides.
    `stage`: how many operators in front of it fire at punctuations.
    """

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        firsts: tuple[np.dtype[Any], ...] = (),
        stage: int = 0,
    ) -> None:
        self.operator, self.letters, self.stage = operator, letters, stage
        self.plan = plan = plan_aggregate(operator, schema)
        self.functions = {name.lower(): function for name, function in operator.functions}
        self.keys = KeyIndex(tuple(schema.field(name).type for name in operator.by)) if operator.by else None
        self.key_columns = tuple(schema.get_field_index(name) for name in operator.by)
        self.arguments = _Arguments(plan, schema)
        self.outputs = None if plan.is_bare else FunctorKernel(None, plan.outputs, plan.call_schema)
        self.bare = tuple(int(o.name[1:]) for o in plan.outputs) if plan.is_bare else ()  # type: ignore[union-attr]
        self.failed: set[int] = set()  # outputs of the block at hand that a user's function could not compute
        self.nothing: Results | None = None  # what a time window gives for a block in which it did not fire
        self.has_own_windows = has_own_windows(operator)
        self.kernel_arguments, self.row_places = _kernel_arguments(operator, plan), _row_places(plan)
        self.counts, self.times = _kernels(operator, plan, firsts)
        needs_rows = bool(plan.by_rows) and not keeps_numbers(operator, plan)
        self.held = HeldWindows(operator.window) if needs_rows or not (self.counts or self.times) else None
        self.snapshot_fields = tuple(n for n in ("keys", "counts", "times", "held") if getattr(self, n) is not None)

    @property
    def key_count(self) -> int:
        """How many keys it has numbered."""
        return 0 if self.keys is None else self.keys.count

    @property
    def state_bytes(self) -> int:
        parts = (self.keys, self.counts, self.times, self.held)
        return sum(part.state_bytes for part in parts if part is not None)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = without_missing(inputs[0], self.operator.window, self.operator.name, self.letters)
        groups, group_count = self._groups(block)
        arguments = self.arguments.columns(block)
        if self.has_own_windows:
            rows, results = self._own_windows(block, groups, group_count, arguments)
        elif self.times is not None:
            rows, results = self._time_windows(block, groups, group_count, arguments)
        else:
            rows, results = self._shared_windows(block, groups, group_count, arguments)
        rows, results = self._without_failed(rows, results, block.rows)
        count = block.rows if rows is None else len(rows)
        columns = self._columns(results, count)
        if self.operator.window.measure == "punctuation" and rows is not None:
            return (self._at_marks(block, columns, rows),)
        return (emitted(block, self.operator.schema, columns, rows),)

    def _without_failed(self, rows: Integers | None, results: Results, count: int) -> tuple[Integers | None, Results]:
        if not self.failed:
            return rows, results
        rows = np.arange(count) if rows is None else rows
        retained = np.delete(np.arange(len(rows)), sorted(self.failed))
        self.failed.clear()
        return rows[retained], {call: column.take(retained) for call, column in results.items()}

    def _groups(self, block: Block) -> tuple[Groups, int]:
        if self.keys is None:
            return np.zeros(block.rows, np.int32), 1
        groups = self.keys.assign([block.columns[i] for i in self.key_columns], block.rows)
        return groups, self.keys.count

    def _own_windows(
        self, block: Block, groups: Groups, group_count: int, arguments: tuple[Column, ...]
    ) -> tuple[Integers | None, Results]:
        """Count windows of groups: what the newest tuple has, what the kernel keeps, what needs the rows."""
        rows: Integers | None = None
        results: Results = {}
        if self.held is not None:
            firings, taken = self.held.process(
                self._held_columns(arguments), groups, group_count, np.zeros(block.rows), NO_MARKS
            )
            rows = firings.triggers
            results |= self._from_rows(firings.offsets, taken)
        if self.counts is not None:
            fired = self.counts.process(groups, group_count, self._kernel_columns(arguments))
            rows = fired.rows
            results |= self._of_kernel(fired)
        for call, key in self.plan.of_key:
            results[call] = _at(block.columns[self.key_columns[key]], rows)
        for call, argument in self.plan.of_trigger:
            results[call] = _at(arguments[argument], rows)
        return rows, results

    def _of_kernel(self, fired: Fired) -> Results:
        results: Results = {call[0]: c for call, c in zip(self.plan.by_kernel, fired.columns, strict=False)}
        return results if fired.offsets is None else results | self._from_rows(fired.offsets, fired.retained)

    def _time_windows(
        self, block: Block, groups: Groups, group_count: int, arguments: tuple[Column, ...]
    ) -> tuple[Integers, Results]:
        assert self.times is not None
        event_us = event_times_us(block, self.operator.window)
        fired = self.times.process(groups, group_count, event_us, self._kernel_columns(arguments))
        if len(fired.late):
            self.letters.add_rows(self.operator.name, LATE, block, fired.late)
        if not len(fired.rows) and self.nothing is not None:
            return fired.rows, self.nothing
        results = self._of_fired(fired)
        if not len(fired.rows):
            self.nothing = results
        return fired.rows, results

    def _of_fired(self, fired: TimeFired) -> Results:
        results: Results = {call[0]: c for call, c in zip(self.plan.by_kernel, fired.columns, strict=False)}
        counts = fired.columns[-1] if fired.columns else empty_column(pa.int64())
        window_rows = _rows_of_windows(fired, counts) if self._needs_mcnt else None
        return results | self._of_groups(fired.groups) | self._of_windows(fired.ends_us, window_rows)

    def _shared_windows(
        self, block: Block, groups: Groups, group_count: int, arguments: tuple[Column, ...]
    ) -> tuple[Integers, Results]:
        assert self.held is not None
        marks = NO_MARKS if block.punctuations is None else block.punctuations.offsets
        values = window_values(block, self.operator.window)
        firings, taken = self.held.process(self._held_columns(arguments), groups, group_count, values, marks)
        self.letters.add_rows(self.operator.name, LATE, block, firings.late)
        results = self._from_rows(firings.offsets, taken) | self._of_groups(firings.groups)
        results |= self._of_windows(firings.ends, firings.window_rows)
        return firings.triggers, results

    def _held_columns(self, arguments: tuple[Column, ...]) -> list[Column]:
        return [arguments[i] for i in self.plan.row_arguments]

    def _kernel_columns(self, arguments: tuple[Column, ...]) -> list[FixedColumn]:
        return [arguments[i] for i in self.kernel_arguments]  # type: ignore[misc]

    def _from_rows(self, offsets: Integers, taken: Sequence[Column]) -> Results:
        place = self.row_places
        return {
            call: self._of_segments(function, None if argument is None else taken[place[argument]], offsets)
            for call, function, argument in self.plan.by_rows
        }

    def _of_segments(self, function: str, column: Column | None, offsets: Integers) -> Column:
        """One call over windows whose values stand one after the other."""
        if column is None:
            return FixedColumn(np.diff(offsets), pa.int64())
        if function in self.functions:
            return self._of_user(function, column, offsets)
        return aggregate_segments(function, column, offsets)

    def _of_user(self, name: str, column: Column, offsets: Integers) -> Column:
        """A user's aggregate; the outputs for which it fails become dead letters."""
        own = self.functions[name]
        results, failures = user_aggregate(own.function, column, offsets, own.returns)
        for output, error in failures.items():
            values = column.slice(int(offsets[output]), int(offsets[output + 1])).to_arrow().to_pylist()
            self.letters.add(self.operator.name, failure(error), {name: values})
            self.failed.add(output)
        return results

    def _of_groups(self, groups: npt.NDArray[np.integer]) -> Results:
        """The key's own attributes."""
        if self.keys is None or not self.plan.of_key:
            return {}
        columns = self.keys.columns(groups.astype(np.int32, copy=False))
        return {call: columns[key] for call, key in self.plan.of_key}

    def _of_windows(self, ends_us: Integers, window_rows: Integers | None) -> Results:
        """What belongs to the whole window: its bounds, and how many tuples it has."""
        results: Results = {}
        for call in self.plan.of_window:
            function = self.plan.calls[call].function
            if function == "mcnt":
                assert window_rows is not None
                results[call] = FixedColumn(window_rows, pa.int64())
            else:
                shift = int(self.operator.window.size) if function == "window_start" else 0
                results[call] = FixedColumn(ends_us - shift, pa.timestamp("us"))
        return results

    @property
    def _needs_mcnt(self) -> bool:
        return any(self.plan.calls[call].function == "mcnt" for call in self.plan.of_window)

    def _columns(self, results: Results, count: int) -> tuple[Column, ...]:
        if self.outputs is None:
            return tuple([results[i] for i in self.bare])
        calls = tuple(results[i] for i in range(len(self.plan.calls)))
        return self.outputs.process(calls, count, 0)[1]

    def _at_marks(self, block: Block, columns: tuple[Column, ...], marks: Integers) -> Block:
        """Outputs that punctuations triggered stand right before them."""
        own = block.punctuations
        if own is None:
            return Block(self.operator.schema, columns, len(marks))
        position = None
        if own.position is not None and block.position is not None:
            position = own.position.take(marks).before_punctuations(output_numbers(marks), self.stage)
        ends = np.searchsorted(marks, np.arange(len(own)), side="right")
        return Block(self.operator.schema, columns, len(marks), position, own.moved(ends))


NO_MARKS = np.empty(0, np.int64)


class _Arguments:
    """The columns that the calls are made on: attributes as they are, or expressions computed in one kernel."""

    def __init__(self, plan: Plan, schema: pa.Schema) -> None:
        bare = [a.name for a in plan.arguments if isinstance(a, Attribute)]
        is_bare = len(bare) == len(plan.arguments)
        self._places = tuple(schema.get_field_index(name) for name in bare) if is_bare else None
        self._kernel = None if is_bare else FunctorKernel(None, plan.arguments, schema)

    def columns(self, block: Block) -> tuple[Column, ...]:
        if self._places is not None:
            return tuple([block.columns[i] for i in self._places])
        assert self._kernel is not None
        return self._kernel.process(block.columns, block.rows, 0)[1]


def _kernels(
    operator: Aggregate, plan: Plan, firsts: tuple[np.dtype[Any], ...]
) -> tuple[CountWindow | None, TimeWindow | None]:
    """The running kernel of an aggregate, if its windows have one."""
    window = operator.window
    places = {argument: i for i, argument in enumerate(_kernel_arguments(operator, plan))}
    calls = tuple(_kernel_call(function, None if a is None else places[a]) for _, function, a in plan.by_kernel)
    types = tuple(numpy_type(plan.argument_types[a]) for a in places)
    retained = tuple(places[a] for a in plan.row_arguments) if keeps_numbers(operator, plan) else ()
    if has_own_windows(operator) and (calls or retained or not plan.by_rows):
        calls = calls or (AggregateCall("count", None),)
        tumbling = window.kind == "tumbling"
        return CountWindow(int(window.size), int(window.every), tumbling, calls, types, retained=retained), None
    if window.measure == "time" and not plan.by_rows:
        calls = (
            *calls,
            AggregateCall("count", None),
            *(AggregateCall("first", len(types) + i) for i in range(len(firsts))),
        )
        return None, TimeWindow(int(window.size), int(window.every), calls, types + firsts)
    return None, None


def _kernel_call(function: str, argument: int | None) -> AggregateCall:
    return AggregateCall({"any": "first", "mcnt": "count"}.get(function, function), argument)  # type: ignore[arg-type]


def _kernel_arguments(operator: Aggregate, plan: Plan) -> tuple[int, ...]:
    retained = plan.row_arguments if keeps_numbers(operator, plan) else ()
    return tuple(dict.fromkeys((*(a for _, _, a in plan.by_kernel if a is not None), *retained)))


def _row_places(plan: Plan) -> dict[int, int]:
    return {argument: place for place, argument in enumerate(plan.row_arguments)}


def _at(column: Column, rows: Integers | None) -> Column:
    return column if rows is None else column.take(rows)


def _rows_of_windows(fired: TimeFired, counts: Column) -> Integers:
    """How many tuples the window of each output has over all groups."""
    assert isinstance(counts, FixedColumn)
    starts = np.flatnonzero(np.diff(fired.ends_us, prepend=np.iinfo(np.int64).min) != 0)
    if not len(starts):
        return NO_MARKS
    totals: Integers = np.repeat(np.add.reduceat(counts.values, starts), np.diff(starts, append=len(fired.ends_us)))
    return totals
