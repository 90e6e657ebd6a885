"""Splits of planned sources as blocks: read, checked against the schema, cut to size and numbered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.block.block import Block
from penstock.block.column import CodedColumn, Column, column_of
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.arriving.arrival import Arrived, LatencyFrom
from penstock.connectors.planned.row_numbers import check_in_place, first_of
from penstock.connectors.planned.source_port import Reading, Split, planned_source
from penstock.connectors.row_checks import check_batch, fitted
from penstock.errors import InputError
from penstock.plan.elements.source_partitions import has_partitions
from penstock.plan.elements.unused_attributes import unused_attributes
from penstock.runtime.replica.source_rows import split_of


class SplitBlocks:
    """Reads the splits of one source in a task."""

    def __init__(self, graph: Graph, source: Source, letters: DeadLetters, block_rows: int) -> None:
        port = planned_source(source.connector)
        assert port is not None
        self._source, self._port, self._block_rows = source, port, block_rows
        unused = unused_attributes(graph, source) if len(graph.sources) == 1 else frozenset()
        self._reading = Reading(source, letters, unused)
        self._latency_from: LatencyFrom = getattr(port, "latency_from", "append")
        self.arrived: Arrived | None = None  # of the block given last; None where nobody says so

    def read(self, payload: bytes) -> Iterator[tuple[int, Block]]:
        """Blocks of a split, each with the number of its first row; what cannot be read is one dead letter."""
        split, arrived_s = split_of(payload)
        known = None if arrived_s is None else Arrived(arrived_s, self._latency_from)
        first = split.first + (first_of(split.partition) if has_partitions(self._source) else 0)
        try:
            for batch in self._batches(split):
                block = fitted(batch, self._source, self._reading.letters)
                check_in_place(first, block.rows, self._source.name)
                arrived = self._reading.moments.pop() if self._reading.moments else known
                for begin in range(0, block.rows, self._block_rows):
                    end = min(begin + self._block_rows, block.rows)
                    self.arrived = None if arrived is None else arrived.part(begin, end, block.rows)
                    yield first + begin, _small(block.slice(begin, end))
                first += block.rows
        except InputError as error:  # a file that is something else costs only itself
            self._reading.reject(str(error), _named(split.part))

    def _batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        for piece in self._port.read(split, self._reading):
            if isinstance(piece, pa.Table):
                check_batch(piece, self._source)
                yield from piece.combine_chunks().to_batches()
            else:
                yield piece


def _named(part: Any) -> dict[str, Any]:
    """What a dead letter says of a split: the file where it has one."""
    return {"file": part["path"]} if isinstance(part, dict) and "path" in part else {"split": part}


def _small(block: Block) -> Block:
    """The block without words that it does not use, where they are many: they would travel with it."""
    if any(isinstance(column, CodedColumn) and len(column.dictionary) > block.rows for column in block.columns):
        block.columns = tuple(map(_recoded, block.columns))
    return block


def _recoded(column: Column) -> Column:
    if not isinstance(column, CodedColumn) or len(column.dictionary) <= len(column):
        return column
    return column_of(column.to_arrow().dictionary_decode().dictionary_encode(), column.type)
