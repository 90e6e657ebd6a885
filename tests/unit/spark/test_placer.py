"""From what was observed on hosts to where the next batch's replicas are placed."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.plan.placement.placement import Placement
from penstock.runtime.migration.migration import Situation
from penstock.spark.executors.placer import Placer

SLOTS = 16
PLACED = {"x": Placement(("a", "b"), ("a", "b"), even_route(2, SLOTS))}


def observed(batch: int, *costs_s: float) -> Observation:
    """A thousand tuples in each replica, at so much CPU."""
    replicas = tuple(ReplicaObservation(i, 1000, 0, cost_s, cost_s, 0) for i, cost_s in enumerate(costs_s))
    return Observation(batch, 0.0, 1.0, 2000, 0, {"x": replicas, "first": replicas})


def situation(placer: Placer, **given: Any) -> Situation:
    movables: Any = {"x": SimpleNamespace(slots=SLOTS)}
    return Situation({"a": 2, "b": 2}, movables, paces=placer.paces.in_force, **given)


def test_a_host_that_takes_three_times_the_cpu_gets_fewer_replicas() -> None:
    placer = Placer()
    for batch in range(5):
        placer.note(batch, PLACED)
        placer.learn(observed(batch, 3.0, 1.0))
    configuration = Configuration((ElementConfiguration("x", 8, even_route(8, SLOTS)),))
    packing = situation(placer).packing(configuration)
    assert Counter(packing.place("x", 8, even_route(8, SLOTS), None).hosts) == {"a": 2, "b": 6}


def test_batches_observed_late_are_told_apart_and_those_without_places_say_nothing() -> None:
    placer = Placer()
    for batch in range(8):
        placer.note(batch, PLACED if batch % 2 else {})
    for batch in range(8):
        placer.learn(observed(batch, 3.0, 1.0) if batch % 2 else observed(batch, 1.0, 30.0))
    assert placer.paces.in_force["a"] < placer.paces.in_force["b"]


def test_replicas_on_one_host_say_nothing_of_it() -> None:
    placer, one = Placer(), {"x": Placement(("a", "a"), ("a", "a"), even_route(2, SLOTS))}
    for batch in range(4):
        placer.note(batch, one)
        placer.learn(observed(batch, 3.0, 1.0))
    assert placer.paces.in_force == {}
