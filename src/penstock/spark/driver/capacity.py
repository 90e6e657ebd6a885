"""What a master has room for, and a Configuration to begin with in it."""

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
class Room:
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


def room_of(session: SparkSession) -> Room:
    """Local masters have more task slots than cores: elements that wait for services use them."""
    slots = max(sum(cores_by_host(session).values()), 1)
    if not is_local(session):
        return Room(slots, slots, len(ClusterExecutors(session).executors()))
    cores = min(session.sparkContext.defaultParallelism, own_cores(), slots)
    return Room(cores, slots)


def local_task_slots(limits: Limits | None) -> int:
    """The task slots of a local session: enough for the limits.

    >>> local_task_slots(None), local_task_slots(Limits(max_replicas=4)), local_task_slots(Limits(min_replicas=20))
    (16, 16, 20)
    """
    if limits is None:
        return LOCAL_TASK_SLOTS
    return max(LOCAL_TASK_SLOTS, limits.min_replicas, limits.max_replicas or 0)


def highest_of(limits: Limits, room: Room) -> int:
    """The most replicas: what the limits say, as far as there is or may come to be room for them."""
    most = _most(limits, room)
    return min(limits.max_replicas or most, most)


def check_room(limits: Limits, room: Room) -> None:
    """Raises InputError where there is no room for the fewest replicas."""
    if limits.min_replicas > _most(limits, room):
        raise InputError(f"min_replicas of the limits is {limits.min_replicas}, but {_room_text(limits, room)}")


def room_sentence(limits: Limits, room: Room) -> str | None:
    """What a user has to know where there is no room for the most replicas."""
    if limits.max_replicas is None or limits.max_replicas <= _most(limits, room):
        return None
    return f"max_replicas of the limits is {limits.max_replicas}, but {_room_text(limits, room)}"


def _most(limits: Limits, room: Room) -> int:
    """Replicas, as far as there is or may come to be room for them."""
    return room.most_executors(limits) * room.cores_each if limits.max_executors and room.executors else room.task_slots


def _room_text(limits: Limits, room: Room) -> str:
    text = f"there is room for {_most(limits, room)}"
    if not room.executors:
        return f"{text}, the task slots of this session"
    executors = room.most_executors(limits)
    return f"{text} on {executors} executor{'s' if executors != 1 else ''}; max_executors lets there be more"


def within_limits(configuration: Configuration, pipeline: Pipeline, limits: Limits, room: Room) -> Configuration:
    """A Configuration to begin with: no element above or below the limits, and no more replicas than there is room."""
    highest = min(highest_of(limits, room), room.task_slots)
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
