"""Loads by slot over steps: quiet moments of an element change neither what is known of it nor its routes."""

from __future__ import annotations

import pytest

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.routes.routing import Routing
from penstock.control.routes.slot_loads import SlotLoads, work_by_slot
from penstock.control.setting import Setting
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

SLOTS = 8
SKEWED, EVEN = (80, 80, 80, 20, 20, 20, 20, 20), (40,) * SLOTS


def observed(**counts: tuple[int, ...] | None) -> Observation:
    """Elements whose tuples were counted by slot, not counted (None), or that had none (empty)."""
    replicas = {
        name: tuple(
            ReplicaObservation(r, 0 if own == () else 170, 0, 0.5 if own != () else 0.0, 0.0, 0) for r in (0, 1)
        )
        for name, own in counts.items()
    }
    return Observation(
        0, 0.0, 1.0, 340, 0, replicas, slot_tuples_by_element={n: own for n, own in counts.items() if own}
    )


def test_an_element_that_was_not_counted_keeps_its_loads_and_one_without_tuples_fades() -> None:
    loads = SlotLoads()
    first = loads.learn([observed(a=SKEWED, b=EVEN)], 1.0)
    assert first["b"] == pytest.approx((0.125,) * SLOTS)
    assert loads.learn([observed(a=SKEWED, b=None)], 1.0) == first
    faded = loads.learn([observed(a=SKEWED, b=())], 1.0)
    assert faded["a"] == first["a"]
    assert faded["b"] == pytest.approx([0.7 * load for load in first["b"]])
    for _ in range(5000):
        faded = loads.learn([observed(a=(), b=())], 1.0)
    assert faded["a"][0] == pytest.approx(4 * faded["a"][-1]), "how it is spread stays known"
    assert 0 < sum(faded["a"]) < 1e-6


def step_of(loads: dict[str, tuple[float, ...]], busy_s: float = 1.0) -> ControlStep:
    elements = tuple(ElementLoad(name, 2, 340.0, 340.0, busy_s, load_by_slot=own) for name, own in loads.items())
    busiest = max(loads.values(), key=sum)
    return ControlStep(1, 1.0, 1.0, Setting(2), 340.0, 340.0, 0.0, 0.5, load_by_slot=busiest, elements=elements)


def test_no_element_is_routed_by_the_load_of_another() -> None:
    configuration = Configuration(tuple(ElementConfiguration(name, 2, even_route(2, SLOTS)) for name in "ab"))
    step = step_of({"a": tuple(c / 340 for c in SKEWED), "b": ()})
    routed = Routing().configured(configuration, Setting(2), step)
    assert routed.configuration.element("b") == configuration.element("b")
    assert routed.configuration.element("a") != configuration.element("a")


def test_a_plant_without_elements_is_routed_by_the_load_of_its_step() -> None:
    configuration = Configuration((ElementConfiguration("a", 2, even_route(2, SLOTS)),))
    step = ControlStep(1, 1.0, 1.0, Setting(2), 340.0, 340.0, 0.0, 0.5, load_by_slot=tuple(c / 340 for c in SKEWED))
    assert Routing().configured(configuration, Setting(2), step).moved_slots


def test_work_by_slot_adds_up_and_spreads_split_slots() -> None:
    keyed = ElementConfiguration("keyed", 2, even_route(2, SLOTS), split=(0,))
    configuration = Configuration(
        (keyed, ElementConfiguration("single", 1), ElementConfiguration("unknown", 2, (0, 1)))
    )
    loads: dict[str, tuple[float, ...]] = {"keyed": (8.0,) + (1.0,) * 7, "single": (), "unknown": (), "gone": (1.0,)}
    work = work_by_slot(step_of(loads, busy_s=3.0), configuration)
    assert set(work) == {"keyed", "single"}
    assert work["single"] == (3.0,)
    assert sum(work["keyed"]) == pytest.approx(3.0)
    assert work["keyed"] == pytest.approx((0.2, *(0.4,) * 7))
