"""Rows of a DataFrame that come to the first element as Spark has them: which columns are sent, and blocks of them.

Packed into blocks first, each tuple would go to Python, back to Spark and to Python again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned.source_port import planned_source
from penstock.connectors.planned.zeros import with_zeros
from penstock.connectors.row_checks import fitted
from penstock.plan.elements.source_partitions import counts_partitions
from penstock.plan.elements.unused_attributes import unused_attributes
from penstock.runtime.replica.source_rows import RAW, SCHEMA


def raw_source(graph: Graph) -> Source | None:
    """The source whose rows come as they are: a DataFrame or rate without others, whose partitions need no numbers."""
    source = graph.sources[0]
    has_plan = offset_source(source, 0) is not None or planned_source(source.connector) is not None
    return None if len(graph.sources) > 1 or has_plan or counts_partitions(graph, source) else source


def sent_attributes(graph: Graph, source: Source) -> tuple[str, ...]:
    """The attributes that Spark sends: those that somebody reads, where no row can become a dead letter.

    A row can where the schema forbids nulls; then all of it is in the letter.
    """
    can_fail = any(not field.nullable for field in source.schema)
    unused = frozenset[str]() if can_fail else unused_attributes(graph, source)
    return tuple(name for name in source.schema.names if name not in unused) or tuple(source.schema.names[:1])


def source_rows_of(graph: Graph, batches: Iterable[pa.RecordBatch]) -> Iterator[Mapping[str, object]]:
    """What comes to the first element's task: a row per range, split or block, or one for a batch of raw rows."""
    raw = raw_source(graph)
    for batch in batches:
        if raw is None or batch.schema.names == SCHEMA.names:  # those of a warm-up are packed
            yield from batch.to_pylist()
        elif batch.num_rows:
            yield {"source": raw.name, "start": RAW, "stop": RAW, "payload": batch, "frontier": None}


def raw_block(graph: Graph, source: Source, batch: pa.RecordBatch, letters: DeadLetters) -> Block:
    """The rows that fit the schema; attributes that were not sent are zeros."""
    names = source.schema.names if batch.num_columns == len(source.schema) else sent_attributes(graph, source)
    left_out = [field for field in source.schema if field.name not in names]
    return fitted(with_zeros(batch.rename_columns(list(names)), left_out), source, letters)
