"""Control as a user wishes it, put together for one running application: grid, policy, loop, plant, controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.app.connectors import TraceSource
from penstock.app.graph import Graph
from penstock.control.configuration import Configuration, even_route
from penstock.control.control_wish import ControlWish, policy_of
from penstock.control.energy import energy_of
from penstock.control.executor_plan import ExecutorBounds
from penstock.control.guard import Guard
from penstock.control.highest_replicas import HighestReplicas
from penstock.control.limits import Limits, grid_within
from penstock.control.loop import Loop
from penstock.control.pacing import first_pace
from penstock.control.routing import Routing, narrowed
from penstock.element.own_cores import own_cores
from penstock.plan.layout import layout_of
from penstock.plan.pipeline import Pipeline, pipeline_of
from penstock.spark.cluster_executors import ClusterExecutors
from penstock.spark.controlled import Controller, Notebook
from penstock.spark.executor_pool import ExecutorPool
from penstock.spark.frequency_dry_run import FrequencyDryRun
from penstock.spark.frequency_setter import FrequencySetter, frequencies_within
from penstock.spark.pinning import cores_by_host, is_local
from penstock.spark.placer import Placer
from penstock.spark.spark_plant import Application, Resources, SparkPlant
from penstock.spark.splitting import splittable

_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Room:
    """What a master has: cores that compute at once, task slots, executors."""

    cores: int
    task_slots: int
    executors: int = 0

    @property
    def cores_each(self) -> int:
        return max(self.task_slots // max(self.executors, 1), 1)


def room_of(session: SparkSession) -> Room:
    """Local masters have more task slots than cores: elements that wait for services use them."""
    slots = max(sum(cores_by_host(session).values()), 1)
    if not is_local(session):
        return Room(slots, slots, len(ClusterExecutors(session).executors()))
    cores = min(session.sparkContext.defaultParallelism, own_cores(), slots)
    return Room(cores, slots)


def highest_of(limits: Limits, room: Room) -> int:
    """The most replicas: what the limits say, as far as there is or may come to be room for them."""
    slots = room.task_slots
    if room.executors and limits.max_executors is not None:
        slots = limits.max_executors * room.cores_each
    elif room.executors and limits.max_replicas is not None:
        slots = max(limits.max_replicas, 1)
    return min(limits.max_replicas or slots, slots)


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


def with_cap(wish: ControlWish, cap_tuples: int) -> ControlWish:
    """The wish with a cap of micro-batches in its limits, the user's or the one given."""
    most = min(wish.limits.max_micro_batch_tuples or cap_tuples, cap_tuples)
    return replace(wish, limits=replace(wish.limits, max_micro_batch_tuples=most))


def controller_of(
    application: Application,
    wish: ControlWish,
    session: SparkSession,
    graph: Graph,
    places: Placer,
    notebook: Notebook,
    *,
    tell: Callable[[str], None] = print,
    root: Path = Path("/"),
) -> Controller:
    """A controller that waits to be started."""
    room, configuration = room_of(session), application.configuration
    pipeline = pipeline_of(graph, configuration.unfused)
    single = single_elements(pipeline)
    dry_run = wish.limits.frequency_dry_run
    frequencies, sentence = frequencies_within(
        wish.limits.frequencies_ghz, is_local=is_local(session), dry_run=dry_run, root=root
    )
    if sentence is not None:
        tell(sentence)
    energy, sentence = energy_of(root, is_local=is_local(session))
    if sentence is not None and (wish.price.kwh > 0 or wish.limits.frequencies_ghz):  # who pays for it wants to know
        tell(sentence)
    if wish.limits.max_executors is not None and not room.executors:
        tell("max_executors of the limits counts on a cluster; a local master has task slots alone")
    highest = highest_of(wish.limits, room) if len(single) < len(pipeline.elements) else 1
    most_tuples = wish.limits.max_micro_batch_tuples or configuration.micro_batch_tuples
    grid = grid_within(wish.limits, highest, most_tuples, () if frequencies is None else wish.limits.frequencies_ghz)
    resources: Resources | None = None
    if frequencies is not None and not wish.passive and not dry_run:
        resources = FrequencySetter(frequencies)
    elif room.executors and not wish.passive:
        resources = _pool(session, wish.limits, room, highest, places, tell)
    loop = Loop(
        policy_of(wish, grid, speed_up=speed_up_of(graph)),
        wish.goal,
        Guard(),
        Routing(
            allowed=wish.limits.max_imbalance,
            scalable=_free_elements(pipeline),
            deviations=_DEVIATIONS,
            splittable=splittable(graph, layout_of(graph, configuration.unfused)),
        ),
        wish.passive,
        highest=HighestReplicas(highest if room.executors else room.cores, highest, single),
        keeps_frequency=dry_run,
    )
    pace = None if wish.passive else first_pace(most_tuples)
    plant = SparkPlant(
        application, single=single, resources=resources, pace=pace, energy=energy, cores=room.cores, places=places
    )
    told = FrequencyDryRun(frequencies).sentences if dry_run and frequencies is not None else None
    return Controller(plant, loop, notebook, tell=tell, sentences=told)


def single_elements(pipeline: Pipeline) -> frozenset[str]:
    """Elements that need the whole stream."""
    return frozenset(element.name for element in pipeline.elements if element.scope == "stream")


def _free_elements(pipeline: Pipeline) -> tuple[str, ...]:
    """Elements whose tuples may go to any replica."""
    return tuple(element.name for element in pipeline.elements if element.scope == "none")


def _pool(
    session: SparkSession, limits: Limits, room: Room, highest: int, places: Placer, tell: Callable[[str], None]
) -> ExecutorPool | None:
    cluster = ClusterExecutors(session)
    if not cluster.is_possible:
        tell("Spark's dynamic allocation is on in this session, so that executors are left to it")
        return None
    if not cluster.decommissions:
        tell(
            "spark.decommission.enabled is off in this session: executors that are given back end with the tasks they "
            "have, which run again elsewhere"
        )
    most = limits.max_executors or max(-(-highest // room.cores_each), 1)
    return ExecutorPool(cluster, places, ExecutorBounds(1, most, room.cores_each))


def speed_up_of(graph: Graph) -> float:
    """How many times as fast traces are replayed: time constants of rivals follow."""
    return max((s.connector.speed_up for s in graph.sources if isinstance(s.connector, TraceSource)), default=1.0)
