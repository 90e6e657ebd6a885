"""Applications on local Spark give what the in-process engine gives, to the bit and in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.app import sinks, sources
from penstock.app.application import Application
from penstock.app.windows import sliding, tumbling
from penstock.control.configuration import default_configuration
from penstock.element.evaluation import evaluate
from penstock.errors import ApplicationError, InputError
from penstock.plan.pipeline import pipeline_of
from penstock.spark.query import run, start
from tests.spark.applications import prices

TUPLES = 40_000


def expected(app: Application) -> pa.Table:
    trace = app.graph.sources[0].connector
    assert trace is not None
    return evaluate(app, {"quotes": trace.table(0, TUPLES)})["out"]  # type: ignore[union-attr]


@pytest.mark.parametrize("ticker", ["symbol", "string", "int32"])
def test_spark_equals_the_engine_in_process(session: SparkSession, ticker: str) -> None:
    app = prices(sinks.memory(), TUPLES, ticker=ticker)
    result = run(app, session=session, duration_s=400)
    assert result.tables["out"].combine_chunks().equals(expected(app).combine_chunks())


def test_replicas_and_routes_change_at_every_batch(session: SparkSession) -> None:
    app = prices(sinks.memory(), TUPLES)
    configuration = default_configuration(pipeline_of(app.graph), 2)
    configuration = replace(configuration, block_rows=1000, micro_batch_tuples=4000)
    handle = start(app, session=session, configuration=configuration)
    seen = set()
    while not handle.wait(0.05):
        observation = handle.observe()
        if observation is not None and observation.batch not in seen:
            seen.add(observation.batch)
            handle.apply(configuration.with_replicas("window", 1 + len(seen) % 4))
    result = handle.stop()
    assert len({len(o.replicas_by_element["window"]) for o in result.observations}) > 1
    assert result.tables["out"].combine_chunks().equals(expected(app).combine_chunks())


def test_steady_routes_rebuild_no_slot(session: SparkSession) -> None:
    app = prices(sinks.discard(), TUPLES)
    configuration = default_configuration(pipeline_of(app.graph), 2)
    result = run(
        app,
        session=session,
        configuration=replace(configuration, block_rows=1000, micro_batch_tuples=8000),
        duration_s=400,
    )
    assert [o.slots_rebuilt for o in result.observations[1:]] == [0] * (len(result.observations) - 1)
    assert result.discarded["out"][0] == expected(app).num_rows


def test_a_finished_checkpoint_ends_at_once_and_another_application_is_refused(
    session: SparkSession, tmp_path: Path
) -> None:
    app = prices(sinks.discard(), 5_000)
    run(app, session=session, checkpoint=tmp_path / "c", duration_s=400)
    assert run(app, session=session, checkpoint=tmp_path / "c", duration_s=400).observations == []
    with pytest.raises(InputError, match="belongs to another application"):
        run(prices(sinks.discard(), 6_000), session=session, checkpoint=tmp_path / "c")


def test_operators_that_do_not_run_on_spark_yet_are_named_together() -> None:
    app = Application("sorted")
    quotes = app.source("quotes", sources.trace(rate="unbounded", total=10))
    quotes.sort("by_price", "price", window=tumbling(count=5)).aggregate(
        "whole", by="ticker", window=sliding(count=3), emit={"n": "count()"}
    ).sink("out", sinks.discard())
    with pytest.raises(ApplicationError) as raised:
        start(app)
    assert [p.where.split(" (")[0] for p in raised.value.problems] == ["operator 'by_price'", "operator 'whole'"]


def test_a_configuration_that_does_not_fit_is_refused(session: SparkSession) -> None:
    app = prices(sinks.discard(), 1_000)
    configuration = default_configuration(pipeline_of(app.graph), 2)
    with pytest.raises(InputError, match=r"there is no element 'windo'; .* did you mean 'window'"):
        configuration.with_replicas("windo", 2)
    with pytest.raises(InputError, match="at least one replica"):
        configuration.with_replicas("window", 0)
