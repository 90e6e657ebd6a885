"""`python -m benchmarks state` in small."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.spark.state import StateEffort, run_state, state_figures, state_tables
from tests.spark.benchmarks.bench_gate import small_bench

TINY = StateEffort(
    cases=((200, 4), (1 << 40, 1_000)),
    skewed_cases=(),
    seconds=0.2,
    fill_limit_s=20.0,
    micro_batch_tuples=20_000,
    limit_s=600.0,
    cluster_batches=0,
)


@small_bench
def test_a_killed_driver_goes_on_and_a_wiped_host_is_rebuilt(tmp_path: Path) -> None:
    result = run_state(TINY, tmp_path, lambda text: None)
    figures = state_figures(result)
    killed, impossible = figures["cases"]
    assert killed["because"] == ""
    assert killed["tuples_s"] > 0
    assert killed["filled_ratio"] == 1.0
    assert killed["bytes_per_key"] > 4 * 8
    assert killed["log_bytes_per_tuple"] > 0
    assert killed["slots_rebuilt_per_batch"] == 0
    assert killed["checksum_equal"] is True
    assert killed["restart_ms"] > 0
    assert killed["rebuild_slots"] > 100  # of 200 keys in 512 slots
    assert impossible["because"].startswith("may need")
    assert figures["slots_rebuilt_per_batch"] is None
    assert state_tables(result)[0].row_count == 1


@pytest.mark.skipif("PENSTOCK_CLUSTER" not in os.environ, reason="starts a cluster: make cluster")
@pytest.mark.usefixtures("no_session")
def test_slots_rebuilt_on_a_cluster_are_counted(tmp_path: Path) -> None:
    effort = StateEffort(cases=(), skewed_cases=(), cluster_batches=5, cluster_keys=1_000)
    figures = state_figures(run_state(effort, tmp_path, lambda text: None))
    assert figures["cluster_because"] == ""
    assert figures["cluster_batches"] == 5
    assert figures["slots_rebuilt_per_batch"] >= 0
