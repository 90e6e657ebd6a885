"""One micro-batch after the other: it takes what has come, runs an element after the other, and commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.connectors.trace.arrivals import Arrivals
from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.nodes import Network
from penstock.simulate.micro_batch.batch_element import BatchElement, readers_of
from penstock.simulate.micro_batch.chances import Chances
from penstock.simulate.micro_batch.cluster import Cluster, Placed
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.plant_shape import Floats

IDLE_S = 10.0  # without a tuple, and a micro-batch runs all the same
_SAMPLES = 24  # tuples of a source whose latency is computed, evenly over a micro-batch
_INSTANT_S = 1e-12
_LEAST_WORK = 0.05  # of the mean, however lucky the draws


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One element in a micro-batch; arrays have a place for each replica, `tuples_by_slot` for each slot.

    `busy_s`, `cpu_s` and `stalled_s` are of the Python worker, as Spark's tasks report them; `waiting_s` is what the
    task took beside, `jvm_cpu_s` what it computed meanwhile.
    """

    element: BatchElement
    tuples: int
    tuples_out: int
    tuples_by_replica: Any
    busy_s: Any
    cpu_s: Any
    stalled_s: Any
    waiting_s: Any
    jvm_cpu_s: Any
    tuples_by_slot: Any
    began_s: float
    placed: Placed


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A micro-batch; `taken`: tuples of each source; `latencies_s` of some of them, each for `weights` tuples."""

    number: int
    began_s: float
    took_s: float
    pause_s: float
    taken: Mapping[str, int]
    stages: tuple[Stage, ...]
    latencies_s: Floats
    weights: Any

    @property
    def committed_s(self) -> float:
        return self.began_s + self.took_s

    @property
    def tuples(self) -> int:
        return sum(self.taken.values())


class MicroBatches:
    """The state of a simulation in micro-batches; the same seed gives the same ones."""

    def __init__(
        self,
        arrivals: Mapping[str, Arrivals],
        elements: Sequence[BatchElement],
        cluster: Cluster,
        network: Network,
        costs: MicroBatchCosts,
        seed: int,
        highest_frequency_ghz: float = 2.0,
        *,
        by_moment: bool = False,
    ) -> None:
        self.arrivals, self.elements, self.cluster, self.costs = arrivals, tuple(elements), cluster, costs
        self.time_s, self.number = 0.0, 0
        self.taken = dict.fromkeys(arrivals, 0)
        self._network, self._highest_ghz = network, highest_frequency_ghz
        self._chances = Chances(seed, by_moment=by_moment)
        self._unfired = {own.name: 0.0 for own in elements}
        self._pane = {own.name: 0 for own in elements}
        self._earliest_s = 0.0

    def arrived(self) -> int:
        """Tuples of all sources by now."""
        return sum(own.arrived_by(self.time_s) for own in self.arrivals.values())

    def waiting(self) -> int:
        return self.arrived() - sum(self.taken.values())

    def next(self, configuration: Configuration, pause_s: float = 0.0) -> Batch:
        """The next micro-batch, as soon as there is something for it and a node to run on."""
        self._wait()
        began_s = self.time_s
        taken = self._take(configuration.micro_batch_tuples)
        emitted: dict[str, int] = dict(taken)
        stages = []
        at_s = began_s + self._fixed_s(began_s) + pause_s + self.costs.tuple_s * sum(taken.values())
        for element in self.elements:
            at_s = self._up_s(at_s)
            tuples = sum(emitted[name] for name in element.inputs)
            stage = self._stage(element, configuration, tuples, at_s)
            emitted[element.name] = stage.tuples_out
            at_s = stage.began_s + float(stage.placed.ends_s.max(initial=0.0))
            stages.append(stage)
        latencies_s, weights = self._latencies(taken, at_s)
        batch = Batch(self.number, began_s, at_s - began_s, pause_s, taken, tuple(stages), latencies_s, weights)
        self.number += 1
        self.time_s = at_s
        self._earliest_s = max(began_s + self.costs.interval_s, at_s + self.costs.between_s)
        return batch

    def _fixed_s(self, began_s: float) -> float:
        """What this micro-batch takes beside its tasks and tuples; `batch_s` on average."""
        costs = self.costs
        if costs.batch_noise == 0:
            return costs.batch_s
        self._chances.begin("", began_s)
        factor = self._chances.of("batch").lognormal(-(costs.batch_noise**2) / 2, costs.batch_noise)
        return costs.batch_s * float(factor)

    def _wait(self) -> None:
        """For the interval, for a node, for a tuple; after a long silence there is a micro-batch without any."""
        self.time_s = max(self.time_s, self._earliest_s)
        until_s = self.time_s + IDLE_S
        while True:
            self.time_s = self._up_s(self.time_s)
            if self.time_s >= until_s or self.waiting() > 0:
                return
            comes_s = min(float(own.arrival_s(np.array([self.taken[name]]))[0]) for name, own in self.arrivals.items())
            self.time_s = min(max(comes_s, self.time_s) + 1e-6, until_s)

    def _up_s(self, time_s: float) -> float:
        """The first moment from then on at which some node is up."""
        while self.cluster.at(time_s).is_down:
            change_s = self.cluster.next_change_s(time_s)
            if change_s is None:
                raise InputError(f"no node is up from {time_s:g} s on")
            time_s = change_s
        return time_s

    def _take(self, cap: int) -> dict[str, int]:
        """What waits at each source; where the cap is less, its share of that."""
        there = {name: own.arrived_by(self.time_s) - self.taken[name] for name, own in self.arrivals.items()}
        total = sum(there.values())
        if total > cap:
            parts = np.floor(np.cumsum([0, *there.values()]) * (cap / total) + 1e-9).astype(np.int64)
            there = dict(zip(there, np.diff(parts).tolist(), strict=True))
        return there

    def _stage(self, element: BatchElement, configuration: Configuration, tuples: int, at_s: float) -> Stage:
        own, frequency_ghz = configuration.element(element.name), configuration.frequency_ghz
        readers = readers_of(element, self.elements, configuration)
        service_s, jvm_s = element.tuple_s(own.replicas, readers)
        by_slot = _by_slot(element.shares(at_s), tuples)
        by_replica = _by_replica(by_slot, own, tuples)
        slower = element.service_factor(at_s) * self._highest_ghz / (frequency_ghz or self._highest_ghz)
        tuples_s = self._work_s(element, by_replica, service_s + jvm_s, slower, at_s)
        python = service_s / (service_s + jvm_s) if jvm_s else 1.0  # the part of a tuple's time in the worker
        parts = task_parts(element, by_replica, tuples_s, python)
        slots = self.cluster.at(at_s, element.operator_class)
        extra_s = self.costs.task_s + self._network_s(element, float(by_replica.max(initial=0.0)))
        placed = self.cluster.run(
            parts.work_s, extra_s, parts.cpu_ratio, self.costs.tasks_per_core, slots, self.costs.background_ratio
        )
        pure_s, python = parts.work_s / placed.speeds, parts.python
        taken_s = placed.ends_s - placed.begins_s - extra_s
        stalled_s = np.maximum(taken_s - pure_s, 0.0)
        taken_s, placed = _held_up(taken_s, placed, tuples / element.limit_tuples_s(at_s), extra_s)
        return Stage(
            element, tuples, self._selected(element, tuples), by_replica, python * taken_s,
            python * pure_s * parts.worker_cpu_ratio, python * stalled_s, (1 - python) * taken_s, (1 - python) * pure_s,
            by_slot, at_s + self.costs.stage_s, placed,
        )  # fmt: skip

    def _work_s(self, element: BatchElement, tuples: Floats, tuple_s: float, slower: float, at_s: float) -> Floats:
        """Seconds of a core of speed 1 for each task."""
        if element.fires_every_s is not None:
            total, name = float(tuples.sum()), element.name
            pane = int(at_s / element.fires_every_s)
            due = total + self._unfired[name] if pane != self._pane[name] else 0.0
            self._unfired[name] = 0.0 if due else self._unfired[name] + total
            self._pane[name] = pane
            tuples = tuples * (due / total) if total else np.full(len(tuples), due / len(tuples))
        costs, number = self.costs, len(tuples)
        factor, chances = np.ones(number), self._chances
        chances.begin(element.name, at_s)
        if costs.noise > 0:
            factor = np.exp(chances.of("noise").normal(-(costs.noise**2) / 2, costs.noise, number))
        if (cv := max(element.service_cv, element.hidden_cv)) > 0:
            spread = cv / np.sqrt(np.maximum(tuples, 1.0))
            factor = factor * np.maximum(1 + spread * chances.of("service").standard_normal(number), _LEAST_WORK)
        if costs.straggler_ratio > 0:
            straggles = chances.of("stragglers").random(number) < costs.straggler_ratio
            factor = np.where(straggles, costs.straggler_factor, 1.0) * factor
        return np.asarray(tuples * tuple_s * slower * factor)

    def _network_s(self, element: BatchElement, tuples: float) -> float:
        """How long the input of the largest task travels."""
        per_byte = 0.0 if self._network.bytes_s is None else 1.0 / self._network.bytes_s
        return self._network.latency_s + tuples * element.bytes_per_tuple * per_byte

    def _selected(self, element: BatchElement, tuples: int) -> int:
        """Whole tuples; the rest is one more by chance."""
        exact = tuples * element.selectivity
        least = int(exact)
        return least + int(exact > least and self._chances.of("selectivity").random() < exact - least)

    def _latencies(self, taken: Mapping[str, int], committed_s: float) -> tuple[Floats, Any]:
        found, weights = [np.empty(0)], [np.empty(0, np.int64)]
        for name, tuples in taken.items():
            if not tuples:
                continue
            samples = min(tuples, _SAMPLES)
            edges = np.linspace(0, tuples, samples + 1).astype(np.int64)
            middles = self.taken[name] + (edges[:-1] + edges[1:]) // 2
            found.append(committed_s - self.arrivals[name].arrival_s(middles))
            weights.append(np.diff(edges))
            self.taken[name] += tuples
        return np.concatenate(found), np.concatenate(weights)


@dataclass(frozen=True, slots=True, eq=False)
class TaskParts:
    """The work of each task (s), the part of it in the Python worker, and how much of that part needs a core.

    `cpu_ratio`: of all work of the stage.
    """

    work_s: Any
    python: Any
    worker_cpu_ratio: Any
    cpu_ratio: float


def task_parts(element: BatchElement, tuples: Any, tuples_s: Any, python: float) -> TaskParts:
    """With what the worker takes beside its tuples, which take `tuples_s`, `python` of it in the worker."""
    tuple_cpu = python * element.cpu_ratio + (1 - python)
    if element.task_s == 0.0:
        return TaskParts(tuples_s, python, element.cpu_ratio, tuple_cpu)
    fixed_s = element.task_s * (tuples > 0)
    work_s, worker_s = tuples_s + fixed_s, python * tuples_s + fixed_s
    computed_s = python * tuples_s * element.cpu_ratio + fixed_s * element.task_cpu_ratio
    cpu_s = computed_s.sum() + (1 - python) * tuples_s.sum()
    return TaskParts(
        work_s, worker_s / np.maximum(work_s, _INSTANT_S), computed_s / np.maximum(worker_s, _INSTANT_S),
        float(cpu_s / max(work_s.sum(), _INSTANT_S)) or tuple_cpu,
    )  # fmt: skip


def _by_slot(shares: Floats, tuples: int) -> Any:
    """Whole tuples of each slot, all of them together."""
    return np.diff(np.floor(np.concatenate([[0.0], np.cumsum(shares) * tuples]) + 0.5)).astype(np.int64)


def _by_replica(by_slot: Any, own: ElementConfiguration, tuples: int) -> Floats:
    """Tuples of each replica; slots that are split, and elements without a route, are spread over all."""
    if len(own.route) != len(by_slot):
        return np.full(own.replicas, tuples / own.replicas)
    spread = np.zeros(len(by_slot), bool)
    spread[list(own.split)] = True
    found = np.bincount(np.asarray(own.route), by_slot * ~spread, minlength=own.replicas).astype(np.float64)
    return found + float(by_slot[spread].sum()) / own.replicas


def _held_up(busy_s: Any, placed: Placed, least_s: float, extra_s: float) -> tuple[Any, Placed]:
    """Tasks that wait for a service that takes no more: all of them take longer by the same factor."""
    own_s = float(busy_s.max(initial=0.0))
    if not least_s > own_s > 0:
        return busy_s, placed
    busy_s = busy_s * (least_s / own_s)
    return busy_s, Placed(placed.begins_s, placed.begins_s + busy_s + extra_s, placed.nodes, placed.speeds)


def variation(element: BatchElement) -> float:
    """The variance of a tuple's service time (s^2)."""
    return (element.service_cv * element.service_s) ** 2
