"""The trading application on local Spark gives what the in-process engine gives, computing and with its service."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.app.application import Application
from penstock.block.block import block_of
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.trading import market, trading
from penstock.element.evaluation import evaluate
from penstock.kernels.keys.row_checksum import checksum_of
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.start import start
from penstock.watch.run_result import RunResult

TUPLES = 60_000


def run_with_changes(app: Application, session: SparkSession, batch_tuples: int) -> RunResult:
    """Another number of replicas at every micro-batch."""
    configuration = replace(
        default_configuration(pipeline_of(app.graph), 2), block_rows=1000, micro_batch_tuples=batch_tuples
    )
    handle = start(app, session=session, configuration=configuration)
    seen = set()
    while not handle.wait(0.05):
        observation = handle.observe()
        if observation is not None and observation.batch not in seen:
            seen.add(observation.batch)
            handle.apply(configuration.with_replicas("windows", 1 + len(seen) % 4))
    return handle.stop()


def expected(app: Application) -> pa.Table:
    trace = app.graph.sources[0].connector
    return evaluate(app, {"quotes": trace.table(0, trace.total)})["out"].combine_chunks()  # type: ignore[union-attr]


def test_spark_equals_the_engine_in_process_with_state_in_slots(session: SparkSession) -> None:
    source = market("unbounded", 60_000.0, symbols=40, speed_up=1.0, total=TUPLES)
    app = trading(source, window=200, sink=sinks.memory())
    result = run_with_changes(app, session, 12_000)
    assert len({len(o.replicas_by_element["windows"]) for o in result.observations}) > 1
    assert result.tables["out"].combine_chunks().equals(expected(app))
    assert result.dead_letter_count == 0


def test_every_window_asks_the_service_once(session: SparkSession) -> None:
    source = market("unbounded", 60_000.0, symbols=40, speed_up=1.0, total=12_000)
    with price_service(delay_ms=1.0) as port:
        app = trading(source, window=100, service=port, sink=sinks.discard())
        result = run_with_changes(app, session, 4_000)
        wanted = expected(trading(source, window=100, service=port))
    block = block_of(wanted, wanted.schema)
    assert result.discarded["out"] == (wanted.num_rows, checksum_of(block))
    assert result.dead_letter_count == 0
