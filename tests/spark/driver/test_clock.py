"""Time windows and joins over time, by key on several replicas of local Spark, with hot slots split."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

import penstock as ps
from penstock.element.evaluation import evaluate
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.layout import layout_of
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.slots.hot_key_splitting import splittable
from penstock.spark.driver.start import start

TUPLES = 40_000


def bars_and_pairs() -> ps.Application:
    """Times that mostly ascend: one in a hundred tuples is late."""
    app = ps.Application("clock")
    source = app.source("quotes", ps.sources.trace(rate="unbounded", total=TUPLES, keys=50, seed=3))
    late = "seq / 100.0 - if(seq % 100 = 7, 2.5, 0.0)"
    emit = {"ticker": "ticker", "kind": "ttype", "seq": "seq", "price": "price", "t": late}
    timed = source.functor("timed", emit=emit)
    emit = {
        "ticker": "any(ticker)",
        "n": "count()",
        "sum": "sum(seq)",
        "high": "max(price)",
        "at": "window_end()",
    }
    timed.aggregate("bars", window=ps.sliding(time_s=3, every_s=1, on="t"), by="ticker", emit=emit).sink("out")
    trades, quotes = timed.split("kinds", {"trades": "kind = 'Trade'", "quotes": None})
    window, emit = ps.sliding(time_s=0.7, on="t"), {"ticker": "left.ticker", "a": "left.t", "b": "right.t"}
    trades.join("pairs", quotes, left_window=window, right_window=window, on="ticker", emit=emit).sink("paired")
    return app


def configured(configuration: Configuration, turn: int) -> Configuration:
    """Other replicas for both elements at every turn, and other slots split."""
    for name in ("bars", "pairs"):
        configuration = configuration.with_replicas(name, 1 + turn % 4)
    bars = configuration.element("bars")
    return configuration.with_element(replace(bars, split=tuple(range(turn % 5, len(bars.route), 5))))


def test_time_goes_by_key_while_replicas_routes_and_splits_change(session: SparkSession) -> None:
    app = bars_and_pairs()
    assert "bars" in splittable(app.graph, layout_of(app.graph))
    configuration = default_configuration(pipeline_of(app.graph), 2)
    configuration = replace(configuration, block_rows=500, micro_batch_tuples=4_000)
    handle = start(app, session=session, configuration=configured(configuration, 2))
    seen = set()
    while not handle.wait(0.05):
        observation = handle.observe()
        if observation is not None and observation.batch not in seen:
            seen.add(observation.batch)
            handle.apply(configured(configuration, len(seen)))
    result, expected = handle.stop(), evaluate(app)
    assert len({len(o.replicas_by_element["bars"]) for o in result.observations}) > 1
    for name in ("out", "paired"):
        assert result.tables[name].to_pylist() == expected[name].to_pylist(), name
    assert expected["out"].num_rows > 1_000
    assert result.dead_letter_count == expected.dead_letters.num_rows > 100
