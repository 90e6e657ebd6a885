"""Finite tables as sources that are known by offsets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import source_position
from penstock.connectors.recorded import record
from penstock.connectors.source_kinds import recorded_source
from penstock.element.intake import Intake
from penstock.host.atomic_file import make_folder
from penstock.host.paths.file_names import file_name
from penstock.plan.elements.order import streams_with_positions


def recorded(graph: Graph, tables: Mapping[str, pa.Table], directory: str, letters: DeadLetters) -> Graph:
    """The graph with sources replaced by their tables, cleaned and given positions as every engine would."""
    make_folder(directory)
    operators: list[ops.Operator] = []
    for operator in graph.operators:
        if isinstance(operator, ops.Source) and operator.name in tables:
            path = os.path.join(directory, f"{file_name(operator.name)}.arrow")
            place = graph.sources.index(operator)
            merged = operator.name in streams_with_positions(graph)
            record(_taken(operator, place, tables[operator.name], letters, merged=merged), path)
            operator = replace(operator, connector=recorded_source(path))
        operators.append(operator)
    return replace(graph, operators=tuple(operators))


def _taken(source: ops.Source, place: int, table: pa.Table, letters: DeadLetters, *, merged: bool) -> Block:
    intake = Intake(source, place, merged, letters)
    rows = intake.add(table.unify_dictionaries())
    block = intake.take(rows) if rows else empty_block(source.schema)
    if block.position is None:  # nothing depends on the stamps of a source that is merged with none
        block.position = source_position(np.arange(rows, dtype=np.float64), place, 0)
    return block
