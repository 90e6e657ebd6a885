"""The report of `penstock bench mpc`."""

from __future__ import annotations

from dataclasses import replace

from penstock.bench.machine import this_machine
from penstock.bench.mpc import MpcEffort, measure, measure_live, same_optimum, summary
from penstock.bench.mpc_problems import LIVE_SIZES, SIZES, Size
from penstock.control.setting import Grid

SMALL = Size(SIZES[0].name, Grid((1, 2, 4), (1.2, 2.0)))
EFFORT = MpcEffort(problems=1, repeats=1)


def test_all_methods_agree_and_are_counted() -> None:
    rows = measure(EFFORT, [SMALL], [1, 3])
    assert same_optimum(rows)
    by_method = {row.method: row for row in rows if row.horizon == 3}
    assert by_method["exhaustive"].explored == 6 + 6**2 + 6**3
    assert by_method["branch and bound"].explored <= by_method["exhaustive"].explored
    body = summary(rows, this_machine(), EFFORT)
    assert body["same_optimum"] is True
    assert body["dp_h3_ms"] > 0
    assert body["dp_h10_ms"] is None


def test_what_a_live_decision_takes_is_told_by_size() -> None:
    small = [replace(LIVE_SIZES[0], grid=Grid((1, 2, 4)))]
    rows = measure_live(EFFORT, small, horizon=2)
    assert summary(rows, this_machine(), EFFORT)["live_ms"].keys() == {"12"}
    assert rows[0].median_ms > 0
    assert rows[0].explored >= 3 * 6 * (26 + 2) + 3 * 6 * 6, "the second step of the best first one, too"
    assert not same_optimum(rows)  # nothing that it could be compared with


def test_a_method_that_misses_the_optimum_is_seen() -> None:
    rows = measure(EFFORT, [SMALL], [1])
    assert not same_optimum([replace(rows[0], excess=0.01), *rows[1:]])
    assert not same_optimum([])
