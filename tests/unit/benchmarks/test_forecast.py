"""The report of `python -m benchmarks forecast`."""

from __future__ import annotations

from benchmarks.forecast import ForecastRow, loads, measure, ranks, summary


def test_every_forecaster_is_measured_on_every_load() -> None:
    rows = measure(loads(1, [], 100))
    assert len(rows) == 2 * 6
    assert all(0 < error < 1 for row in rows for error in row.error_by_lead)
    assert summary(rows, 1)["error_to_best"]["mixture"] < 1.2


def test_ranks_are_ratios_to_the_best_of_each_load() -> None:
    rows = [ForecastRow("a", "good", (0.1,) * 4, 1.0), ForecastRow("a", "bad", (0.2,) * 4, 1.0)]
    assert {name: round(rank, 6) for name, rank in ranks(rows).items()} == {"good": 1.0, "bad": 2.0}
