"""What a master has room for under the user's limits, and the Configuration that an application begins with."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.errors import InputError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.capacity import (
    Capacity,
    capacity_sentence,
    check_capacity,
    highest_of,
    local_task_slots,
    within_limits,
)

LOCAL, CLUSTER = Capacity(cores=2, task_slots=16), Capacity(cores=4, task_slots=4, executors=2)


def test_without_max_executors_there_are_never_more_than_at_the_start() -> None:
    many = ps.Limits(max_replicas=16)
    assert CLUSTER.most_executors(many) == 2
    assert highest_of(many, CLUSTER) == 4
    uneven = Capacity(cores=5, task_slots=5, executors=2)
    assert (uneven.most_executors(ps.Limits()), highest_of(ps.Limits(), uneven)) == (2, 5)


def test_max_executors_lets_there_be_more_replicas_within_max_replicas() -> None:
    assert highest_of(ps.Limits(max_executors=8), CLUSTER) == 16
    assert highest_of(ps.Limits(max_executors=8, max_replicas=10), CLUSTER) == 10
    assert highest_of(ps.Limits(max_executors=1), CLUSTER) == 2
    assert CLUSTER.most_executors(ps.Limits(max_executors=8)) == 8
    assert highest_of(ps.Limits(max_executors=8), LOCAL) == 16  # a local master has task slots alone


def test_more_replicas_than_there_is_room_for_are_told() -> None:
    assert capacity_sentence(ps.Limits(max_replicas=16), CLUSTER) == (
        "max_replicas of the limits is 16, but there is capacity for 4 on 2 executors; max_executors lets there be more"
    )
    assert capacity_sentence(ps.Limits(max_replicas=17), LOCAL) == (
        "max_replicas of the limits is 17, but there is capacity for 16, the task slots of this session; "
        "ps.spark_session(master, task_slots=N) opens one with more"
    )
    assert capacity_sentence(ps.Limits(max_replicas=16, max_executors=8), CLUSTER) is None
    assert capacity_sentence(ps.Limits(), CLUSTER) is None


def test_the_fewest_replicas_are_refused_where_there_is_no_room_for_them() -> None:
    with pytest.raises(
        InputError, match="min_replicas of the limits is 20, but there is capacity for 16, the task slots"
    ):
        check_capacity(ps.Limits(min_replicas=20), LOCAL)
    with pytest.raises(
        InputError, match=r"min_replicas of the limits is 5, but there is capacity for 2 on 1 executor; max"
    ):
        check_capacity(ps.Limits(min_replicas=5, max_executors=1), CLUSTER)
    check_capacity(ps.Limits(min_replicas=16, max_executors=8), CLUSTER)  # they are asked for
    check_capacity(ps.Limits(min_replicas=16), LOCAL)


def test_a_local_session_has_task_slots_for_the_limits() -> None:
    assert local_task_slots(ps.Limits(max_replicas=40)) == local_task_slots(ps.Limits(min_replicas=40)) == 40


@pytest.mark.parametrize(("limits", "replicas"), [
    (ps.Limits(), 6), (ps.Limits(max_replicas=3), 3), (ps.Limits(min_replicas=9), 9),
])  # fmt: skip
def test_an_application_begins_within_its_limits(limits: ps.Limits, replicas: int) -> None:
    pipeline = pipeline_of(vwap_per_ticker().graph)
    begun = within_limits(default_configuration(pipeline, 6), pipeline, limits, LOCAL)
    assert {element.replicas for element in begun.elements} == {replicas}
    assert set(begun.element("window").route) == set(range(replicas))


def test_an_element_over_the_whole_stream_begins_with_one_replica() -> None:
    pipeline = pipeline_of(vwap().graph)
    begun = within_limits(default_configuration(pipeline, 2), pipeline, ps.Limits(min_replicas=3), LOCAL)
    assert {e.name: e.replicas for e in begun.elements if e.name == "window"} == {"window": 1}
