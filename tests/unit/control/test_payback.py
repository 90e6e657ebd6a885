"""How readily MPC changes something: what a user says, the weights that follow, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import penstock as ps
from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.goals.goal import Goal, Weights
from penstock.control.goals.payback import PAYBACK_S, payback_or_old_name, payback_s
from penstock.control.loop.control_request import ControlRequest, control_request, policy_of
from penstock.control.loop.loop import Loop
from penstock.control.mpc.live import LiveMpc
from penstock.control.setting import Grid, Setting
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

CAP = 24_000
GRID = Grid(tuple(range(1, 13)), caps_tuples=(CAP,))
WAVES = [float(x) for x in 5000 + 2500 * np.sin(np.arange(180) / 9) + 1500 * np.sin(np.arange(180) / 2.5)]


def changes(payback: str | float, rates: Sequence[float] = WAVES, goal: Goal | None = None) -> int:
    """How often MPC changes replicas on the twin, as `run` would make it of the words."""
    request = _request(payback, goal)
    arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.round(rates).astype(np.int64))
    plant = shape_plant(PlantShape(noise=0.02), arrivals, Setting(6, None, CAP), end_s=float(len(rates)), seed=1)
    return sum(r.requested is not None for r in Loop(policy_of(request, GRID, pause_s=0.0), request.goal).run(plant))


@pytest.mark.parametrize("goal", [ps.throughput(), ps.latency(p95_ms=900)], ids=["throughput", "latency"])
def test_the_shorter_the_payback_the_more_changes(goal: Goal) -> None:
    eager, balanced, calm, hardly = (changes(w, goal=goal) for w in ("eager", "balanced", "calm", 60))
    assert 1.1 * eager >= balanced > calm >= hardly  # eager and balanced differ by a few changes
    assert eager > calm
    assert hardly < balanced


def test_seconds_are_what_the_words_stand_for() -> None:
    assert [payback_s(word) for word in PAYBACK_S] == [10, 5, 2]
    assert changes("calm", WAVES[:60]) == changes(10, WAVES[:60])
    assert weights(None) == weights("balanced") == weights(5)
    assert weights("calm") == weights(10)


def test_the_weights_of_a_change_follow_and_no_others() -> None:
    calm, eager = weights("calm"), weights("eager")
    assert (calm.change, calm.gammas) == (5 * eager.change, tuple(5 * gamma for gamma in eager.gammas))
    assert replace(calm, change=eager.change, gammas=eager.gammas) == eager


def weights(payback: str | float | None) -> Weights:
    policy = policy_of(_request(payback), GRID)
    assert isinstance(policy, LiveMpc)
    return policy.mpc.weights


def _request(payback: str | float | None, goal: Goal | None = None) -> ControlRequest:
    request = control_request(goal or ps.throughput(), payback=payback)
    assert request is not None
    return request


def test_the_old_name_still_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match="willingness is now payback"):
        assert payback_or_old_name(None, "calm") == "calm"
    with pytest.raises(ps.errors.InputError, match="the old name of payback"):
        payback_or_old_name("calm", "eager")
    assert payback_or_old_name(3, None) == 3
