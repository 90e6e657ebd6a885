"""The capacity of a master, and a Configuration to begin with that fits into it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from penstock.control.goals.limits import Limits
from penstock.control.loop.control_request import ControlRequest
from penstock.control.routes.routing import narrowed
from penstock.control.rules.batch_cap import first_pace
from penstock.errors import InputError
from penstock.host.cores import own_cores
from penstock.plan.configuration import Configuration, even_route
from penstock.plan.elements.pipeline import Pipeline
from penstock.spark.executors.cluster_executors import ClusterExecutors
from penstock.spark.executors.pinning import cores_by_host, is_local

LOCAL_TASK_SLOTS = 16  # on a local master: so many replicas of an element can run at once


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a master has: cores that compute at once, task slots, executors."""

    cores: int
    task_slots: int
    executors: int = 0

    @property
    def cores_each(self) -> int:
        return max(self.task_slots // max(self.executors, 1), 1)

    def most_executors(self, limits: Limits) -> int:
        """As many as at the start, where the limits do not say otherwise."""
        return limits.max_executors or self.executors


def capacity_of(session: SparkSession) -> Capacity:
    """Local masters have more task slots than cores: elements that wait for services use them."""
    slots = max(sum(cores_by_host(session).values()), 1)
    if not is_local(session):
        return Capacity(slots, slots, len(ClusterExecutors(session).executors()))
    cores = min(session.sparkContext.defaultParallelism, own_cores(), slots)
    return Capacity(cores, slots)


def local_task_slots(limits: Limits | None) -> int:
    """The task slots of a local session: enough for the limits.

    >>> local_task_slots(None), local_task_slots(Limits(max_replicas=4)), local_task_slots(Limits(min_replicas=20))
    (16, 16, 20)
    """
    if limits is None:
        return LOCAL_TASK_SLOTS
    return max(LOCAL_TASK_SLOTS, limits.min_replicas, limits.max_replicas or 0)


def highest_of(limits: Limits, capacity: Capacity) -> int:
    """The most replicas: what the limits say, as far as there is or may come to be room for them."""
    most = _most(limits, capacity)
    return min(limits.max_replicas or most, most)


def check_capacity(limits: Limits, capacity: Capacity) -> None:
    """Raises InputError where there is no room for the fewest replicas."""
    if limits.min_replicas > _most(limits, capacity):
        raise InputError(f"min_replicas of the limits is {limits.min_replicas}, but {_capacity_text(limits, capacity)}")


def capacity_sentence(limits: Limits, capacity: Capacity) -> str | None:
    """What a user has to know where there is no room for the most replicas."""
    if limits.max_replicas is None or limits.max_replicas <= _most(limits, capacity):
        return None
    return f"max_replicas of the limits is {limits.max_replicas}, but {_capacity_text(limits, capacity)}"


def _most(limits: Limits, capacity: Capacity) -> int:
    """Replicas, as far as there is or may come to be room for them."""
    if limits.max_executors and capacity.executors:
        return capacity.most_executors(limits) * capacity.cores_each
    return capacity.task_slots


def _capacity_text(limits: Limits, capacity: Capacity) -> str:
    text = f"there is capacity for {_most(limits, capacity)}"
    if not capacity.executors:
        return f"{text}, the task slots of this session; ps.spark_session(master, task_slots=N) opens one with more"
    executors = capacity.most_executors(limits)
    return f"{text} on {executors} executor{'s' if executors != 1 else ''}; max_executors lets there be more"


def within_limits(
    configuration: Configuration, pipeline: Pipeline, limits: Limits, capacity: Capacity
) -> Configuration:
    """A Configuration to begin with: no element above or below the limits, and no more replicas than there is room."""
    highest = min(highest_of(limits, capacity), capacity.task_slots)
    lowest = min(limits.min_replicas, highest)
    configuration = narrowed(configuration, highest)
    for element in pipeline.elements:
        own = configuration.element(element.name)
        if element.scope != "stream" and own.replicas < lowest:
            route = even_route(lowest, len(own.route)) if own.route else ()
            configuration = configuration.with_element(replace(own, replicas=lowest, route=route))
    most = limits.max_micro_batch_tuples or configuration.micro_batch_tuples
    return replace(configuration, micro_batch_tuples=first_pace(most).cap_tuples)


def with_cap(request: ControlRequest, cap_tuples: int) -> ControlRequest:
    """The request with a cap of micro-batches in its limits, the user's or the one given."""
    most = min(request.limits.max_micro_batch_tuples or cap_tuples, cap_tuples)
    return replace(request, limits=replace(request.limits, max_micro_batch_tuples=most))
