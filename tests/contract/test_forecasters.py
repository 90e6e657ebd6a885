"""What every forecaster must do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.forecasters.autoregressive import Autoregressive
from penstock.model.forecasters.holt import Holt
from penstock.model.forecasters.holt_winters import HoltWinters, season_length
from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.latest import Latest
from penstock.model.forecasters.mixture import Mixture
from penstock.model.forecasters.protocol import Forecaster
from penstock.model.forecasters.smoothed import Smoothed
from penstock.model.forecasters.tracked import Tracked

ALL: list[Forecaster] = [
    LastValue(),
    Smoothed(),
    Holt(),
    HoltWinters(),
    HoltWinters(season=12),
    Autoregressive(),
    Mixture(),
    Tracked(Holt()),
    Tracked(Holt(), latest=Latest()),
]
everyone = pytest.mark.parametrize("forecaster", ALL, ids=lambda f: type(f).__name__)
rates = st.lists(st.floats(0, 1e7), max_size=60)


def after(forecaster: Forecaster, values: list[float]) -> Forecaster:
    for value in values:
        forecaster = forecaster.learn(value)
    return forecaster


@everyone
def test_forecasts_nothing_before_the_first_measurement(forecaster: Forecaster) -> None:
    assert forecaster.forecast(3) == (0.0, 0.0, 0.0)


@everyone
@given(values=rates, steps=st.integers(1, 20))
def test_forecasts_are_finite_and_never_negative(forecaster: Forecaster, values: list[float], steps: int) -> None:
    forecast = after(forecaster, values).forecast(steps)
    assert len(forecast) == steps
    assert all(math.isfinite(value) and value >= 0 for value in forecast)


@everyone
def test_learns_a_constant(forecaster: Forecaster) -> None:
    forecast = after(forecaster, [500.0] * 80).forecast(5)
    assert forecast == pytest.approx([500.0] * 5, rel=0.01)


@everyone
@given(values=rates)
def test_learning_leaves_the_old_value_as_it_was(forecaster: Forecaster, values: list[float]) -> None:
    before = after(forecaster, [3.0, 5.0, 4.0] * 5)
    told = before.forecast(6)
    after(before, values)
    assert before.forecast(6) == told


@everyone
def test_a_longer_forecast_begins_with_the_shorter(forecaster: Forecaster) -> None:
    learned = after(forecaster, [100.0 + 10 * math.sin(i / 3) for i in range(70)])
    assert learned.forecast(9)[:4] == pytest.approx(learned.forecast(4))


@everyone
def test_follows_a_step_of_the_load(forecaster: Forecaster) -> None:
    forecast = after(forecaster, [100.0] * 50 + [400.0] * 40).forecast(1)[0]
    assert forecast == pytest.approx(400.0, rel=0.1)


def test_holt_sees_a_trend_and_lets_it_fade() -> None:
    near, far = after(Holt(damping=0.9), [10.0 * i for i in range(60)]).forecast(40)[::39]
    assert 590 < near < 605
    assert near < far < 590 + 10 * 40


def test_holt_winters_finds_the_season_and_beats_holt_on_it() -> None:
    values = [1000 + 400 * math.sin(2 * math.pi * i / 24) for i in range(24 * 6)]
    learned = after(HoltWinters(), values[:-24])
    assert isinstance(learned, HoltWinters)
    assert len(learned.offsets) == 24
    truth = np.array(values[-24:])
    ours = np.abs(np.array(learned.forecast(24)) - truth).mean()
    holts = np.abs(np.array(after(Holt(), values[:-24]).forecast(24)) - truth).mean()
    assert ours < 0.2 * holts


@pytest.mark.parametrize("length", [4, 7, 24, 50])
def test_season_length_is_found_under_noise_and_trend(length: int) -> None:
    rng = np.random.default_rng(3)
    time = np.arange(length * 8)
    values = 50 + 0.05 * time + 10 * np.sin(2 * np.pi * time / length) + rng.normal(0, 2, len(time))
    assert season_length(list(values)) == length


@pytest.mark.parametrize("values", [[], [1.0] * 100, [float(i) for i in range(100)]])
def test_no_season_where_there_is_none(values: list[float]) -> None:
    assert season_length(values) is None


def test_no_season_in_noise() -> None:
    assert season_length(list(np.random.default_rng(1).normal(100, 5, 400))) is None


def test_mixture_is_near_its_best_expert_on_loads_of_different_kinds() -> None:
    rng = np.random.default_rng(5)
    time = np.arange(400)
    loads = {
        "jitter": 1000 + rng.normal(0, 100, 400),
        "walk": 1000 + np.cumsum(rng.normal(0, 20, 400)),
        "ramp": 1000 + 10.0 * time + rng.normal(0, 5, 400),
        "season": 1000 + 300 * np.sin(time / 4) + rng.normal(0, 10, 400),
    }
    experts = (LastValue(), Smoothed(0.3), Smoothed(0.6), Holt(), HoltWinters(), Autoregressive())
    for name, load in loads.items():
        best = min(squared_error(expert, load) for expert in experts)
        assert squared_error(Mixture(), load) <= 1.15 * best, name


def squared_error(forecaster: Forecaster, values: np.ndarray) -> float:
    errors = []
    for number, value in enumerate(values):
        if number >= 100:
            errors.append((forecaster.forecast(1)[0] - value) ** 2)
        forecaster = forecaster.learn(float(value))
    return float(np.mean(errors))


def test_tracked_reports_how_far_forecasts_were_off() -> None:
    rng = np.random.default_rng(9)
    tracked = after(Tracked(LastValue(), pace=0.01), list(2000 + np.cumsum(rng.normal(0, 10, 1500))))
    assert isinstance(tracked, Tracked)
    level = tracked.forecast(1)[0]
    deviations = [d * 2000 / level for d in tracked.deviations(12)]
    assert deviations[0] == pytest.approx(10, rel=0.25)
    assert deviations[8] == pytest.approx(30, rel=0.35)  # a random walk: grows with the root of the lead
    assert deviations[11] == deviations[9]


def test_tracked_assumes_an_error_before_it_knows_one() -> None:
    assert Tracked(LastValue()).learn(200.0).deviations(2) == pytest.approx([60.0, 60.0])


def test_one_error_alone_says_little_of_the_next_ones() -> None:
    """Neither a jump nor a lucky forecast right after the start is taken for what is usual."""
    jumped, lucky = after(Tracked(LastValue()), [100.0, 190.0]), after(Tracked(LastValue()), [100.0, 100.0])
    assert isinstance(jumped, Tracked)
    assert isinstance(lucky, Tracked)
    assert jumped.share() == pytest.approx(math.sqrt((0.3**2 + 0.9**2) / 2))
    assert lucky.share() == pytest.approx(math.sqrt(0.3**2 / 2))
    calm = after(Tracked(LastValue()), [100.0 + place % 2 for place in range(40)])
    assert isinstance(calm, Tracked)
    assert calm.share() < 0.06


def walked(tracked: Tracked, seed: int, informed: bool) -> float:
    """The error that a forecaster has after a random walk of five moments a step, of which it is told the last."""
    rates = 1000 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.04, (400, 5))).reshape(400, 5))
    for moments in rates:
        tracked = tracked.learn(float(moments.mean()), float(moments[-1]) if informed else None)
    return tracked.share()


def test_the_last_moments_of_a_step_make_the_next_one_known_better() -> None:
    better = [
        walked(Tracked(LastValue(), latest=Latest()), s, True) / walked(Tracked(LastValue()), s, False)
        for s in range(8)
    ]
    assert np.mean(better) < 0.85


def test_last_moments_that_tell_nothing_are_not_followed() -> None:
    rng = np.random.default_rng(5)
    plain, told = Tracked(Smoothed(0.3)), Tracked(Smoothed(0.3), latest=Latest())
    for _ in range(300):
        rate = float(rng.normal(1000, 50))
        plain, told = plain.learn(rate), told.learn(rate, float(rng.normal(1000, 100)))
    assert told.share() < 1.1 * plain.share()


def test_a_season_found_on_a_trend_begins_with_that_trend() -> None:
    forecaster, errors = HoltWinters(), []
    for step in range(900):
        value = 1000 + 20 * step + 300 * np.sin(2 * np.pi * step / 40)
        if step > 100:
            errors.append(abs(forecaster.forecast(1)[0] - value) / value)
        forecaster = forecaster.learn(value)
    assert len(forecaster.offsets) == 40
    assert max(errors) < 0.04
