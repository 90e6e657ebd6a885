"""Time of a tuple under bursts, services that are full, and the frequency in a Configuration."""

from __future__ import annotations

import math

import pytest

from penstock.model.service_limit import ServiceLimit
from penstock.model.service_time import ServiceTime
from penstock.plan.configuration import (
    Configuration,
    ElementConfiguration,
    configuration_from_json,
    configuration_to_json,
)


def test_the_time_of_a_tuple_follows_a_change_within_a_few_steps() -> None:
    service = ServiceTime()
    for _ in range(40):
        service = service.learn(1.0, 1000)
    for _ in range(8):
        service = service.learn(2.0, 1000)
        assert not service.bursty
    assert service.mean_s == pytest.approx(0.002, rel=0.05)


def test_windows_that_fire_are_seen_and_averaged() -> None:
    service = ServiceTime()
    for step in range(80):
        service = service.learn(4.0 if step % 4 == 3 else 0.0, 1000)
    assert service.bursty
    assert service.mean_s == pytest.approx(0.001, rel=0.2)


def test_nothing_measured_is_unknown() -> None:
    assert ServiceTime().mean_s is None
    assert ServiceTime().learn(0.0, 0).mean_s is None


def test_a_full_service_is_found_when_clearly_more_replicas_bring_nothing() -> None:
    limit = ServiceLimit().learn(4, 0.001).learn(8, 0.002)  # 4,000 tuples/s with both
    assert limit.limit_tuples_s == pytest.approx(4000)
    assert limit.own_computation_s(0.002) == pytest.approx(0.001)


@pytest.mark.parametrize("seen", [[(4, 0.001), (8, 0.001)], [(12, 0.001), (13, 0.00108)], [(4, 0.001)]])
def test_no_limit_where_replicas_help_or_nothing_can_be_said(seen: list[tuple[int, float]]) -> None:
    limit = ServiceLimit()
    for replicas, computation_s in seen:
        limit = limit.learn(replicas, computation_s)
    assert math.isinf(limit.limit_tuples_s)


def test_a_tuple_that_takes_longer_for_its_own_sake_is_no_full_service() -> None:
    limit = ServiceLimit().learn(3, 0.001).learn(4, 0.001).checked(4, 0.002).learn(4, 0.002)
    assert math.isinf(limit.limit_tuples_s)
    assert limit.own_computation_s(0.002) == 0.002


def test_a_step_in_which_the_time_changed_is_not_compared_with_more_replicas() -> None:
    limit = ServiceLimit().learn(4, 0.001).checked(4, 0.0013).learn(4, 0.0013)  # half of it was slower
    assert math.isinf(limit.checked(7, 0.002).learn(7, 0.002).limit_tuples_s)
    steady = limit.checked(4, 0.00131).learn(4, 0.00131)
    assert steady.learn(7, 0.0023).limit_tuples_s == pytest.approx(7 / 0.0023)


def test_what_others_did_since_outdates_a_time() -> None:
    limit = ServiceLimit().learn(4, 0.00115).learn(7, 0.002)
    assert not math.isinf(limit.limit_tuples_s)
    assert math.isinf(limit.learn(5, 0.002).limit_tuples_s), "a full service would have let five do as much as seven"
    assert limit.learn(5, 5 / limit.limit_tuples_s).limit_tuples_s == limit.limit_tuples_s


def test_a_lower_clock_is_no_full_service() -> None:
    limit = ServiceLimit().learn(4, 0.001, 2.0).learn(6, 0.00167, 1.2)
    assert math.isinf(limit.limit_tuples_s)


def test_a_limit_is_forgotten_so_that_it_is_tried_again() -> None:
    limit = ServiceLimit(memory=3).learn(4, 0.001)
    for _ in range(5):
        limit = limit.learn(8, 0.002)
    assert math.isinf(limit.limit_tuples_s)


def test_a_frequency_is_kept_in_json_and_may_be_missing_from_older_ones() -> None:
    plain = Configuration((ElementConfiguration("a", 2),), frequency_ghz=1.5)
    body = configuration_to_json(plain)
    assert configuration_from_json(body) == plain
    del body["frequency_ghz"]
    assert configuration_from_json(body).frequency_ghz is None


def test_costs_that_grow_with_a_change_of_replicas_are_no_full_service() -> None:
    """Fewer replicas that take longer do not wait for a full service; a step with a change is a part of one."""
    known = ServiceLimit().learn(7, 0.001).learn(6, 0.001)
    fooled = known.learn(12, 0.002)
    assert fooled.limit_tuples_s < float("inf")
    told = known.contradicted(6, 0.0018).learn(12, 0.002)
    assert told.limit_tuples_s == float("inf")
    assert known.contradicted(12, 0.002) == known, "more replicas may wait for it"
    assert known.checked(5, 0.002).learn(5, 0.002).limit_tuples_s == float("inf")
