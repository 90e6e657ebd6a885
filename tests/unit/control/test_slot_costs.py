"""Slots whose tuples cost more: learned from the CPU of replicas, and routed by it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.routes.rebalance import imbalance
from penstock.control.routes.routing import Routing
from penstock.control.routes.slot_costs import SlotCosts
from penstock.control.routes.slot_loads import SlotLoads
from penstock.control.setting import Setting
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

SLOTS = 64
COUNTS = (100,) * SLOTS


def observed(own: ElementConfiguration, costs_s: list[float], chance: random.Random, noise: float) -> Observation:
    """A micro-batch of an element whose slots have equal counts, and costs of their own."""
    spent = [0.001] * own.replicas
    for slot, replica in enumerate(own.route):
        spent[replica] += COUNTS[slot] * costs_s[slot]
    spent = [s * (1 + chance.uniform(-noise, noise)) for s in spent]
    replicas = tuple(ReplicaObservation(r, own.route.count(r) * 100, 0, s, s, 0) for r, s in enumerate(spent))
    return Observation(0, 0.0, 1.0, 6400, 0, {"a": replicas}, slot_tuples_by_element={"a": COUNTS})


def routed(costs_s: list[float], steps: int, noise: float = 0.0, replicas: int = 2) -> tuple[Configuration, int]:
    """What the route becomes over steps of three micro-batches, and in how many steps it changed."""
    chance, loads, changes = random.Random(1), SlotLoads(), 0
    configuration = Configuration((ElementConfiguration("a", replicas, even_route(replicas, SLOTS)),))
    for number in range(steps):
        seen = [observed(configuration.elements[0], costs_s, chance, noise) for _ in range(3)]
        load = loads.learn(seen, 3.0, [configuration] * 3)["a"]
        element = ElementLoad("a", replicas, 6400.0, 6400.0, sum(load), load_by_slot=load)
        setting = Setting(replicas)
        step = ControlStep(number, 1.0, 1.0, setting, 6400.0, 6400.0, 0.0, 0.5, elements=(element,))
        after = Routing(deviations=3.0).configured(configuration, setting, step).configuration
        changes += after.elements != configuration.elements
        configuration = after
    return configuration, changes


def spread(costs_s: list[float], configuration: Configuration) -> float:
    own = configuration.elements[0]
    return imbalance(own.route, tuple(100 * c for c in costs_s), own.replicas)


def test_dear_keys_with_equal_counts_are_dealt_out_evenly() -> None:
    chance = random.Random(7)
    costs_s = sorted(1e-5 * chance.choice([1.0, 2.0, 5.0, 20.0]) for _ in range(SLOTS))
    before = Configuration((ElementConfiguration("a", 2, even_route(2, SLOTS)),))
    assert spread(costs_s, before) > 1.5
    after, _ = routed(costs_s, 60)
    assert spread(costs_s, after) < 1.15


@given(st.integers(0, 2**32))
def test_costs_that_differ_end_within_the_trigger(seed: int) -> None:
    chance = random.Random(seed)
    costs_s = [1e-5 * chance.choice([1.0, 3.0, 20.0]) for _ in range(SLOTS)]
    assert spread(costs_s, routed(costs_s, 60)[0]) < 1.3


def test_equal_costs_measured_with_noise_change_no_route() -> None:
    assert routed([1e-5] * SLOTS, 100, noise=0.08)[1] == 0


def test_without_configurations_all_tuples_cost_the_same() -> None:
    own = ElementConfiguration("a", 2, even_route(2, SLOTS))
    seen = observed(own, [1e-5] * 32 + [1e-4] * 32, random.Random(1), 0.0)
    load = SlotLoads().learn([seen], 1.0)["a"]
    assert load == pytest.approx((np.sum(load) / SLOTS,) * SLOTS)


def test_slots_that_are_timed_need_no_regression() -> None:
    chance, loads = random.Random(3), SlotLoads()
    costs_us = [chance.choice([1, 3, 20]) for _ in range(SLOTS)]
    configuration = Configuration((ElementConfiguration("a", 1, even_route(1, SLOTS)),))
    timed = tuple(100 * cost for cost in costs_us)
    seen = Observation(
        0, 0.0, 1.0, 6400, 0, {"a": (ReplicaObservation(0, 6400, 0, 1.0, 1.0, 0),)},
        slot_tuples_by_element={"a": COUNTS}, slot_cpu_us_by_element={"a": timed},
    )  # fmt: skip
    for _ in range(30):
        load = loads.learn([seen], 1.0, [configuration])["a"]
    assert np.allclose(np.array(load) / sum(load), np.array(costs_us) / sum(costs_us), rtol=0.02)


def test_the_first_route_by_timed_slots_is_even() -> None:
    """Weights that had only begun to follow left 1.2 after the first change, which is too little for another one."""
    chance, loads = random.Random(3), SlotLoads()
    costs_us = [20 if chance.random() < (0.8 if slot < SLOTS // 2 else 0.1) else 1 for slot in range(SLOTS)]
    configuration = Configuration((ElementConfiguration("a", 2, even_route(2, SLOTS)),))
    seen = replace(
        observed(configuration.elements[0], [1e-6 * cost for cost in costs_us], chance, 0.0),
        slot_cpu_us_by_element={"a": tuple(100 * cost for cost in costs_us)},
    )
    load = loads.learn([seen], 1.0, [configuration])["a"]
    element = ElementLoad("a", 2, 6400.0, 6400.0, sum(load), load_by_slot=load)
    step = ControlStep(1, 1.0, 1.0, Setting(2), 6400.0, 6400.0, 0.0, 0.5, elements=(element,))
    after = Routing(deviations=3.0).configured(configuration, Setting(2), step).configuration
    assert spread([float(cost) for cost in costs_us], configuration) > 1.5
    assert spread([float(cost) for cost in costs_us], after) < 1.1


def test_a_slot_without_tuples_keeps_its_weight_and_other_lengths_are_ignored() -> None:
    costs = SlotCosts(3)
    costs.learn_timed((10, 0, 10), (10, 0, 30))
    assert costs.weights[1] == 1.0
    assert costs.weights[0] < 1.0 < costs.weights[2]
    before = costs.weights.copy()
    costs.learn_timed((10, 10), (1, 2))
    costs.learn_timed((0, 0, 0), (1, 2, 3))
    assert (costs.weights == before).all()
