"""Applications on local Spark give what the in-process engine gives, to the bit and in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks.spark.applications import vwap_on
from benchmarks.spark.in_process import run_in_process
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.app.windows import sliding, tumbling
from penstock.element.evaluation import evaluate
from penstock.errors import ApplicationError, InputError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.start import run, start
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


def test_workers_side_by_side_add_more_keys_than_the_files_first_hold(session: SparkSession) -> None:
    trace = sources.trace(rate="unbounded", keys=150_000, ticker="int32", total=2_000_000)
    app = vwap_on(trace, sinks.discard())
    configuration = default_configuration(pipeline_of(app.graph), 2)
    configuration = replace(configuration, block_rows=32_768, micro_batch_tuples=500_000)
    result = run(app, session=session, configuration=configuration, duration_s=400)
    reference = run_in_process(app, 2_000_000, 32_768)
    assert result.discarded["out"] == (reference.results, reference.checksum)


def test_a_finished_checkpoint_ends_at_once_and_another_application_is_refused(
    session: SparkSession, tmp_path: Path
) -> None:
    app = prices(sinks.discard(), 5_000)
    run(app, session=session, checkpoint=tmp_path / "c", duration_s=400)
    unreachable = "spark://127.0.0.1:1"  # so nothing asks Spark
    assert run(app, master=unreachable, checkpoint=tmp_path / "c").observations == []
    with pytest.raises(InputError, match="another version of application 'prices': 'quotes' changed; take another"):
        run(prices(sinks.discard(), 6_000), session=session, checkpoint=tmp_path / "c")


def several_sources(total: int) -> Application:
    """Two traces that are merged and joined, with operators of every kind of state behind them."""
    app = Application("several")
    quotes = app.source("quotes", sources.trace(rate="unbounded", total=total, keys=20), rate_tuples_s=2.0)
    orders = app.source("orders", sources.trace(rate="unbounded", total=total // 2, keys=20, seed=8))
    both = quotes.delay("late", 5.0).union("both", orders)
    both.sort("by_price", "price", window=tumbling(count=5)).sink("sorted")
    window = sliding(count=2, per_group=True)
    emit = {"ticker": "left.ticker", "a": "left.seq", "b": "right.seq"}
    pairs = quotes.join("pairs", orders, left_window=window, right_window=window, on="ticker", emit=emit)
    pairs.aggregate("counted", by="ticker", window=sliding(count=3, per_group=True), emit={"n": "sum(a)"}).sink("out")
    return app


def test_merged_sources_and_all_kinds_of_state_equal_the_in_process_engine(session: SparkSession) -> None:
    app = several_sources(4_000)
    expected = evaluate(app)
    configuration = replace(default_configuration(pipeline_of(app.graph), 2), block_rows=300, micro_batch_tuples=2_000)
    result = run(app, configuration=configuration, session=session)
    for name in ("sorted", "out"):
        assert result.tables[name].equals(expected[name].cast(result.tables[name].schema)), name


def test_fusion_changes_while_the_query_runs(session: SparkSession) -> None:
    app = prices(sinks.memory(), 200_000)
    configuration = replace(default_configuration(pipeline_of(app.graph), 2), block_rows=500, micro_batch_tuples=10_000)
    handle = start(app, configuration=configuration, session=session)
    for unfused in (("result",), ("trades", "result"), ()) * 100:
        handle.apply(handle.configuration.with_unfused(app.graph, unfused))
        if handle.wait(0.3):
            break
    result = handle.stop()
    assert len({tuple(o.replicas_by_element) for o in result.observations}) > 1
    assert result.tables["out"].equals(evaluate(app)["out"].cast(result.tables["out"].schema))


def test_sources_that_spark_cannot_read_are_named_together() -> None:
    app = Application("unread")
    for name in ("one", "two"):
        app.source(name, schema={"x": "float64"}).sink(f"out_{name}")
    with pytest.raises(ApplicationError) as raised:
        start(app)
    assert [p.where.split(" (")[0] for p in raised.value.problems] == ["operator 'one'", "operator 'two'"]


def test_a_configuration_that_does_not_fit_is_refused(session: SparkSession) -> None:
    app = prices(sinks.discard(), 1_000)
    configuration = default_configuration(pipeline_of(app.graph), 2)
    with pytest.raises(InputError, match=r"there is no element 'windo'; .* did you mean 'window'"):
        configuration.with_replicas("windo", 2)
    with pytest.raises(InputError, match="at least one replica"):
        configuration.with_replicas("window", 0)
