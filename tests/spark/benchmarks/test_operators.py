"""`python -m benchmarks operators` in small: every job's results equal the in-process engine's and stock PySpark's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spark.operators.operator_jobs import OperatorsEffort, run_operators
from benchmarks.spark.operators.operators_report import operators_figures
from tests.spark.benchmarks.bench_gate import small_bench

TINY = OperatorsEffort(rows=4_000, files=4, slow_files=4, micro_batches=2, stock_s=240.0, keys=50)


@small_bench
@pytest.mark.usefixtures("no_session")
def test_all_jobs_give_the_same_results_on_spark_in_process_and_by_stock_pyspark(tmp_path: Path) -> None:
    figures = operators_figures(run_operators(TINY, tmp_path, lambda text: None), TINY)
    wrong = [own for own in figures["rows"] if not own["equal"] or own["stock_equal"] is not True]
    assert not wrong
    assert figures["lowest_ratio_to_stock"] > 0
    assert figures["dead_letters_s"] > 0
