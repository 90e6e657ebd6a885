"""An application as it is profiled: sources without a schedule, results that go nowhere, every operator apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.files.readers import read_source
from penstock.connectors.kinds import discarding_sink, in_folder
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.connectors.source_kinds import can_be_read_whole, endless, replayable, tuples_by_function
from penstock.errors import InputError
from penstock.host.paths.file_names import file_name
from penstock.plan.configuration import Configuration
from penstock.runtime.profiling.repeated_table import RepeatedTable, write_table


def profiled(graph: Graph, tables: Mapping[str, pa.Table], folder: Path) -> Graph:
    """The graph with sources that give tuples as fast as they are taken, and sinks that leave nothing behind.

    `tables` are what a caller gave for sources; those of files are read, and repeated without an end.
    """
    operators: list[ops.Operator] = []
    for own in graph.operators:
        if isinstance(own, ops.Source):
            own = _endless(own, tables.get(own.name), folder)
        elif isinstance(own, ops.Sink):
            own = replace(own, connector=_harmless(own, folder))
        operators.append(own)
    return replace(graph, operators=tuple(operators))


def with_first_rate(graph: Graph, factor: float) -> Graph:
    """The same with the first source's share of the tuples changed by a factor, as far as sources have one order."""
    first = graph.sources[0]
    faster = replace(first, rate_tuples_s=(first.rate_tuples_s or 1.0) * factor)
    return replace(graph, operators=tuple(faster if own is first else own for own in graph.operators))


def apart(graph: Graph) -> Configuration:
    """Every operator in an element of its own, on one replica; sources stay together, sinks with what they read."""
    groups = [[own.name] for own in graph.operators if not isinstance(own, ops.Source | ops.Sink)]
    return Configuration.of(graph, 1).with_fusion(graph, groups)


def _endless(source: ops.Source, table: pa.Table | None, folder: Path) -> ops.Source:
    connector = source.connector
    trace = replayable(connector)
    if table is None and trace is not None:
        return replace(source, connector=endless(trace))
    if table is None and not can_be_read_whole(connector):
        raise InputError(
            f"source '{source.name}' gives no tuples to profile with, since it has no finite input; give some: "
            f"--input {source.name}=FILE, or ps.profile(app, inputs={{'{source.name}': table}})"
        )
    given = read_source(source, DeadLetters()) if table is None else table
    given = given.select(source.schema.names).cast(source.schema)
    if not given.num_rows:
        raise InputError(f"source '{source.name}' has no tuples to profile with")
    path = os.path.join(folder, f"{file_name(source.name)}.arrow")
    write_table(given, path)
    times = tuple(dict.fromkeys(name for name in (source.event_time, source.stamp) if name))
    function = RepeatedTable(path, times)
    return replace(source, connector=tuples_by_function(function), stamp=None)


def replayed(graph: Graph, tables: Mapping[str, pa.Table]) -> tuple[str, ...]:
    """The sources whose own reading is not measured, as their tuples come from a recording."""
    own = [s for s in graph.sources if s.name in tables or replayable(s.connector) is None]
    return tuple(source.name for source in own)


def _harmless(sink: ops.Sink, folder: Path) -> SinkPort:
    """Files go to a folder that is removed; what calls out, or keeps tuples, is left out."""
    return in_folder(sink.connector, str(folder / "sinks" / file_name(sink.name))) or discarding_sink()
