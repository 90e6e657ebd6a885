"""Finite input on Spark: tables recorded in a checkpoint of its own, run to their end, and read back from memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.arguments import check_arguments, kind, or_none
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.source_kinds import recorded_source
from penstock.element.engine import AtEnd, check_block_rows, collected_streams
from penstock.element.evaluation import Input, Progress, Tables, deliver_all, read_inputs
from penstock.errors import InputError, did_you_mean
from penstock.host.directories import scratch_folder
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.runtime.driver.input_end import check_at_end_fires
from penstock.runtime.driver.recording import recorded
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import launch
from penstock.spark.session.session import master_of, spark_session
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.watch.run_result import RunResult

_TAP = "@tap "  # before a stream's name, the name of the sink that taps it
_POLL_S = 0.1
_ALL = sinks.memory(max_rows=None, max_mb=None)


class FiniteRun:
    """One evaluation: every sink and tap keeps its tuples, whatever its connector; those are served at the end."""

    def __init__(self, graph: Graph, taps: Iterable[str], configuration: Configuration | None, block_rows: int) -> None:
        check_block_rows(block_rows)
        self.graph, self.streams = graph, collected_streams(graph, taps)
        self.with_memory = _with_memory(graph, self.streams)
        self.configuration = None if configuration is None else _fitted(configuration, self.with_memory)
        self.block_rows = block_rows

    def evaluate(
        self,
        inputs: Mapping[str, Input],
        data_dir: str | Path | None,
        on_error: str,
        progress: Progress | None,
        master: str,
        session: SparkSession | None,
        at_end: AtEnd = "hold",
    ) -> Tables:
        check_arguments("ps.evaluate", session=(session, or_none(kind("a SparkSession", SparkSession))))
        master_of(master, None, 1)
        box, letters = LetterBox(on_error=on_error, limit=None), DeadLetters(fail=on_error == "fail")
        tables = read_inputs(self.graph, inputs, letters, data_dir)
        total = sum(table.num_rows for table in tables.values())
        scratch = scratch_folder()
        try:
            graph = recorded(_of_any_time(self.with_memory), tables, str(Path(scratch.path) / "tables"), letters)
            if at_end == "fire":
                check_at_end_fires(graph)
            handle = launch(
                graph, Checkpoint(scratch.path), box, configuration=self.configuration, block_rows=self.block_rows,
                session=lambda: session or spark_session(master), fires_at_end=at_end == "fire",
            )  # fmt: skip
            result = _finished(handle, total, progress)
        finally:
            scratch.remove()
        return self._gathered(result, letters.table(), handle.session)

    def _gathered(self, result: RunResult, letters: pa.Table, session: SparkSession) -> Tables:
        tables = Tables({name: result.tables[_sink_of(self.graph, name)] for name in self.streams})
        tables.dead_letters = pa.concat_tables([letters, result.dead_letters])
        tables.state_bytes, tables.advice = {}, ()
        tables.written = deliver_all(self.graph, tables, session)
        return tables


def _finished(handle: Handle, total: int, progress: Progress | None) -> RunResult:
    """Waits for the end; the state that its slots had on this host goes with it."""
    try:
        while not handle.wait(_POLL_S):
            observation = handle.observe()
            if progress is not None and observation is not None:
                progress(_tuples_in(handle.result), total)
        if progress is not None:
            progress(total, total)
    finally:
        result = handle.stop()
    return result


def _tuples_in(result: RunResult) -> int:
    earlier = 0 if result.earlier is None else result.earlier.tuples_in
    return earlier + sum(o.tuples_in for o in result.observations)


def _with_memory(graph: Graph, streams: Mapping[str, str]) -> Graph:
    """The graph with all sinks in memory, and one more for each tap."""
    own = {sink.name for sink in graph.sinks}
    operators: list[ops.Operator] = [
        replace(o, connector=_ALL) if isinstance(o, ops.Sink) else o for o in graph.operators
    ]
    for name, stream in streams.items():
        if name not in own:
            operators.append(ops.Sink(_TAP + name, (stream,), graph.producer(stream).schema, _ALL))
    return replace(graph, operators=tuple(operators))


def _sink_of(graph: Graph, name: str) -> str:
    return name if any(sink.name == name for sink in graph.sinks) else _TAP + name


def _fitted(given: Configuration, graph: Graph) -> Configuration:
    """A whole Configuration of the graph over tables: what was given by element's name, one replica for the others.

    Over tables there is no intake, and a source may be fused with what reads it: elements that only a stream from
    elsewhere has are left out.
    """
    pipeline = pipeline_of(_over_tables(graph), given.fused)
    configuration = default_configuration(pipeline, 1)
    known = {element.name.removeprefix(_TAP): element.name for element in pipeline.elements}
    elsewhere = {element.name for element in pipeline_of(graph, given.fused).elements}
    for element in given.elements:
        if element.name in known:
            configuration = configuration.with_element(replace(element, name=known[element.name]))
        elif element.name not in elsewhere:
            hint = did_you_mean(element.name, known)
            names = f"there are: {', '.join(known)}" + (f"; {hint}" if hint else "")
            raise InputError(f"configuration has an element '{element.name}', which the application does not; {names}")
    return replace(
        configuration, block_rows=given.block_rows, micro_batch_tuples=given.micro_batch_tuples, unfused=given.unfused,
        fusion=given.fusion,
    )  # fmt: skip


def _of_any_time(graph: Graph) -> Graph:
    """The graph over tables that were given as they are: nothing in them is ahead of the clock on the wall."""
    operators = [replace(o, max_ahead_s=None) if isinstance(o, ops.Source) else o for o in graph.operators]
    return replace(graph, operators=tuple(operators))


def _over_tables(graph: Graph) -> Graph:
    """The graph as it is planned when its sources are tables."""
    operators = [replace(o, connector=recorded_source("")) if isinstance(o, ops.Source) else o for o in graph.operators]
    return replace(graph, operators=tuple(operators))
