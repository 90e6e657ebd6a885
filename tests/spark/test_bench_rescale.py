"""`penstock bench rescale` in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench.streaming.rescale import RescaleEffort, rescale_figures, rescale_tables, run_rescale
from penstock.bench.streaming.rescale_stock import StockEffort

TINY = RescaleEffort(
    keys=300, load_ratio=0.1, highest_s=0.2, warm_s=0.0, steady_s=0.5, after_s=0.5, repeats=1,
    micro_batch_tuples=20_000, block_rows=5_000,
    stock=StockEffort(keys=40, batch_tuples=400, full_batches=3, half_batches=2, limit_s=240.0),
)  # fmt: skip


@pytest.mark.usefixtures("no_session")
def test_both_ways_are_measured_and_ours_is_checked(tmp_path: Path) -> None:
    result = run_rescale(TINY, tmp_path, lambda text: None)
    figures = rescale_figures(result, TINY)
    assert figures["checksum_equal"] is True
    assert figures["gap_ms"] > 0
    assert figures["micro_batch_ms"] > 0
    assert figures["keys"] == 300
    assert figures["load_ratio"] == 0.1
    assert figures["slots_rebuilt"] == 0  # on one host a slot changes hands without being rebuilt
    assert figures["spark"]["because"] == ""
    assert figures["spark_gap_ms"] > figures["spark"]["repartition_ms"] > 0
    assert rescale_tables(result)[0].row_count == 2
