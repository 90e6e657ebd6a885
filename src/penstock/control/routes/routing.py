"""From a setting to a Configuration: replicas of every element that scales, with routes that balance the load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.routes.hot_keys import advice, heaviest_slot, slots_to_split
from penstock.control.routes.rebalance import DEFAULT_IMBALANCE, imbalance, rebalance
from penstock.control.setting import Setting
from penstock.plan.configuration import Configuration, ElementConfiguration

_TRIGGER = 2.0  # times the allowed imbalance, so that a route that is as even as it can be is not touched again


@dataclass(frozen=True, slots=True)
class Routed:
    """A Configuration, how many slots change their replica with it, and what it cannot do anything about."""

    configuration: Configuration
    moved_slots: int
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Routing:
    """Balances when the number of replicas changes, or when the load of the replicas has drifted apart.

    `scalable`: elements without a route that may have several replicas, too (a source's, a stateless one's).
    `deviations`: loads that were counted are off by chance; so many standard errors of a replica's tuples are no drift.
    `splittable`: elements whose hot slots may be spread over all replicas.
    """

    allowed: float = DEFAULT_IMBALANCE
    scalable: tuple[str, ...] = ()
    deviations: float = 0.0
    splittable: tuple[str, ...] = ()

    def configured(
        self,
        configuration: Configuration,
        desired: Setting,
        seen: ControlStep,
        highest: Mapping[str, int] | None = None,
    ) -> Routed:
        """The Configuration of a setting; `highest` has the most replicas of elements that cannot use as many."""
        moved, advice_given = 0, []
        loads = {element.name: element.load_by_slot for element in seen.elements}
        for element in configuration.elements:
            replicas = min(desired.replicas, (highest or {}).get(element.name, desired.replicas))
            if element.route:
                # The step's own figure is for plants that tell none by element.
                own = loads.get(element.name) or (() if any(loads.values()) else seen.load_by_slot)
                split = self._split(element, replicas, own, seen)
                balanced, slots = self._balanced(split, replicas, own, seen.served_tuples)
                configuration, moved = configuration.with_element(balanced), moved + slots
                advice_given += self._advice(balanced, own, seen.period_s)
            elif element.name in self.scalable:
                configuration = configuration.with_element(replace(element, replicas=replicas))
        changed = replace(
            configuration, micro_batch_tuples=desired.micro_batch_tuples, frequency_ghz=desired.frequency_ghz
        )
        return Routed(changed, moved, tuple(advice_given))

    def _split(
        self, element: ElementConfiguration, replicas: int, load_by_slot: tuple[float, ...], seen: ControlStep
    ) -> ElementConfiguration:
        """With the slots spread over all replicas that alone are too much for one."""
        if element.name not in self.splittable or len(load_by_slot) != len(element.route):
            return element
        return replace(element, split=slots_to_split(load_by_slot, replicas, seen.offered_ratio, element.split))

    def _advice(self, element: ElementConfiguration, load_by_slot: tuple[float, ...], period_s: float) -> list[str]:
        """The most replicas that help, where a hot slot has to stay whole."""
        if len(load_by_slot) != len(element.route):
            return []
        hot = heaviest_slot(load_by_slot, period_s, element.split)
        if hot is None or hot.highest_useful_replicas >= element.replicas:
            return []
        return [advice(hot, element.name, splits=element.name in self.splittable)]

    def _balanced(
        self, element: ElementConfiguration, replicas: int, load_by_slot: tuple[float, ...], tuples: float
    ) -> tuple[ElementConfiguration, int]:
        known = len(load_by_slot) == len(element.route)
        loads = load_by_slot if known else (1.0,) * len(element.route)
        if element.split:  # a like share of these is on every replica
            loads = tuple(0.0 if slot in element.split else load for slot, load in enumerate(loads))
        if replicas == element.replicas:
            if not known or replicas == 1:
                return element, 0
            chance = self.deviations * math.sqrt(replicas / max(tuples, 1.0))
            if imbalance(element.route, loads, replicas) <= 1 + _TRIGGER * self.allowed + chance:
                return element, 0
        balanced = rebalance(element.route, loads, replicas, self.allowed)
        if replicas == element.replicas:
            gained = imbalance(element.route, loads, replicas) - balanced.imbalance
            if gained < self.allowed:  # a hot slot: no route is better
                return element, 0
        return replace(element, replicas=replicas, route=balanced.route), len(balanced.moved)


def narrowed(configuration: Configuration, replicas: int) -> Configuration:
    """The same with no element on more replicas than given; slots that have to move go where there are fewest."""
    for element in configuration.elements:
        if element.replicas > replicas:
            route = rebalance(element.route, (1.0,) * len(element.route), replicas).route if element.route else ()
            configuration = configuration.with_element(replace(element, replicas=replicas, route=route))
    return configuration
