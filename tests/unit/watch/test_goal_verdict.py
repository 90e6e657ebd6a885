"""The verdict on a latency goal counts the catch-up, and names it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.control.goals.goal import latency, throughput
from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import Observation, latency_of
from penstock.watch.gauges import latency_text
from penstock.watch.goal_verdict import WITHOUT_WAITING, verdict_of


def seen(batch: int, ms: float, tuples: int = 100) -> Observation:
    sketch = sketch_of(np.full(tuples, float(ms)), np.ones(tuples, np.int64))
    return Observation(
        batch=batch, started_at_s=float(batch), micro_batch_s=1.0, tuples_in=tuples, tuples_out=tuples,
        replicas_by_element={}, latency=latency_of(sketch), committed_at_s=batch + 1.0,
    )  # fmt: skip


def test_a_run_within_its_goal_has_no_catch_up() -> None:
    verdict = verdict_of([seen(0, 300), seen(1, 320)], latency(p95_ms=800))
    assert verdict is not None
    assert verdict.is_met
    assert verdict.catch_up_batches == 0
    assert ": met, " in verdict.text
    assert "catching up" not in verdict.text


def test_a_run_that_began_behind_names_its_catch_up_and_counts_it() -> None:
    verdict = verdict_of([seen(0, 20_000), seen(1, 9_000), *(seen(i, 300) for i in range(2, 6))], latency(p95_ms=800))
    assert verdict is not None
    assert not verdict.is_met
    assert (verdict.catch_up_batches, verdict.catch_up_s) == (2, 2.0)
    assert verdict.later_s is not None
    assert verdict.later_s < 0.4
    assert "missed" in verdict.text
    assert "catching up took the first" in verdict.text
    assert "(2 micro-batches)" in verdict.text


def test_a_run_that_never_caught_up_says_only_that() -> None:
    verdict = verdict_of([seen(0, 5_000)], latency(mean_ms=800))
    assert verdict is not None
    assert (verdict.catch_up_batches, verdict.later_s) == (1, None)
    assert "(1 micro-batch)" in verdict.text
    assert "after it" not in verdict.text


def test_other_goals_and_runs_without_latency_have_none() -> None:
    assert verdict_of([seen(0, 1.0)], throughput()) is None
    assert verdict_of([seen(0, 1.0)], None) is None
    assert verdict_of([], latency(p95_ms=1)) is None


def test_a_latency_without_the_waiting_is_named() -> None:
    own = [seen(0, 300), replace(seen(1, 320), latency_excludes_waiting=True)]
    verdict = verdict_of(own, latency(p95_ms=800))
    assert verdict is not None
    assert verdict.text.endswith("; " + WITHOUT_WAITING)
    assert latency_text(own[0].latency, "intake").endswith("(from: intake)")  # type: ignore[arg-type]
