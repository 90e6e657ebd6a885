"""The parts of `python -m benchmarks operators` that need no Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import penstock as ps
from benchmarks.spark.batches import Throughput
from benchmarks.spark.operators.fed_engine import run_fed
from benchmarks.spark.operators.operator_cases import CASES, OperatorCase, application, chosen_cases
from benchmarks.spark.operators.operator_files import LATE, VENUES, OperatorFiles, write_operator_files
from benchmarks.spark.operators.operator_jobs import QUICK, OperatorRow, Ours, StockRun, stock_run
from benchmarks.spark.operators.operators_report import operators_figures, operators_notes, operators_tables
from penstock.errors import InputError

ROWS, KEYS, FILES = 2000, 20, 3


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> OperatorFiles:
    return write_operator_files(tmp_path_factory.mktemp("files"), ROWS, dict.fromkeys((*VENUES, LATE), FILES), KEYS)


def frame(files: OperatorFiles, venue: str) -> pd.DataFrame:
    return pd.concat([files.table(venue, number).to_pandas() for number in range(FILES)])


def pairs_near(files: OperatorFiles) -> int:
    """Pairs of both venues with the same ticker, less than 20 ms apart, counted one by one per ticker."""
    left, right = (frame(files, venue) for venue in VENUES)
    found, by_ticker = 0, right.groupby("ticker")["at"]
    for ticker, own in left.groupby("ticker")["at"]:
        left_us, right_us = (at.astype("datetime64[us, UTC]").astype("int64").to_numpy()
                             for at in (own, by_ticker.get_group(ticker)))  # fmt: skip
        found += int((abs(left_us[:, None] - right_us[None, :]) < 20_000).sum())
    return found


def expected(case: OperatorCase, files: OperatorFiles) -> tuple[int, int]:
    """Results and dead letters, without the engine."""
    every = pd.concat([frame(files, venue) for venue in case.venues])
    if case.name.startswith("sink"):
        return int((every["ttype"] == "Trade").sum()), 0
    if case.name == "join over time":
        return pairs_near(files), 0
    if not case.has_event_time:
        return len(every), 0
    late = every["at"] < pd.Timestamp("2026-01-01", tz="UTC")
    on_time = every[~late]
    return len(on_time.groupby([on_time["at"].dt.floor("s"), "ticker"])), int(late.sum())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_in_process_engine_does_the_job_as_written_plainly(
    case: OperatorCase, files: OperatorFiles, tmp_path: Path
) -> None:
    folders = [files.links(venue, FILES, tmp_path / venue) for venue in case.venues]
    fed = run_fed(case, folders, tmp_path / "out", 1024)
    assert (fed.results - fed.closing_results, fed.dead_letters) == expected(case, files)
    assert fed.tuples == (FILES * ROWS + 2) * len(case.venues)


def test_an_application_over_the_files_gives_what_the_fed_engine_gives(files: OperatorFiles, tmp_path: Path) -> None:
    (case,) = chosen_cases(["time windows"])
    folders = [files.links(venue, FILES, tmp_path / venue) for venue in case.venues]
    found = ps.evaluate(application(case, folders, ps.sinks.memory()))["out"]
    assert found.num_rows == run_fed(case, folders, tmp_path / "out", 512).results


def progress(rows: int, ms: int, results: int | None = None) -> SimpleNamespace:
    metrics = {} if results is None else {"out": {"n": results}}
    return SimpleNamespace(numInputRows=rows, durationMs={"triggerExecution": ms}, observedMetrics=metrics)


def test_the_rate_of_stock_pyspark_leaves_out_its_first_micro_batch_and_that_of_closing_rows() -> None:
    seen = [
        progress(100, 900, 40),
        progress(100, 200, 40),
        progress(300, 300, 100),
        progress(1, 100),
        progress(0, 50, 7),
    ]
    run = stock_run(seen, None, is_whole=True)
    assert (run.tuples, run.seconds, run.results, run.tuples_s) == (400, 0.5, 187, 800.0)
    assert stock_run(seen, 12, is_whole=True).results == 12
    assert stock_run(seen, None, is_whole=False).results is None
    assert stock_run(seen[:1], None, is_whole=False).tuples_s is None


def row_of(case: OperatorCase, tuples_s: float, *, results: int = 50) -> OperatorRow:
    ours = Ours(Throughput(int(tuples_s), 1.0, 3, (tuples_s,)), 1000, results, 7, 500, {"jvm": 460.4})
    fed = SimpleNamespace(tuples=1000, results=50, closing_results=0, checksum=7, dead_letters=500, tuples_s=1e6)
    return OperatorRow(case, ours, StockRun(100_000, 1.0, 50), fed)  # type: ignore[arg-type]


def test_the_report_has_a_row_for_each_job_and_says_which_goals_were_missed() -> None:
    rows = [row_of(case, 700_000.0) for case in CASES]
    figures = operators_figures(rows, QUICK)
    assert [own["name"] for own in figures["rows"]] == [case.name for case in CASES]
    assert (figures["equal"], figures["lowest_ratio_to_stock"]) == (True, 7.0)
    assert figures["lowest_ratio_to_inprocess_per_core"] == 0.35
    assert figures["dead_letters_s"] == 350_000
    assert figures["goals_missed"] == ["late tuples: 350,000 dead letters/s, below 1,000,000"]
    assert operators_tables(rows)[0].row_count == len(CASES)
    assert "goals missed: late tuples" in operators_notes(figures)[-1]


def test_a_row_that_differs_or_is_slow_misses_its_goal() -> None:
    figures = operators_figures([row_of(CASES[0], 200_000.0, results=49)], QUICK)
    assert figures["equal"] is False
    assert figures["goals_missed"] == [
        "map on blocks: results differ from the in-process engine's",
        "map on blocks: 2 x stock PySpark, below 3",
        "map on blocks: 0.1 of the in-process engine per core, below 0.3",
    ]


def test_cases_are_chosen_by_how_their_names_begin() -> None:
    assert [case.name for case in chosen_cases(["map"])] == ["map on blocks", "map per tuple"]
    assert chosen_cases([]) == CASES
    with pytest.raises(InputError, match=r"--case is how one of these begins: map on blocks, .*; got 'nap'"):
        chosen_cases(["nap"])
