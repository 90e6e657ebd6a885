"""What a step of a plan costs, and what it leaves behind, does not depend on how micro-batches fall into it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.control.mpc.chance import ChanceProblem, solve_chance
from penstock.control.mpc.problem import Switching
from penstock.model.forecasters.tails import ASSUMED, CHANCES

REPLICAS = np.arange(1.0, 13.0)
# Two seconds after the start of a bursty load: on nine replicas, behind, and next to nothing known of the rate.
STARTING = ChanceProblem(
    rates_tuples_s=np.linspace(6_900.0, 7_560.0, 10),
    deviations=np.full(10, 1.05),
    per_tuple_s=0.00105 / REPLICAS,
    cap_tuples=np.full(12, 24_000.0),
    resource_cost=REPLICAS,
    replicas=REPLICAS,
    switching=Switching((0.1, 0.1, 0.002), (REPLICAS, np.ones(1), np.ones(1))),
    current=8,
    waiting_tuples=5_122.0,
    violation=540.0,
    excess=540.0,
    threshold_s=0.8,
    blur=0.04,
    overhead_s=0.151,
    interval_s=0.2,
    first_pause_s=np.full(12, 0.14),
    pause_s=0.115,
    change=5.0,
    slow_chance=0.001,
    slow_factor=2.0,
    errors=(ASSUMED, CHANCES),
)


def test_a_setting_whose_step_is_over_after_one_micro_batch_is_not_cheaper() -> None:
    """Seven replicas take a second for what waits, so that the step ended there; eight took another micro-batch."""
    cost = [STARTING.outcome(9_478.0, u, 5_122.0, 0.14)[0] for u in (6, 11)]
    assert cost[0] > cost[1]
    assert solve_chance(STARTING).trajectory[0] >= STARTING.current


@pytest.mark.parametrize("pause_s", [0.0, 0.3])
def test_what_waits_is_that_of_one_period_however_long_micro_batches_are(pause_s: float) -> None:
    """An overload of 1,200 tuples/s leaves so many behind, whether a micro-batch takes 0.6 s or 1.7 s."""
    capped = replace(STARTING, overhead_s=0.0, per_tuple_s=np.full(12, 0.001), cap_tuples=np.full(12, 600.0))
    for cap in (600.0, 1_700.0):
        problem = replace(capped, cap_tuples=np.full(12, cap))
        _, left = problem.outcome(2_200.0, 0, 10_000.0, pause_s)
        assert left - 10_000 == pytest.approx(1_200 + 1_000 * pause_s, rel=1e-6)


def test_a_period_of_nothing_but_a_pause_leaves_all_that_came() -> None:
    _, left = STARTING.outcome(1_000.0, 0, 0.0, 1.0)
    assert left == pytest.approx(1_000.0)
