"""`python -m benchmarks rescale` in small."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.spark.rescale.rescale import (
    Change,
    RescaleEffort,
    RescaleResult,
    rescale_figures,
    rescale_tables,
    run_rescale,
)
from benchmarks.spark.rescale.rescale_stock import StockEffort, rescale_stock
from tests.spark.benchmarks.bench_gate import small_bench

TINY = RescaleEffort(
    keys=300, load_ratio=0.1, highest_s=0.2, warm_s=0.0, steady_s=0.5, after_s=0.5, repeats=1,
    micro_batch_tuples=20_000, block_rows=5_000, stock=None,
)  # fmt: skip
TINY_STOCK = StockEffort(keys=40, batch_tuples=400, full_batches=3, half_batches=2, limit_s=400.0)


@small_bench
@pytest.mark.usefixtures("no_session")
def test_a_change_under_load_is_measured_and_checked(tmp_path: Path) -> None:
    result = run_rescale(TINY, tmp_path, lambda text: None)
    figures = rescale_figures(result, TINY)
    assert figures["checksum_equal"] is True
    assert figures["gap_ms"] > 0
    assert figures["micro_batch_ms"] > 0
    assert figures["keys"] == 300
    assert figures["load_ratio"] == 0.1
    assert figures["slots_rebuilt"] == 0  # on one host a slot changes hands without being rebuilt
    assert figures["spark_gap_ms"] is None
    assert rescale_tables(result)[0].row_count == 1


@pytest.mark.skipif("PENSTOCK_PEERS" not in os.environ, reason="stock PySpark takes minutes; set PENSTOCK_PEERS=1")
@pytest.mark.usefixtures("no_session")
def test_sparks_own_way_is_measured(tmp_path: Path) -> None:
    spark = rescale_stock(TINY_STOCK, tmp_path / "checkpoint", lambda text: None)
    assert spark.because == ""
    assert spark.gap_ms is not None
    assert spark.repartition_ms is not None
    assert spark.gap_ms > spark.repartition_ms > 0
    assert spark.rate_tuples_s is not None
    assert spark.rate_tuples_s > 0
    ours = Change(100.0, 200.0, 4, 0, 0, 150.0, 1)
    both = rescale_tables(RescaleResult(10.0, 5.0, (ours,), True, spark))
    assert both[0].row_count == 2
