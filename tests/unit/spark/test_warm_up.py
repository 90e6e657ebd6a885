"""What a warm-up may run, and with what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.block.block import block_of
from penstock.connectors.discard import DiscardSink
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink
from penstock.element.engine import Engine
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.layout import layout_of
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.sources.synthetic import synthetic_batch
from penstock.spark.driver.warm_up import is_worthwhile, planned_rounds, rehearsed


def quotes(trace: Any, sink: Any = None) -> Any:
    app = ps.Application("warm")
    rows = app.source("quotes", trace).functor("cheap", where="price < 20")
    rows.sink("out", ps.sinks.discard() if sink is None else sink)
    return app, rows


def test_streams_that_arrive_by_themselves_are_worth_it() -> None:
    assert is_worthwhile(quotes(ps.sources.trace(rate_tuples_s=10))[0].graph)
    assert is_worthwhile(quotes_of_spark().graph)
    assert not is_worthwhile(quotes(ps.sources.trace("unbounded", total=10))[0].graph)


@pytest.mark.parametrize(
    ("by", "replicas", "expected"), [(None, 2, [2]), ("ticker", 2, [1, 16, 2]), ("ticker", 16, [1, 16])]
)
def test_without_state_one_micro_batch_as_configured_is_warm_enough(
    by: str | None, replicas: int, expected: list[int]
) -> None:
    app, rows = quotes(ps.sources.trace(rate_tuples_s=10))
    if by is not None:
        window = ps.sliding(count=4, per_group=True)
        rows.aggregate("window", by=by, window=window, emit={"n": "count()"}).sink("n", ps.sinks.discard())
    pipeline = pipeline_of(app.graph)
    own = default_configuration(pipeline, replicas)
    rounds = planned_rounds(own, pipeline.elements, task_slots=16)
    assert [round_.elements[-1].replicas for round_ in rounds] == expected
    assert rounds[-1].elements == own.elements
    assert [round_.block_rows for round_ in rounds] == [*[512] * (len(expected) - 1), 16_384]
    assert rounds[-1].micro_batch_tuples == 32_768
    assert planned_rounds(replace(own, block_rows=64), pipeline.elements, task_slots=16)[-1].block_rows == 64


def quotes_of_spark() -> ps.Application:
    app = ps.Application("rate")
    app.source("rows", ps.sources.rate(10)).functor("all", where="value >= 0").sink("out", ps.sinks.discard())
    return app


class Count:
    """Counts the tuples of a key."""

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, Any], state: list[int]) -> dict[str, Any]:
        state[0] += 1
        return {"n": state[0]}


def test_code_of_the_user_is_not_called_and_gets_ready(tmp_path: Path) -> None:
    ready: list[str] = []

    def own(batch: Any) -> Any:
        raise AssertionError("a warm-up calls nothing of the user's")

    own.warm_up = lambda: ready.append("map")  # type: ignore[attr-defined]
    app, rows = quotes(ps.sources.trace(rate_tuples_s=10))
    rows.operator("counted", Count(), schema={"n": "int64"}, by="ticker").sink("n", ps.sinks.discard())
    rows.map("mapped", own, {"seq": "int64", "word": "string"}).sink("m", ps.sinks.discard())
    rows.map("each", own, {"word": "symbol"}, per_tuple=True).sink("e", ps.sinks.discard())
    rows.load("wait", wait_ms_per_tuple=1e9).sink("w", ps.sinks.discard())
    rows.aggregate(
        "windows",
        window=ps.sliding(count=2),
        emit={"x": "own(price)"},
        functions={"own": ps.aggregate_function(own, returns="list<int64>")},
    ).sink("a", ps.sinks.discard())
    graph = rehearsed(app.graph, tmp_path)
    assert layout_of(graph) == layout_of(app.graph)
    found: dict[str, int] = {}
    engine, source = Engine(graph), graph.sources[0]
    for _ in range(2):
        for name, block in engine.process(
            {"quotes": block_of(synthetic_batch(source.schema, 30), source.schema)}
        ).items():
            found[name] = found.get(name, 0) + block.rows
    assert set(found) == {"out", "n", "m", "e", "w", "a"}
    assert all(found.values())
    assert ready == ["map", "map", "map"]  # each place where it is used, once


@pytest.mark.parametrize(
    ("sink", "kind"),
    [
        (ps.sinks.parquet("elsewhere"), ParquetSink),
        (ps.sinks.memory(), MemorySink),
        (ps.sinks.discard(), DiscardSink),
        (ps.sinks.callback(lambda table, batch: None), MemorySink),
        (ps.sinks.console(), MemorySink),
    ],
)
def test_only_files_of_sinks_are_written_and_those_in_another_folder(tmp_path: Path, sink: Any, kind: type) -> None:
    graph = quotes(ps.sources.trace(rate_tuples_s=10), sink)[0].graph
    own = rehearsed(graph, tmp_path)
    connector = own.sinks[0].connector
    assert type(connector) is kind
    assert getattr(connector, "path", str(tmp_path)).startswith(str(tmp_path))
    assert layout_of(own) == layout_of(graph)
