"""The report of `penstock bench mpc`."""

from __future__ import annotations

from dataclasses import replace

from penstock.bench.machine import this_machine
from penstock.bench.mpc import MpcEffort, measure, same_optimum, summary
from penstock.bench.mpc_problems import SIZES, Size
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


def test_a_method_that_misses_the_optimum_is_seen() -> None:
    rows = measure(EFFORT, [SMALL], [1])
    assert not same_optimum([replace(rows[0], excess=0.01), *rows[1:]])
    assert not same_optimum([])
