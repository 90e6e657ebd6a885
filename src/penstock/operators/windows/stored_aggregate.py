"""An aggregate over count windows whose state lives in slots that replicas share and pass on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.app.operators import Aggregate
from penstock.block.block import Block
from penstock.block.column import Column, FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Integers
from penstock.operators.windows.aggregate import AggregateRuntime, Groups, Results
from penstock.state.checkpoint.logs import Logs
from penstock.state.memory.host_directory import HostDirectory
from penstock.state.rows.stored_count_window import StoredCountWindow
from penstock.state.slots.slot_functions import HashSlots, SlotFunction

_NO_GROUPS: Groups = np.empty(0, np.int32)


class StoredAggregate(AggregateRuntime):
    """The same aggregate with its windows in slots; `stored` is opened and committed by the task that uses it."""

    def __init__(
        self,
        operator: Aggregate,
        schema: pa.Schema,
        letters: DeadLetters,
        *,
        slots: SlotFunction,
        host_directory: HostDirectory,
        logs: Logs,
    ) -> None:
        super().__init__(operator, schema, letters)
        assert self.counts is not None
        window = operator.window
        key_types = tuple(schema.field(name).type for name in operator.by) or (pa.int8(),)
        column_types = tuple(self.plan.argument_types[i] for i in self.kernel_arguments)
        self.stored = StoredCountWindow(
            int(window.size), int(window.every), window.kind == "tumbling", self.counts.calls, key_types, column_types,
            slots=slots.slots, host_directory=host_directory, logs=logs, retained=self.counts.retained,
        )  # fmt: skip
        self.slots = None if isinstance(slots, HashSlots) else slots
        self.counts = None
        self.snapshot_fields = ()  # its slots have it all

    @property
    def state_bytes(self) -> int:
        return self.stored.state_bytes

    def _groups(self, block: Block) -> tuple[Groups, int]:
        return _NO_GROUPS, 0

    def _own_windows(
        self, block: Block, groups: Groups, group_count: int, arguments: tuple[Column, ...]
    ) -> tuple[Integers | None, Results]:
        keys: list[Column] = [block.columns[i] for i in self.key_columns]
        if not keys:
            keys = [FixedColumn(np.zeros(block.rows, np.int8), pa.int8())]
        slots = None if self.slots is None else self.slots.slots_of(keys, block.rows)
        fired = self.stored.process(keys, block.rows, self._kernel_columns(arguments), slots)
        results = self._of_kernel(fired)
        for call, key in self.plan.of_key:
            results[call] = _at(block.columns[self.key_columns[key]], fired.rows)
        for call, argument in self.plan.of_trigger:
            results[call] = _at(arguments[argument], fired.rows)
        return fired.rows, results


def _at(column: Column, rows: Integers | None) -> Column:
    return column if rows is None else column.take(rows)
