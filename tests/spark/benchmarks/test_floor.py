"""`python -m benchmarks floor` in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spark.floor import FloorEffort, floor_figures, floor_tables, run_floor
from tests.spark.benchmarks.bench_gate import small_bench


@small_bench
@pytest.mark.usefixtures("no_session")
def test_parts_of_a_micro_batch_are_told(tmp_path: Path) -> None:
    effort = FloorEffort(warm_batches=2, batches=4, rounds=2, again_batches=1)
    result = run_floor(effort, tmp_path / "checkpoint", lambda text: None)
    figures = floor_figures(result, effort)
    assert figures["checksum_equal"] is True
    assert figures["batches"] == 4
    assert 0 < figures["micro_batch_ms"] <= figures["micro_batch_p95_ms"]
    assert {"addBatch", "walCommit", "commitOffsets", "queryPlanning"} <= set(figures["spark_ms"])
    assert figures["bare_ms"] > 0
    assert figures["own_ms"]["tasks"] > 0
    assert sum(figures["spark_ms"].values()) <= 1.5 * figures["micro_batch_ms"]
    assert floor_tables(result)[0].row_count == 2 + len(figures["spark_ms"]) + len(figures["own_ms"])
