"""Control as a user requests it, put together for one running application: grid, policy, loop, plant, controller."""

from __future__ import annotations

import logging
import threading

from pyspark.sql import SparkSession

from penstock.app.graph import Graph
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.live.controller import Controller, ControlParts, Notebook
from penstock.control.live.executor_plan import ExecutorBounds
from penstock.control.live.executor_pool import ExecutorPool
from penstock.control.live.frequency_dry_run import FrequencyDryRun
from penstock.control.live.frequency_setter import FrequencySetter, frequencies_within
from penstock.control.live.micro_batch_plant import Application, Resources, SparkPlant
from penstock.control.loop.control_request import ControlRequest, policy_of
from penstock.control.loop.loop import Loop
from penstock.control.loop.rehearsal import rehearse
from penstock.control.routes.routing import Routing
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.batch_cap import first_pace
from penstock.control.rules.guard import Guard
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.host.energy import energy_of
from penstock.plan.configuration import Configuration
from penstock.plan.elements.layout import layout_of
from penstock.plan.elements.pipeline import Pipeline, pipeline_of
from penstock.runtime.slots.hot_key_splitting import splittable
from penstock.spark.driver.capacity import Capacity, capacity_of, capacity_sentence, check_capacity, highest_of
from penstock.spark.executors.cluster_executors import ClusterExecutors
from penstock.spark.executors.pinning import is_local
from penstock.spark.executors.placer import Placer

_log = logging.getLogger(__name__)
_DEVIATIONS = 3.0


def start_rehearsal(request: ControlRequest) -> threading.Thread:
    """Makes the code of decisions ready while others do something else."""
    thread = threading.Thread(target=_rehearse, args=(request,), name="penstock-rehearsal", daemon=True)
    thread.start()
    return thread


def _rehearse(request: ControlRequest) -> None:
    try:
        rehearse(request)
    except Exception:  # the first decision says what is wrong
        _log.info("the rehearsal of control failed", exc_info=True)


def controller_of(
    application: Application,
    request: ControlRequest,
    session: SparkSession,
    graph: Graph,
    places: Placer,
    notebook: Notebook,
) -> Controller:
    """A controller that waits to be started."""
    capacity, configuration = capacity_of(session), application.configuration
    pipeline = pipeline_of(graph, configuration.fused)
    energy, unmeasured = energy_of(is_local=is_local(session))

    def parts(asked: ControlRequest) -> ControlParts:
        check_capacity(asked.limits, capacity)
        return _parts(asked, session, graph, pipeline, capacity, configuration, places, unmeasured)

    first = _parts(request, session, graph, pipeline, capacity, configuration, places, unmeasured)
    plant = SparkPlant(
        application, single=single_elements(pipeline), resources=first.resources, pace=first.pace, energy=energy,
        cores=capacity.cores, places=places,
    )  # fmt: skip
    return Controller(plant, first.loop, notebook, sentences=first.sentences, request=request, remake=parts)


def _parts(
    request: ControlRequest, session: SparkSession, graph: Graph, pipeline: Pipeline, capacity: Capacity,
    configuration: Configuration, places: Placer, unmeasured: str | None,
) -> ControlParts:  # fmt: skip
    """All that follows from a request; what does not count here, or cannot be reached, is told."""
    single = single_elements(pipeline)
    dry_run = request.limits.frequency_dry_run
    frequencies, refused = frequencies_within(
        request.limits.frequencies_ghz, is_local=is_local(session), dry_run=dry_run or request.passive
    )
    for sentence in (refused, _energy_sentence(request, unmeasured), *_limit_sentences(request.limits, capacity)):
        if sentence is not None:
            print(sentence)
    highest = highest_of(request.limits, capacity) if len(single) < len(pipeline.elements) else 1
    most_tuples = request.limits.max_micro_batch_tuples or configuration.micro_batch_tuples
    grid = grid_within(
        request.limits, highest, most_tuples, () if frequencies is None else request.limits.frequencies_ghz
    )
    resources: Resources | None = None
    setter = None if frequencies is None or request.passive or dry_run else FrequencySetter(frequencies)
    if setter is not None:
        resources = setter
    elif capacity.executors and not request.passive:
        resources = _pool(session, request.limits, capacity, places)
    useful = HighestReplicas(highest if capacity.executors else capacity.cores, highest, single, grid.replicas[0])
    loop = Loop(
        policy_of(request, grid, speed_up=speed_up_of(graph)),
        request.goal,
        application_rules(Guard(), bounds=Bounds(grid.replicas[0], grid.replicas[-1]), useful=useful),
        Routing(
            allowed=request.limits.max_imbalance,
            scalable=_free_elements(pipeline),
            deviations=_DEVIATIONS,
            splittable=splittable(graph, layout_of(graph, configuration.fused)),
        ),
        request.passive,
        keeps_frequency=lambda: dry_run or (setter is not None and setter.has_failed),
    )
    sentences = None if setter is None else setter.sentences
    if dry_run and frequencies is not None:
        sentences = FrequencyDryRun(frequencies).sentences
    return ControlParts(loop, resources, None if request.passive else first_pace(most_tuples), sentences)


def _energy_sentence(request: ControlRequest, unmeasured: str | None) -> str | None:
    """Why energy is not measured; who pays for it wants to know."""
    return unmeasured if request.price.kwh > 0 or request.limits.frequencies_ghz else None


def _limit_sentences(limits: Limits, capacity: Capacity) -> tuple[str | None, ...]:
    """Which limits do not count, or cannot be reached here."""
    local = limits.max_executors is not None and not capacity.executors
    executors = "max_executors of the limits counts on a cluster; a local master has task slots alone"
    return executors if local else None, capacity_sentence(limits, capacity)


def single_elements(pipeline: Pipeline) -> frozenset[str]:
    """Elements that need the whole stream."""
    return frozenset(element.name for element in pipeline.elements if element.scope == "stream")


def _free_elements(pipeline: Pipeline) -> tuple[str, ...]:
    """Elements whose tuples may go to any replica."""
    return tuple(element.name for element in pipeline.elements if element.scope == "none")


def _pool(session: SparkSession, limits: Limits, capacity: Capacity, places: Placer) -> ExecutorPool | None:
    cluster = ClusterExecutors(session)
    if not cluster.is_possible:
        print("Spark's dynamic allocation is on in this session, so that executors are left to it")
        return None
    if not cluster.decommissions:
        print(
            "spark.decommission.enabled is off in this session: executors that are given back end with the tasks they "
            "have, which run again elsewhere"
        )
    return ExecutorPool(cluster, places, ExecutorBounds(1, capacity.most_executors(limits), capacity.cores_each))


def speed_up_of(graph: Graph) -> float:
    """How many times as fast traces are replayed: time constants of rivals follow."""
    return max((getattr(s.connector, "speed_up", 1.0) for s in graph.sources), default=1.0)
