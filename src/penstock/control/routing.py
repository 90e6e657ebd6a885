"""From a setting to a Configuration: replicas of every element that scales, with routes that balance the load."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.configuration import Configuration, ElementConfiguration
from penstock.control.control_step import ControlStep
from penstock.control.rebalance import DEFAULT_IMBALANCE, imbalance, rebalance
from penstock.control.setting import Setting

_TRIGGER = 2.0  # times the allowed imbalance, so that a route that is as even as it can be is not touched again


@dataclass(frozen=True, slots=True)
class Routed:
    """A Configuration, and how many slots change their replica with it."""

    configuration: Configuration
    moved_slots: int


@dataclass(frozen=True, slots=True)
class Routing:
    """Balances when the number of replicas changes, or when the load of the replicas has drifted apart.

    `scalable`: elements without a route that may have several replicas, too (a source's, a stateless one's).
    """

    allowed: float = DEFAULT_IMBALANCE
    scalable: tuple[str, ...] = ()

    def configured(self, configuration: Configuration, desired: Setting, seen: ControlStep) -> Routed:
        moved = 0
        for element in configuration.elements:
            if element.route:
                balanced, slots = self._balanced(element, desired.replicas, seen.load_by_slot)
                configuration, moved = configuration.with_element(balanced), moved + slots
            elif element.name in self.scalable:
                configuration = configuration.with_element(replace(element, replicas=desired.replicas))
        changed = replace(
            configuration, micro_batch_tuples=desired.micro_batch_tuples, frequency_ghz=desired.frequency_ghz
        )
        return Routed(changed, moved)

    def _balanced(
        self, element: ElementConfiguration, replicas: int, load_by_slot: tuple[float, ...]
    ) -> tuple[ElementConfiguration, int]:
        known = len(load_by_slot) == len(element.route)
        loads = load_by_slot if known else (1.0,) * len(element.route)
        if replicas == element.replicas:
            if not known or replicas == 1:
                return element, 0
            if imbalance(element.route, loads, replicas) <= 1 + _TRIGGER * self.allowed:
                return element, 0
        balanced = rebalance(element.route, loads, replicas, self.allowed)
        if replicas == element.replicas:
            gained = imbalance(element.route, loads, replicas) - balanced.imbalance
            if gained < self.allowed:  # a hot slot: no route is better
                return element, 0
        return replace(element, replicas=replicas, route=balanced.route), len(balanced.moved)
