"""Fusion on Spark: elements as asked for, from the source's element with everything in it to each operator alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.cli import generate
from tests.dataplane.test_paper_configurations import VWAP, application

FUSIONS = [[["quotes", "trades", "window", "vwap"]], [["trades", "window"]], [], [["window", "vwap"]], None]


def test_partitions_of_a_spade_program_run_on_spark(session: SparkSession, tmp_path: Path) -> None:
    generate.write_all(tmp_path, rows=300, seed=3)
    app = application("vwap-cf3", VWAP[-1], tmp_path, partitions=True)
    expected = ps.evaluate(app)["result"]
    assert [e.operators for e in ps.plan_of(app).elements][:3] == [("TradeQuote",), *[(name,) for name in VWAP[:2]]]
    assert ps.evaluate(app, engine="spark", session=session)["result"].equals(expected)


def test_fusion_changes_at_micro_batches_with_its_state(session: SparkSession) -> None:
    app = ps.Application("prices")
    quotes = app.source("quotes", ps.sources.trace("unbounded", total=150_000))
    trades = quotes.functor("trades", where="ttype = 'Trade'", emit={"k": "ticker", "p": "price", "v": "volume"})
    emit = {"k": "any(k)", "pv": "sum(p * v)", "v": "sum(v)"}
    window = trades.aggregate("window", by="k", window=ps.sliding(count=4, per_group=True), emit=emit)
    window.functor("vwap", emit={"k": "k", "vwap": "pv / v"}).sink("out", ps.sinks.memory(max_rows=None))
    first = replace(app.configuration(2), block_rows=500, micro_batch_tuples=10_000)
    handle = ps.start(app, configuration=first, session=session)
    for fusion in FUSIONS * 100:
        handle.apply(handle.configuration.with_fusion(app.graph, fusion))
        if handle.wait(0.3):
            break
    result = handle.stop()
    assert len({tuple(o.replicas_by_element) for o in result.observations}) > 1
    assert result.tables["out"].equals(ps.evaluate(app)["out"].cast(result.tables["out"].schema))
