"""An element as micro-batches see it: what a tuple costs, how keys are spread, what holds it up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2

import numpy as np

from penstock.errors import InputError
from penstock.plan.configuration import SLOTS, Configuration, ElementConfiguration, even_route
from penstock.simulate.events.model import Model, Operator, in_order, mean_service_s
from penstock.simulate.plant_shape import Floats, always, even_keys


@dataclass(frozen=True, slots=True)
class Growth:
    """What each doubling of replicas adds to the time of a tuple (s): of the element's own, and of those that read it.

    A tuple takes longer where more cores are at work on the same memory, and where it is dealt out to more replicas.
    Beyond the most replicas that were seen nothing is added.
    """

    own_s: float = 0.0
    readers_s: float = 0.0
    most_own: int = 1
    most_readers: int = 1

    def s(self, replicas: int, readers: int) -> float:
        own, reading = min(replicas, self.most_own), min(readers, self.most_readers)
        return self.own_s * log2(max(own, 1)) + self.readers_s * log2(max(reading, 1))


NO_GROWTH = Growth()


@dataclass(frozen=True, slots=True)
class BatchElement:
    """One stage; functions are of the time since the start (s).

    `service_s`: of a tuple in a Python worker on a core of speed 1, times `service_factor`; `service_cv`: its
    coefficient of variation, as tasks report it; `hidden_cv`: where they do not.  `jvm_s`: what Spark's side of the
    task computes for a tuple, while the worker waits.  Both are those of one replica, read by one; `service_growth` and
    `jvm_growth` are added with more of them.  `cpu_ratio`: the part of `service_s` that needs the core.  `task_s`: what
    a worker takes for a task beside its tuples, if it has any; `task_cpu_ratio` of it needs the core.  `shares`: of the
    tuples by slot.  A service behind it takes at most `limit_tuples_s`.  Windows do all their work every
    `fires_every_s`; None: with each tuple.  `is_single`: it can have one replica only.
    """

    name: str
    inputs: tuple[str, ...]
    service_s: float
    service_cv: float = 0.0
    selectivity: float = 1.0
    cpu_ratio: float = 1.0
    operator_class: str | None = None
    bytes_per_tuple: float = 100.0
    is_single: bool = False
    fires_every_s: float | None = None
    shares: Callable[[float], Floats] = field(default_factory=lambda: even_keys(SLOTS))
    service_factor: Callable[[float], float] = field(default_factory=lambda: always(1.0))
    limit_tuples_s: Callable[[float], float] = field(default_factory=lambda: always(float("inf")))
    jvm_s: float = 0.0
    service_growth: Growth = NO_GROWTH
    jvm_growth: Growth = NO_GROWTH
    task_s: float = 0.0
    task_cpu_ratio: float = 1.0
    hidden_cv: float = 0.0

    def tuple_s(self, replicas: int = 1, readers: int = 1) -> tuple[float, float]:
        """The time of a tuple in the Python worker and on Spark's side of the task."""
        service_s = self.service_s + self.service_growth.s(replicas, readers)
        return service_s, self.jvm_s + self.jvm_growth.s(replicas, readers)


def readers_of(element: BatchElement, elements: Sequence[BatchElement], configuration: Configuration) -> int:
    """The replicas that a tuple of an element is dealt out to: of the widest of those that read it."""
    own = [configuration.element(other.name).replicas for other in elements if element.name in other.inputs]
    return max(own, default=1)


def elements_of(model: Model) -> tuple[BatchElement, ...]:
    """One for each operator of a model, in the order in which stages run."""
    by_name = {operator.name: operator for operator in model.operators}
    sizes = {source.name: float(source.bytes_per_tuple) for source in model.sources}
    found = []
    for name in in_order(model.operators):
        operator = by_name[name]
        sizes[name] = sizes[operator.inputs[0]] if operator.bytes_per_tuple is None else float(operator.bytes_per_tuple)
        found.append(_element(operator, sizes[operator.inputs[0]]))
    return tuple(found)


def _element(operator: Operator, bytes_per_tuple: float) -> BatchElement:
    if operator.locks:
        raise InputError(f"operator '{operator.name}' has locks, which are simulated in continuous mode alone")
    return BatchElement(
        operator.name, tuple(operator.inputs), mean_service_s(operator.service), _cv(operator), operator.selectivity,
        operator_class=operator.operator_class or operator.name, bytes_per_tuple=bytes_per_tuple,
        is_single=operator.serial,
    )  # fmt: skip


def _cv(operator: Operator) -> float:
    service = operator.service
    if service.kind == "given":
        mean_s = float(np.mean(service.values))
        return float(np.std(service.values)) / mean_s if mean_s > 0 else 0.0
    return 1.0 if service.kind == "exponential" else 0.0


def model_configuration(model: Model, slots: int = SLOTS) -> Configuration:
    """Replicas of each operator times its partitions, slots dealt out evenly; `serial` operators have one."""
    elements = []
    for name in in_order(model.operators):
        operator = next(own for own in model.operators if own.name == name)
        replicas = 1 if operator.serial else operator.replicas * operator.partitions
        elements.append(ElementConfiguration(name, replicas, even_route(replicas, slots)))
    return Configuration(tuple(elements))
