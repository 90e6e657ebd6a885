"""The report of `python -m benchmarks mpc`."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.mpc.mpc import ALL_CHANCES, MpcEffort, measure, measure_live, same_optimum, summary
from benchmarks.mpc.mpc_problems import LIVE_SIZES, SIZES, Size
from penstock.control.setting import Grid
from penstock.spark.driver.capacity import LOCAL_TASK_SLOTS

SMALL = Size(SIZES[0].name, Grid((1, 2, 4), (1.2, 2.0)))
EFFORT = MpcEffort(problems=1, repeats=1)


def test_all_methods_agree_and_are_counted() -> None:
    rows = measure(EFFORT, [SMALL], [1, 3])
    assert same_optimum(rows)
    by_method = {row.method: row for row in rows if row.horizon == 3}
    assert by_method["exhaustive"].explored == 6 + 6**2 + 6**3
    assert by_method["branch and bound"].explored <= by_method["exhaustive"].explored
    body = summary(rows, EFFORT)
    assert body["same_optimum"] is True
    assert body["dp_h3_ms"] > 0
    assert body["dp_h10_ms"] is None


def test_what_a_live_decision_takes_is_told_by_size_with_its_distance_to_trying_everything() -> None:
    small = [replace(LIVE_SIZES[0], grid=Grid((1, 2, 4)))]
    rows = measure_live(EFFORT, small, [2, 10])
    exact, near, far = rows
    assert (exact.method, exact.explored, exact.excess) == (ALL_CHANCES, 24 + 24**2, 0.0)
    assert near.excess is not None
    assert 0 <= near.excess < 0.1
    assert far.excess is None, "a tree of 21^10 outcomes is not searched"
    body = summary(rows, EFFORT)
    assert body["live_ms"].keys() == {"12"}
    assert body["live_worst_excess"].keys() == {"12, h=2"}
    assert not same_optimum(rows)  # which is about exact methods


def test_what_is_decided_live_is_measured_with_the_replicas_a_user_has() -> None:
    by_name = {size.name: size.grid for size in LIVE_SIZES}
    assert by_name["16 x 3"].replicas == tuple(range(1, LOCAL_TASK_SLOTS + 1))


def test_a_method_that_misses_the_optimum_is_seen() -> None:
    rows = measure(EFFORT, [SMALL], [1])
    assert not same_optimum([replace(rows[0], excess=0.01), *rows[1:]])
    assert not same_optimum([])
