"""Windows by punctuation, by key on several replicas of local Spark: marks made by many tasks, in two stages."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

import penstock as ps
from penstock.element.evaluation import evaluate
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.start import start

TUPLES = 20_000


def segments() -> ps.Application:
    app = ps.Application("segments")
    source = app.source("quotes", ps.sources.trace(rate="unbounded", total=TUPLES, keys=50, seed=3))
    marked = source.punctor("marks", "seq % 97 = 5", before=True)
    emit = {"ticker": "any(ticker)", "n": "count()", "x": "sum(price)", "seqs": "collect(seq)"}
    first = marked.aggregate("first", window=ps.sliding(punctuation=2), by="ticker", emit=emit)
    first.sink("out")
    emit = {"tickers": "collect(ticker)", "x": "sum(x)", "n": "sum(n)"}
    first.aggregate("whole", window=ps.tumbling(punctuation=True), emit=emit).sink("totals")
    return app


def configured(configuration: Configuration, turn: int) -> Configuration:
    return configuration.with_replicas("first", 1 + turn % 4)


def test_punctuations_are_told_to_all_replicas_while_these_change(session: SparkSession) -> None:
    app = segments()
    pipeline = pipeline_of(app.graph)
    assert [element.scope for element in pipeline.elements] == ["none", "key", "stream"]
    configuration = default_configuration(pipeline, 2)
    configuration = replace(configuration, block_rows=500, micro_batch_tuples=4_000)
    handle = start(app, session=session, configuration=configured(configuration, 2))
    seen = set()
    while not handle.wait(0.05):
        observation = handle.observe()
        if observation is not None and observation.batch not in seen:
            seen.add(observation.batch)
            handle.apply(configured(configuration, len(seen)))
    result, expected = handle.stop(), evaluate(app)
    assert len({len(o.replicas_by_element["first"]) for o in result.observations}) > 1
    for name in ("out", "totals"):
        assert result.tables[name].to_pylist() == expected[name].to_pylist(), name
    assert expected["totals"].num_rows > 200
