"""The arithmetic of the dashboard's benchmark, and the journals that it makes up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.dashboard.made_journal import MadeJournal
from benchmarks.dashboard.memory_over_hours import Sample, slope_mb_h
from benchmarks.dashboard.turns import Turn, interval, mean_ratio, rate_tuples_s, ratios
from penstock.watch.recorded.run_reader import RunReader


def commits(rate_tuples_s: float, seconds: float = 60.0, period_s: float = 0.25) -> list[tuple[float, int]]:
    """Of a run whose rate grows by a tenth in a minute."""
    count = int(seconds / period_s)
    moments = [period_s * (number + 1) for number in range(count)]
    return [(at_s, round(rate_tuples_s * period_s * (1 + at_s / 600))) for at_s in moments]


def turns(count: int, seconds: float = 2.0) -> list[Turn]:
    order = (False, True, True, False)
    return [Turn(seconds * n, seconds * (n + 1), order[n % 4]) for n in range(count)]


def test_only_micro_batches_within_a_turn_count() -> None:
    made = commits(1e6)
    assert rate_tuples_s(Turn(1.1, 3.1, True), made) == pytest.approx(1e6 * (1 + 2.1 / 600), rel=1e-3)
    assert rate_tuples_s(Turn(1.1, 1.3, True), made) is None
    assert rate_tuples_s(Turn(70.0, 80.0, True), made) is None


def test_a_steady_drift_is_no_cost() -> None:
    own = ratios(turns(24), commits(1e6))
    assert len(own) == 12
    assert mean_ratio(own) == pytest.approx(1.0, abs=1e-3)


def test_a_cost_is_found_whichever_turn_comes_first() -> None:
    watched = [turn for turn in turns(24) if turn.is_watched]
    made = [
        (at_s, round(tuples * (0.9 if any(own.begin_s < at_s <= own.end_s for own in watched) else 1.0)))
        for at_s, tuples in commits(1e6)
    ]
    assert mean_ratio(ratios(turns(24), made)) == pytest.approx(0.9, abs=2e-3)


def test_a_turn_without_a_whole_micro_batch_leaves_its_pair_out() -> None:
    made = [commit for commit in commits(1e6) if not 4.0 <= commit[0] <= 6.0]
    assert len(ratios(turns(8), made)) == 3


def test_an_interval_holds_the_mean_and_narrows_with_pairs() -> None:
    few, many = [0.9, 1.0, 1.0, 1.1], [0.9, 1.0, 1.0, 1.1] * 16
    (low, high), (lower, higher) = interval(few), interval(many)
    assert low < mean_ratio(few) < high
    assert higher - lower < (high - low) / 2
    assert mean_ratio([2.0, 0.5]) == pytest.approx(1.0)
    assert all(math.isclose(bound, 1.0) for bound in interval([1.0]))


def test_a_slope_leaves_out_what_fills_at_first() -> None:
    samples = [Sample(hour, 40.0 + 2 * min(hour, 17.0)) for hour in map(float, range(30))]
    assert slope_mb_h(samples) == pytest.approx(0.0, abs=1e-9)
    assert slope_mb_h(samples[:3]) == 0.0


def test_a_journal_that_was_made_up_reads_as_a_run(tmp_path: Path) -> None:
    journal = MadeJournal(tmp_path, 2.0)
    while journal.seconds < 130.0:
        journal.write()
    journal.end()
    reader = RunReader(journal.path)
    reader.open()
    state, total = reader.state, reader.state.series.total()
    assert total is not None
    assert (reader.status, total.batches, total.steps, state.unreadable) == ("stopped", 65, 13, 0)
    assert state.kinds == {"up": 1, "down": 1, "other": 0, "hold": 11}
