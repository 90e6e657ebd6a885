"""How errors of forecasts are spread, and how often steps are slow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.forecasters.last_value import LastValue
from penstock.model.forecasters.tails import ASSUMED, CHANCES, Tails, piece_means
from penstock.model.forecasters.tracked import Tracked
from penstock.model.slow_steps import SlowSteps


def test_what_is_assumed_are_the_pieces_of_students_t() -> None:
    values = np.random.default_rng(1).standard_t(4, 2_000_000) / np.sqrt(2)
    assert piece_means(values) == pytest.approx(ASSUMED, rel=0.03)
    assert CHANCES.sum() == pytest.approx(1.0, abs=1e-9)


@given(values=st.lists(st.floats(-8, 8), min_size=1, max_size=400), copies=st.integers(1, 3))
def test_pieces_of_a_sample_are_means_of_its_sorted_values(values: list[float], copies: int) -> None:
    """The reference goes over every value, and takes the part of it that lies in a piece."""
    fine = np.sort(values)
    edges = np.concatenate([[0.0], np.cumsum(CHANCES)]) * len(fine)
    wanted = []
    for low, high in itertools.pairwise(edges):
        parts = np.clip(np.minimum(high, np.arange(len(fine)) + 1) - np.maximum(low, np.arange(len(fine))), 0, None)
        wanted.append(float(parts @ fine / parts.sum()))
    assert piece_means(np.array(values * copies)) == pytest.approx(wanted, abs=1e-6)


def test_loads_that_jump_are_told_from_those_that_do_not() -> None:
    def pieces(jumps: float) -> np.ndarray:
        random = np.random.default_rng(3)
        tracked = Tracked(LastValue())
        for _ in range(400):
            rate = 1000 * (1 + random.normal(0, 0.05)) * (4 if random.random() < jumps else 1)
            tracked = tracked.learn(float(rate))
        return np.asarray(tracked.tails.pieces())

    calm, jumping = pieces(0.0), pieces(0.03)
    assert 2.6 < calm[-1] < 4.4
    assert jumping[-1] > 1.5 * calm[-1]


def test_errors_of_long_ago_are_forgotten() -> None:
    tails = Tails()
    for _ in range(10):
        tails = tails.learn(100.0)
    assert max(tails.errors) == tails.highest
    for _ in range(tails.most):
        tails = tails.learn(0.5)
    assert set(tails.errors) == {0.5}


def test_slow_steps_are_counted_apart_from_the_noise_of_tasks() -> None:
    random = np.random.default_rng(4)
    steps = SlowSteps()
    for _ in range(2000):
        steps = steps.learn(3.0 if random.random() < 0.03 else 1.06)
    assert steps.usual == pytest.approx(1.06, abs=1e-6)
    assert steps.chance == pytest.approx(0.03, abs=0.02)
    assert steps.factor == pytest.approx(3.0, abs=0.01)
    assert SlowSteps().learn(50.0).factor < 3.0, "one step does not make all of them as slow"


def test_slow_steps_are_known_from_the_first_ones_on() -> None:
    steps = SlowSteps()
    for _ in range(20):
        steps = steps.learn(1.0)
    assert steps.chance < SlowSteps().chance
    assert steps.learn(2.5).chance > 0.01, "one in twenty"
    for _ in range(1000):
        steps = steps.learn(1.0)
    assert steps.learn(2.5).chance == pytest.approx(0.01, rel=0.01)
