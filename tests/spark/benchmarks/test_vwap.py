"""`python -m benchmarks vwap` in small: results are checked, and the JSON object has what others read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.spark.applications import vwap_on
from benchmarks.spark.in_process import result_blocks
from benchmarks.spark.sustained import Sizes
from benchmarks.spark.vwap.stock import STOCK_CONF, WAYS, Budget, run_cell, why_not
from benchmarks.spark.vwap.stock_tuples import sums_of_blocks
from benchmarks.spark.vwap.vwap import VwapEffort, run_vwap
from benchmarks.spark.vwap.vwap_report import vwap_figures, vwap_notes, vwap_tables
from penstock import sinks, sources
from penstock.testing import local_session
from tests.spark.benchmarks.bench_gate import small_bench

TINY = VwapEffort(
    sizes=Sizes((20_000, 40_000), (10_000,)), warm_s=0.0, trial_s=0.0, sustain_s=0.2, string_s=0.0, parquet_s=0.0,
    half_rate_s=0.2, half_rate_warm_s=0.0, stock_sizes=(20_000,), stock_budget=Budget(0.0, 240.0), ways=WAYS[-1:],
)  # fmt: skip


@small_bench
@pytest.mark.usefixtures("no_session")
def test_all_runs_are_checked_against_the_engine_in_process(tmp_path: Path) -> None:
    result = run_vwap(TINY, tmp_path, lambda text: None)
    figures = vwap_figures(result, TINY)
    assert figures["checksum_equal"] is True
    assert figures["stock_equal"] is True
    assert figures["tuples_s"] > 0
    assert figures["ratio_to_best_stock"] > 0
    assert figures["ratio_to_best_stock_state"] is None  # none of those ways ran
    asked = {"tuples_s_strings", "tuples_s_parquet", "ratio_to_inprocess", "p95_ms_at_half_rate"}
    assert all(figures[name] > 0 for name in asked)
    assert [trial["micro_batch_tuples"] for trial in figures["tried"]] == [20_000, 40_000]
    assert len(vwap_tables(result)) == 3
    assert "not measured" in vwap_notes(result, figures)[1]


@pytest.mark.skipif("PENSTOCK_PEERS" not in os.environ, reason="stock PySpark takes minutes; set PENSTOCK_PEERS=1")
@pytest.mark.usefixtures("no_session")
def test_stateful_ways_of_stock_pyspark_give_equal_results(tmp_path: Path) -> None:
    trace = sources.trace(rate="unbounded", keys=5, ticker="int32")
    app = vwap_on(trace, sinks.discard())
    ways = [way for way in WAYS if not why_not(way)]
    assert "applyInPandasWithState" in ways
    with local_session(conf=STOCK_CONF) as session:
        for number, way in enumerate(ways):
            budget = Budget(0.0, 240.0)
            cell = run_cell(session, trace, way, 10_000, budget, tmp_path / str(number), lambda text: None)
            assert len(cell.ends_s) >= 2
            assert cell.sums.equals(sums_of_blocks(result_blocks(app, cell.tuples, 5_000))), way
