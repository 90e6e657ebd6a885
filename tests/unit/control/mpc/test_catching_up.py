"""A backlog that cannot be worked off within the horizon is worked off at full speed, not saved upon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.control.mpc.catching_up import fastest_if_behind, fastest_setting
from penstock.control.mpc.chance import ChanceProblem, solve_chance
from penstock.control.mpc.problem import Switching

REPLICAS = np.arange(1.0, 5.0)
BEHIND = ChanceProblem(
    rates_tuples_s=np.zeros(10),
    deviations=np.zeros(10),
    per_tuple_s=0.001 / REPLICAS,
    cap_tuples=np.full(4, 8192.0),
    resource_cost=REPLICAS,
    replicas=REPLICAS,
    switching=Switching((0.0, 0.0, 0.0), (REPLICAS, np.ones(1), np.ones(1))),
    current=1,
    waiting_tuples=500_000.0,
    violation=60.0,
    excess=60.0,
    threshold_s=0.6,
    overhead_s=0.2,
    first_pause_s=np.zeros(4),
)


def test_the_fastest_setting_works_off_what_takes_longer_than_the_horizon() -> None:
    assert fastest_if_behind(BEHIND) == 3


def test_the_search_decides_where_a_setting_meets_the_goal_within_the_horizon() -> None:
    assert fastest_if_behind(replace(BEHIND, waiting_tuples=5_000.0)) is None
    assert fastest_if_behind(replace(BEHIND, waiting_tuples=0.0)) is None


def test_an_overload_without_end_gets_all_there_is() -> None:
    overload = replace(BEHIND, waiting_tuples=20_000.0, rates_tuples_s=np.full(10, 9_000.0))
    assert fastest_if_behind(overload) == 3


@pytest.mark.parametrize(("limit", "fastest"), [(np.inf, 3), (1_500.0, 1)])
def test_replicas_that_a_service_makes_useless_are_not_taken(limit: float, fastest: int) -> None:
    assert fastest_setting(replace(BEHIND, limit_tuples_s=limit)) == fastest


def test_a_goal_without_a_price_is_left_to_the_search() -> None:
    assert fastest_if_behind(replace(BEHIND, violation=0.0)) is None
    assert solve_chance(replace(BEHIND, violation=0.0, excess=0.0)).trajectory[0] == 0
