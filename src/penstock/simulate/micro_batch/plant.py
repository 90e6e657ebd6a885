"""`twin.Plant`: simulated micro-batches behind the port that Spark has, so that every policy runs on them unchanged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.arguments import FLAG, check_arguments, kind, many, number, or_none, whole
from penstock.connectors.trace.arrivals import Arrivals
from penstock.control.control_step import ControlStep
from penstock.control.loop.observed_steps import ObservedBatch, StepGatherer, setting_of
from penstock.control.rules.batch_cap import CapPace, first_pace
from penstock.errors import InputError, did_you_mean
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.plan.nodes import Nodes
from penstock.plan.nodes import nodes as read_nodes
from penstock.simulate.events.model import Model
from penstock.simulate.micro_batch.batch_element import BatchElement, elements_of, model_configuration
from penstock.simulate.micro_batch.batches import Batch, MicroBatches
from penstock.simulate.micro_batch.cluster import Cluster
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.micro_batch.observing import observation_of
from penstock.simulate.micro_batch.source_arrivals import arrivals_of, is_random


class BatchPlant:
    """Micro-batches of some elements; a control step is as many of them as take `period_s`, until `end_s`.

    A change takes effect with the next micro-batch, or when its replicas have started.  `paced`: the cap follows what
    micro-batches take, as it does on Spark; else it is the Configuration's.  `arrival_cv`: of the time between tuples.
    `by_moment`: chance strikes at the same moments for every policy.
    """

    def __init__(
        self,
        arrivals: Mapping[str, Arrivals],
        elements: Sequence[BatchElement],
        nodes: Nodes,
        configuration: Configuration,
        costs: MicroBatchCosts,
        *,
        end_s: float,
        period_s: float = 1.0,
        seed: int = 1,
        arrival_cv: float | None = 1.0,
        highest_frequency_ghz: float = 2.0,
        paced: bool = False,
        by_moment: bool = False,
    ) -> None:
        cluster = Cluster(nodes)
        self.batches = MicroBatches(
            arrivals, elements, cluster, nodes.network, costs, seed, highest_frequency_ghz, by_moment=by_moment
        )
        self.costs = costs
        self._end_s, self._arrival_cv = end_s, arrival_cv
        single = [own.name for own in elements if own.is_single]
        self._gatherer = StepGatherer(period_s, single=single, cores=cluster.cores)
        self._steps: deque[ControlStep] = deque()
        self._asked = self._in_force = configuration
        self._there = setting_of(configuration).replicas
        self._coming: list[tuple[float, int]] = []  # from when on there are so many replicas
        self._pause_s, self._arrived, self._committed_s = 0.0, 0, 0.0
        self._pace: CapPace | None = first_pace(configuration.micro_batch_tuples) if paced else None

    @property
    def configuration(self) -> Configuration:
        """What was asked for last: in force, or on its way."""
        return self._asked

    @property
    def in_force(self) -> Configuration:
        """What the last micro-batch ran with."""
        return self._in_force

    @property
    def time_s(self) -> float:
        return self.batches.time_s

    def apply(self, configuration: Configuration) -> None:
        wanted, there = setting_of(configuration).replicas, self._ready()
        if self.costs.start_s > 0 and wanted > there:
            self._coming.append((self.time_s + self.costs.start_s, wanted))
        self._coming = [(ready_s, min(replicas, wanted)) for ready_s, replicas in self._coming]
        self._there = wanted if self.costs.start_s <= 0 else min(there, wanted)
        self._asked = configuration

    def observe(self) -> ControlStep | None:
        while not self._steps:
            if self.time_s >= self._end_s:
                return None
            observation = self.observation(self.next_batch())
            ended = self._gatherer.add(ObservedBatch(observation, self._in_force))
            self._steps.extend(self._completed(step) for step in ended)
        return self._steps.popleft()

    def next_batch(self) -> Batch:
        """One micro-batch, under what is in force by then."""
        self._take_effect()
        configuration = self._in_force
        if self._pace is not None:
            configuration = replace(configuration, micro_batch_tuples=self._pace.cap_tuples)
        batch = self.batches.next(configuration, self._pause_s)
        self._pause_s = 0.0
        if self._pace is not None:
            worked_s = sum(float(stage.busy_s.max(initial=0.0)) for stage in batch.stages)
            arriving_tuples_s = self.batches.arrived() / max(batch.committed_s, 1e-9)
            self._pace = self._pace.after(batch.tuples, worked_s, arriving_tuples_s=arriving_tuples_s)
        return batch

    def observation(self, batch: Batch) -> Observation:
        """What a driver would have measured of the newest micro-batch."""
        arrived = self.batches.arrived()
        before_s = batch.began_s - self._committed_s if batch.number else None
        observation = observation_of(
            batch, self.costs, arrived - self._arrived, self.batches.waiting(), before_s, self._arrival_cv
        )
        self._arrived, self._committed_s = arrived, batch.committed_s
        return observation

    def _ready(self) -> int:
        """How many replicas of an element are there by now."""
        self._there = max([self._there, *(n for ready_s, n in self._coming if ready_s <= self.time_s)])
        self._coming = [own for own in self._coming if own[0] > self.time_s]
        return self._there

    def _take_effect(self) -> None:
        """What was asked for, as far as its replicas are there; moving slots makes a pause."""
        new, old = narrowed(self._asked, self._ready()), self._in_force
        if new.elements != old.elements:
            self._pause_s = self._pause_of(old, new)
        self._in_force = new

    def _pause_of(self, old: Configuration, new: Configuration) -> float:
        moved, restart = 0.0, False
        shares = {own.name: own.shares(self.time_s) for own in self.batches.elements}
        for before, after in zip(old.elements, new.elements, strict=True):
            restart = restart or before.replicas != after.replicas
            if before.route != after.route and len(before.route) == len(after.route):
                differs = np.asarray(before.route) != np.asarray(after.route)
                own = shares[after.name]
                moved = max(moved, float(own[differs].sum() if len(own) == len(differs) else differs.mean()))
        restart_s = self.costs.restart_s if restart else 0.0
        return self.costs.reconfigure_s + self.costs.move_s * moved + restart_s

    def _completed(self, step: ControlStep) -> ControlStep:
        """With what only the plant knows: a change that is under way, how long replicas take, the cap's pace."""
        start_s = self.costs.start_s or None
        most = None if self._pace is None else self._pace.cap_tuples
        step = replace(step, executor_start_s=start_s, highest_cap_tuples=most)
        if self._asked.elements == self._in_force.elements:
            return step
        ready = min(step.setting.replicas, setting_of(self._asked).replicas)
        return replace(step, settled_below=False, replicas_ready=ready)


def narrowed(configuration: Configuration, replicas: int) -> Configuration:
    """The same on at most so many replicas of each element."""
    if all(own.replicas <= replicas for own in configuration.elements):
        return configuration
    elements = tuple(
        replace(own, replicas=min(own.replicas, replicas), route=tuple(r % replicas for r in own.route))
        for own in configuration.elements
    )
    return replace(configuration, elements=elements)


class Plant(BatchPlant):
    """A model in micro-batches on nodes, as something to control.

    `configuration`: replicas of each operator, its name the element's; None: as the model says.  Operators with
    `serial=True` have one replica.  `costs`: of micro-batches beside their work.  `elements`: those of a `twin.Fit`.

    >>> from penstock import twin
    >>> model = twin.Model([twin.Source("s", twin.poisson(900))], [twin.Operator("a", ("s",), twin.exponential(1e-3))])
    >>> plant = twin.Plant(model, twin.Nodes((twin.Node("n1", cores=4),)), None, period_s=1, end_s=60, seed=1)
    >>> plant.observe().setting.replicas
    1
    """

    def __init__(
        self,
        model: Model,
        nodes: Nodes | str | Path,
        configuration: Configuration | None = None,
        period_s: float = 1.0,
        end_s: float = 600.0,
        seed: int = 1,
        *,
        costs: MicroBatchCosts | None = None,
        elements: Sequence[BatchElement] | None = None,
        paced: bool = False,
    ) -> None:
        check_arguments(
            "twin.Plant", model=(model, kind("a twin.Model", Model)),
            nodes=(nodes, kind("twin.nodes(...) or a path", Nodes, str, Path)),
            configuration=(configuration, or_none(kind("a ps.Configuration", Configuration))),
            period_s=(period_s, number(above=0)), end_s=(end_s, number(above=0)), seed=(seed, whole()),
            costs=(costs, or_none(kind("twin.MicroBatchCosts(...)", MicroBatchCosts))), paced=(paced, FLAG),
            elements=(elements, or_none(many("the elements of a twin.Fit", kind("", BatchElement)))),
        )  # fmt: skip
        arrivals = {own.name: arrivals_of(own, end_s, seed) for own in model.sources}
        is_poisson = any(is_random(own.arrivals) for own in model.sources)
        super().__init__(
            arrivals, elements_of(model) if elements is None else elements,
            nodes if isinstance(nodes, Nodes) else read_nodes(nodes), matching_configuration(model, configuration),
            costs or MicroBatchCosts(), end_s=end_s, period_s=period_s, seed=seed,
            arrival_cv=1.0 if is_poisson else 0.0, paced=paced,
        )  # fmt: skip


def matching_configuration(model: Model, configuration: Configuration | None) -> Configuration:
    """One with an element for each operator: as given, else as the model says."""
    whole_model = model_configuration(model)
    if configuration is None:
        return whole_model
    names = [own.name for own in whole_model.elements]
    for element in configuration.elements:
        if element.name not in names:
            hint = did_you_mean(element.name, names)
            there = f"there are: {', '.join(names)}" + (f"; {hint}" if hint else "")
            raise InputError(f"the configuration has element '{element.name}', which the model has not; {there}")
    given = {own.name: own for own in configuration.elements}
    routed = tuple(_routed(given.get(own.name, own), len(own.route)) for own in whole_model.elements)
    return replace(configuration, elements=routed)


def _routed(element: ElementConfiguration, slots: int) -> ElementConfiguration:
    """With a route, as elements by key have one."""
    return element if element.route else replace(element, route=even_route(element.replicas, slots))
