"""The parts of `python -m benchmarks files` that need no Spark."""

from __future__ import annotations

from pathlib import Path

import penstock as ps
from benchmarks.spark.batches import Throughput
from benchmarks.spark.files.file_sets import trade_tables, write_files
from benchmarks.spark.files.files import FilesEffort, FilesResult, FilesRun, application, in_process
from benchmarks.spark.files.files_report import files_figures, files_notes, files_tables

KEYS = {
    "parquet_tuples_s", "dataframe_tuples_s", "dataframe_noop_tuples_s", "csv_tuples_s", "ratio_to_stock",
    "ratio_to_polars_offline", "ratio_to_trace", "equal",
}  # fmt: skip


def test_files_have_the_rows_that_results_are_compared_with(tmp_path: Path) -> None:
    tables = trade_tables(2, 500, keys=7)
    for kind, source in (("parquet", ps.sources.parquet), ("csv", ps.sources.csv)):
        files = write_files(tmp_path / kind, kind, tables, 3)
        assert files.tuples == 1500
        found = ps.evaluate(application(source(files.folder)))["out"]
        assert found.num_rows == in_process(files, 1500)[0]
    assert in_process(files, 700)[0] < in_process(files, 1500)[0]


def test_the_report_has_the_figures_that_were_asked_for() -> None:
    run = FilesRun(Throughput(100, 2.0, 3, (40.0, 60.0)), 100, 50, 7, 0, 900.0)
    result = FilesResult(
        run, None, run, run, Throughput(100, 1.0, 3, ()), 25.0, 10.0, 5.0, 100.0, {"parquet": True, "csv": False}
    )
    figures = files_figures(result, FilesEffort())
    assert set(figures) >= KEYS
    assert figures["ratio_to_trace"] == 0.5
    assert (figures["ratio_to_stock"], figures["ratio_to_polars_offline"], figures["equal"]) == (10.0, 0.5, False)
    result = FilesResult(
        run, run, run, run, run.rate, 25.0, 10.0, None, 100.0, dict.fromkeys(("parquet", "csv", "dataframe"), True)
    )
    assert files_figures(result, FilesEffort())["ratio_to_stock"] is None
    assert files_tables(result)[0].row_count == 4
    assert "of the no-op" in files_notes(figures)[0]
