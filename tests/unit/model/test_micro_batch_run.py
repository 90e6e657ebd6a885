"""A step run micro-batch by micro-batch against the twin and the steady state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.setting import Setting
from penstock.model.micro_batch import duration_kernel
from penstock.model.micro_batch_run import run_step
from penstock.simulate.plant_shape import PlantShape, even_keys
from penstock.simulate.shape_plant import shape_plant

EVEN = PlantShape(noise=0.0, service_cv=0.0, shares=even_keys(120))


@pytest.mark.parametrize("rate", [500.0, 3000.0, 3600.0, 4500.0])
@pytest.mark.parametrize("cap", [1500, 10**9])
def test_it_does_what_the_plant_does(rate: float, cap: int) -> None:
    arrivals = counted_arrivals(np.arange(41.0), np.full(40, round(rate), np.int64))
    plant = shape_plant(EVEN, arrivals, Setting(4, None, cap), end_s=30.0)
    first = plant.observe()  # without the time before its first micro-batch
    assert first is not None
    assert first.micro_batch_s is not None
    waiting = first.backlog_tuples + rate * max(EVEN.interval_s - first.micro_batch_s, 0.0)
    for _ in range(6):
        seen = plant.observe()
        assert seen is not None
        lasts_s, served, waiting, latency_s = run_step(
            rate, waiting, 0.001 / 4, 0.0, EVEN.overhead_s, float(cap), math.inf, EVEN.interval_s, 1.0, 0.0
        )
        assert lasts_s == pytest.approx(seen.period_s, rel=0.01)
        assert served == pytest.approx(seen.served_tuples, rel=0.01, abs=3)
        assert waiting == pytest.approx(seen.backlog_tuples, rel=0.01, abs=3 + rate * EVEN.interval_s)
        assert latency_s == pytest.approx(seen.latency_mean_s, rel=0.02)


def test_it_ends_in_the_steady_state() -> None:
    waiting = 0.0
    for _ in range(30):
        _, _, waiting, latency_s = run_step(700.0, waiting, 0.001, 0.0, 0.15, 1e9, math.inf, 0.0, 1.0, 0.0)
    duration_s = duration_kernel(700.0, 0.001, 0.15, 1e9, 0.0)
    assert waiting == pytest.approx(700 * duration_s, rel=1e-3)
    assert latency_s == pytest.approx(1.5 * duration_s, rel=1e-3)


def test_nothing_arrives_nothing_ends_late_and_steps_end() -> None:
    assert run_step(0.0, 0.0, 0.001, 0.5, 0.0, 1e9, math.inf, 0.0, 1.0, 0.0)[1:] == (0.0, 0.0, 0.0)
    assert run_step(0.0, 500.0, 0.001, 0.5, 0.1, 1e9, math.inf, 0.0, 1.0, 0.0)[1:3] == (500.0, 0.0)


def test_a_pause_makes_the_first_micro_batch_longer_and_the_second_larger() -> None:
    plain = run_step(3000.0, 900.0, 0.00025, 0.0, 0.15, 1e9, math.inf, 0.2, 1.0, 0.0)
    paused = run_step(3000.0, 900.0, 0.00025, 0.0, 0.15, 1e9, math.inf, 0.2, 1.0, 0.3)
    assert paused[2] > plain[2]
    assert paused[3] > plain[3] + 0.05


def test_a_full_service_bounds_what_is_served() -> None:
    lasts_s, served, _, _ = run_step(1000.0, 5000.0, 1e-4, 0.0, 0.0, 1e9, 300.0, 0.0, 1.0, 0.0)
    assert served / lasts_s == pytest.approx(300, rel=0.01)
