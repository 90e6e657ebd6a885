"""`python -m benchmarks control` in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spark.control_cost import ControlEffort, control_figures, control_notes, run_control
from tests.spark.benchmarks.bench_gate import small_bench


@small_bench
@pytest.mark.usefixtures("no_session")
def test_the_cost_of_control_is_told(tmp_path: Path) -> None:
    effort = ControlEffort(warm_s=12.0, seconds=4.0, rate_tuples_s=50_000.0)
    cost = run_control(effort, tmp_path / "checkpoint", lambda text: None)
    figures = control_figures(cost, effort)
    assert figures["steps"] > 0
    assert figures["task_slots"] == 16, "as many replicas to choose from as a user of a local master has"
    assert figures["changes"] <= 2, "on a busy machine loads may look uneven for a moment"
    assert 0 < figures["control_ratio"] < figures["machinery_ratio"] < 1
    assert "goal 1% for the machinery" in control_notes(cost)[0]
