"""What the benches on Spark compute from what they saw, held to plain versions."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.__main__ import app as bench_app
from benchmarks.spark.applications import sums_on, vwap_on
from benchmarks.spark.batches import gaps_ms, late_results, measuring_ratio, throughput
from benchmarks.spark.floor import floor_result
from benchmarks.spark.in_process import parquet_totals, result_blocks, run_in_process
from benchmarks.spark.rescale.rescale_stock import SparkRescale
from benchmarks.spark.spark_threads import (
    SparkThreadsEffort,
    SparkThreadsRow,
    spark_threads_figures,
    spark_threads_table,
)
from benchmarks.spark.state import StateEffort, only_cases
from benchmarks.spark.state_case import needed_bytes
from benchmarks.spark.vwap.stock import Budget, Cell
from benchmarks.spark.vwap.stock_state import PandasProcessor, RowProcessor, apply_with_state
from benchmarks.spark.vwap.stock_tuples import BLOCK_TUPLES, RESULTS, Sums, sums_of_blocks, trade_maker
from benchmarks.spark.vwap.stock_vectorised import window_task
from benchmarks.spark.vwap.vwap import QUICK
from penstock import sinks, sources
from penstock.block.block import block_of
from penstock.element.evaluation import evaluate
from penstock.errors import InputError
from penstock.measure.observation import BatchTimes, CpuObservation, Observation, ReplicaObservation

KEYS = 7
TRACE = sources.trace(rate="unbounded", keys=KEYS, ticker="int32")


def batch(number: int, start_s: float, seconds: float, tuples: int) -> Observation:
    own = ReplicaObservation(0, tuples, tuples, seconds / 4, seconds / 8, 0)
    replicas = {"trades": (own,), "window": (own, own)}
    return Observation(number, start_s, seconds, tuples, tuples, replicas)


def test_throughput_counts_what_lies_between_batches() -> None:
    observed = [batch(0, 0.0, 1.0, 999), batch(1, 1.5, 0.5, 100), batch(2, 3.0, 1.0, 300)]
    rate = throughput(observed, pieces=2)
    assert (rate.tuples, rate.seconds, rate.batches) == (400, 3.0, 2)
    assert rate.pieces_tuples_s == (100.0, 150.0)
    assert rate.spread.lowest == 100.0
    assert gaps_ms(observed) == [1000.0, 2000.0]
    assert throughput(observed[:1]).tuples_s == 0.0


def test_latency_is_commit_minus_scheduled_arrival_weighted_by_tuples() -> None:
    trace = sources.trace("constant", 1000.0, keys=3).open()
    observed = [batch(0, 100.0, 1.0, 1000), batch(1, 101.0, 2.0, 3000)]  # arrive in 0..1 s and 1..4 s
    late = late_results(observed, 0, trace, clock_began_s=99.0)
    arrival_s = trace.arrival_s(np.arange(4000))
    assert arrival_s is not None
    exact_ms = (np.where(np.arange(4000) < 1000, 2.0, 4.0) - arrival_s) * 1000
    for share in (0.5, 0.95):
        assert late.quantile_ms(share) == pytest.approx(np.quantile(exact_ms, share), abs=10)
    assert late.tuples_over(1500.0) == pytest.approx((exact_ms > 1500).sum(), abs=20)
    assert late.weights.sum() == pytest.approx(4000)


def test_measuring_is_left_open_where_observations_do_not_tell() -> None:
    assert measuring_ratio([batch(0, 0.0, 1.0, 1)]) is None
    cpu = CpuObservation(1.0, 1.0, 0.5, 0.5, 1.0, measuring_s=0.02)
    assert measuring_ratio([replace(batch(0, 0.0, 1.0, 1), cpu=cpu)] * 2) == pytest.approx(0.005)


def trades(first: int, blocks: int) -> list[pa.RecordBatch]:
    numbers = pa.RecordBatch.from_arrays([pa.array(range(first, first + blocks), pa.int64())], names=["value"])
    return list(trade_maker(TRACE, 2)(iter([numbers])))


def expected_table(blocks: int) -> pa.Table:
    app = vwap_on(TRACE, sinks.memory())
    return evaluate(app, {"quotes": TRACE.table(0, blocks * BLOCK_TUPLES)})["out"]


def sums_of_tables(tables: list[pa.Table]) -> Sums:
    schema = vwap_on(TRACE, sinks.memory()).graph.sinks[0].schema
    return sums_of_blocks(block_of(table, schema) for table in tables)


class HeldState:
    """The value state of one key as Spark's processors see it, and as applyInPandasWithState does."""

    def __init__(self) -> None:
        self.value: tuple[Any, ...] | None = None

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value

    @property
    def exists(self) -> bool:
        return self.value is not None


class ValueState(HeldState):
    def get(self) -> tuple[Any, ...] | None:
        return self.value


class GroupState(HeldState):
    @property
    def get(self) -> tuple[Any, ...] | None:
        return self.value


class FakeRow(dict[str, Any]):
    """Stands for pyspark's Row: made of names, read by name."""


def groups(batches: list[pa.RecordBatch]) -> Iterator[tuple[int, pd.DataFrame]]:
    frame = pa.Table.from_batches(batches).to_pandas().sample(frac=1.0, random_state=1)
    yield from frame.groupby("ticker")


def by_pandas(states: dict[int, Any], key: int, frame: pd.DataFrame) -> pa.Table:
    processor = PandasProcessor()
    processor.init(SimpleNamespace(getValueState=lambda name, schema: states.setdefault(key, ValueState())))
    cut = len(frame) // 2
    return pa.Table.from_pandas(next(processor.handleInputRows((key,), iter([frame[:cut], frame[cut:]]), None)))


def by_rows(states: dict[int, Any], key: int, frame: pd.DataFrame) -> pa.Table:
    processor = RowProcessor()
    processor.init(SimpleNamespace(getValueState=lambda name, schema: states.setdefault(key, ValueState())))
    rows = (FakeRow(**record) for record in frame.to_dict("records"))
    return pa.Table.from_pylist(list(processor.handleInputRows((key,), rows, None)))


def by_apply(states: dict[int, Any], key: int, frame: pd.DataFrame) -> pa.Table:
    results = apply_with_state((key,), iter([frame]), states.setdefault(key, GroupState()))
    return pa.Table.from_pandas(next(results))


@pytest.mark.parametrize("way", [by_pandas, by_rows, by_apply])
def test_stock_functions_give_what_the_engine_gives(way: Any) -> None:
    states: dict[int, Any] = {}
    tables = [way(states, key, frame) for first in (0, 1) for key, frame in groups(trades(first, 1))]
    assert sums_of_tables(tables).equals(sums_of_tables([expected_table(2)]))


def test_vectorised_way_goes_on_from_its_file_and_a_batch_can_run_again(tmp_path: Path) -> None:
    tables = []
    for number in (0, 1, 1):
        batches = trades(number, 1)
        tables.append([_of_part(batches, tmp_path, number, part) for part in (0, 1)])
    assert tables[1] == tables[2]
    assert sums_of_tables([*tables[0], *tables[1]]).equals(sums_of_tables([expected_table(2)]))


def _of_part(batches: list[pa.RecordBatch], folder: Path, number: int, part: int) -> pa.Table:
    mine = [b.filter(pa.array(b.column("part").to_numpy() == part)) for b in reversed(batches)]
    return pa.Table.from_batches(window_task(folder, number)(iter(mine)))


def test_sums_tell_results_apart() -> None:
    table = expected_table(1)
    low = table.column("low").to_numpy().copy()
    low[3] += 0.01
    changed = table.set_column(table.column_names.index("low"), "low", pa.array(low))
    assert not sums_of_tables([changed]).equals(sums_of_tables([table]))
    assert not sums_of_tables([table.slice(1)]).equals(sums_of_tables([table]))
    assert set(RESULTS) == set(table.column_names)


def test_in_process_totals_do_not_depend_on_blocks() -> None:
    app = vwap_on(TRACE, sinks.discard())
    one, other = (run_in_process(app, 5_000, rows) for rows in (1_000, 777))
    assert (one.results, one.checksum) == (other.results, other.checksum)
    assert one.results == sum(block.rows for block in result_blocks(app, 5_000, 5_000)) > 0


def test_parquet_files_of_batches_that_do_not_count_are_left_out(tmp_path: Path) -> None:
    table = expected_table(1)
    for number in (0, 1):
        pa.parquet.write_table(table, tmp_path / f"batch-{number:012d}-replica-0000.parquet")
    once, twice = (parquet_totals(tmp_path, table.schema, last) for last in (0, 1))
    assert once[0] == table.num_rows
    assert twice == (2 * once[0], 2 * once[1] % 2**64)


def test_cells_say_what_was_reached() -> None:
    warm = Cell("way", 100, (2.0, 3.0, 4.0), Sums(), 60.0)
    cold, nothing = Cell("way", 100, (2.0,), Sums(), 60.0), Cell("way", 100, (), Sums(), 60.0)
    assert (warm.tuples_s, warm.tuples, warm.is_cold) == (100.0, 300, False)
    assert (cold.tuples_s, cold.is_cold) == (50.0, True)
    assert nothing.tuples_s is None
    assert nothing.to_json()["seconds"] == 60.0


def test_floor_joins_what_spark_and_we_report() -> None:
    observed = [batch(number, number, 0.1, 64) for number in range(3)]
    phases = {number: {"triggerExecution": 150.0, "addBatch": 110.0, "walCommit": 5.0} for number in (0, 2)}
    result = floor_result(observed, phases, True)
    assert result.whole_ms == (150.0, 150.0)
    assert result.own_ms["tasks"] == pytest.approx((50.0, 50.0))
    assert result.own_ms["call and deliver"] == pytest.approx((10.0, 10.0))
    assert sum(ms[0] for ms in result.own_ms.values()) == pytest.approx(110.0)
    split = [replace(o, times=BatchTimes(0.01, 0.07, 0.02)) for o in observed]
    parts = floor_result(split, phases, True).own_ms
    assert {name: round(ms[0]) for name, ms in parts.items()} == {
        "plan": 10, "tasks": 50, "submit and collect": 20, "publish": 20, "call and deliver": 10
    }  # fmt: skip


def test_late_tuples_of_sparks_way_are_those_beyond_one_interval() -> None:
    assert SparkRescale("way", 10, 3000.0, 1000.0, rate_tuples_s=50.0).tuples_late == 100
    missing = SparkRescale("way", 10, because="no reason")
    assert missing.tuples_late is None
    assert missing.row() == ("Spark, way", "-", "-", "-", "-", "-", "10", "-")


def test_state_is_estimated_by_the_values_that_windows_come_to_hold() -> None:
    assert needed_bytes(1_000, 4) == 1_000 * 128 + 41_600
    assert needed_bytes(1_000_000, 1_000) == 128_000_000 + round(1.3 * 8 * 400_000_000)


def test_cases_of_the_state_benchmark_can_be_chosen() -> None:
    effort = only_cases(StateEffort(), ["10x4", "20x1000:zipf"])
    assert (effort.cases, effort.skewed_cases, effort.cluster_batches) == (((10, 4),), ((20, 1000),), 0)
    with pytest.raises(InputError, match="a case is 'KEYSxWINDOW'"):
        only_cases(StateEffort(), ["many"])


def test_sums_application_keeps_one_column() -> None:
    app = sums_on(TRACE, sinks.memory(), 3)
    table = evaluate(app, {"quotes": TRACE.table(0, 200)})["out"]
    assert table.column_names == ["ticker", "volume"]


@pytest.mark.parametrize("name", ["vwap", "floor", "rescale", "state"])
def test_commands_have_a_quick_way_and_keep_their_json(name: str) -> None:
    text = CliRunner().invoke(bench_app, [name, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).stdout
    assert "--quick" in text
    assert "--json" in text


def test_elastic_threads_are_compared_with_the_best_fixed_number() -> None:
    rows = [
        SparkThreadsRow("waits", "1", 100.0, 1, True), SparkThreadsRow("waits", "8", 500.0, 8, True),
        SparkThreadsRow("waits", "elastic", 440.0, 7, True, 12.0), SparkThreadsRow("computes", "1", 50.0, 1, True),
        SparkThreadsRow("computes", "elastic", 50.0, 1, False),
    ]  # fmt: skip
    figures = spark_threads_figures(rows, SparkThreadsEffort())
    assert figures["elastic_over_best_fixed_worst"] == 0.88
    assert figures["loads"]["waits"]["speed_up_over_one_thread"] == 4.4
    assert figures["goals_missed"] == ["0.9 of the best fixed number of threads"]
    screen = Console(width=120, file=io.StringIO(), record=True)
    screen.print(spark_threads_table(rows))
    text = screen.export_text()
    assert "12 s" in text
    assert "never" in text


def test_a_run_may_measure_some_ways_of_stock_pyspark_alone() -> None:
    effort = QUICK.with_stock(["transformWithStateIn"], (8_000_000,), 60.0)
    assert (effort.ways, effort.stock_sizes) == (("transformWithStateInPandas",), (8_000_000,))
    assert effort.stock_budget == Budget(QUICK.stock_budget.measure_s, 60.0)
    assert QUICK.with_stock((), (), None) == QUICK
    with pytest.raises(InputError, match="got mine"):
        QUICK.with_stock(["mine"], (), None)
