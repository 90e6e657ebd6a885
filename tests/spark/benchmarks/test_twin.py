"""`python -m benchmarks twin` in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.twin.twin import TwinEffort, run_twin
from benchmarks.twin.twin_report import draw, figures_of
from tests.spark.benchmarks.bench_gate import small_bench


@small_bench
@pytest.mark.usefixtures("no_session")
def test_the_twin_predicts_a_service_bound_application(tmp_path: Path) -> None:
    effort = TwinEffort(warm_s=4.0, fitted_s=6.0, saturated_s=1.0, step_s=8.0, lead_s=15.0, loop_step_s=4.0, rounds=1)
    found = run_twin(effort, tmp_path, lambda text: None, only=("service-bound",))
    assert found.problems == []
    figures = figures_of(found, quick=True)
    assert {own["what"] for own in figures["throughput"] if not own["fitted"]} == {
        "2 replicas", "4 replicas", "8 replicas"
    }  # fmt: skip
    assert [own["what"] for own in figures["p95"]] == [f"8 replicas at {share}%" for share in (40, 60, 80)]
    assert 0 <= figures["decision_agreement"] <= 1
    assert len(figures["loops"][0]["live"]) == len(figures["loops"][0]["simulated"]) > 5
    draw(found, tmp_path / "twin.png")
