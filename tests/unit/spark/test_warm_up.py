"""What a warm-up may run, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.discard import DiscardSink
from penstock.connectors.memory import MemorySink
from penstock.connectors.parquet import ParquetSink
from penstock.plan.elements.layout import layout_of
from penstock.spark.driver.warm_up import has_own_code, is_worthwhile, rehearsed


def quotes(trace: Any, sink: Any = None) -> Any:
    app = ps.Application("warm")
    rows = app.source("quotes", trace).functor("cheap", where="price < 20")
    rows.sink("out", ps.sinks.discard() if sink is None else sink)
    return app, rows


def test_streams_that_arrive_by_themselves_are_worth_it() -> None:
    assert is_worthwhile(quotes(ps.sources.trace(rate_tuples_s=10))[0].graph)
    assert is_worthwhile(quotes_of_spark().graph)
    assert not is_worthwhile(quotes(ps.sources.trace("unbounded", total=10))[0].graph)


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


def test_code_of_the_user_and_waiting_operators_get_no_tuples() -> None:
    app, rows = quotes(ps.sources.trace(rate_tuples_s=10))
    assert not has_own_code(app.graph)
    rows.operator("counted", Count(), schema={"n": "int64"}, by="ticker").sink("n", ps.sinks.discard())
    assert has_own_code(app.graph)
    app, rows = quotes(ps.sources.trace(rate_tuples_s=10))
    rows.map("own", lambda batch: batch, {"seq": "int64"}).sink("mapped", ps.sinks.discard())
    assert has_own_code(app.graph)
    app, _ = quotes(ps.testing.source_of([{"price": 1.0}]))
    assert has_own_code(app.graph)


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
