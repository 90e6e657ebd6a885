"""Several simulated elements side by side in one process, on the same cores."""

from __future__ import annotations

import numpy as np

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.fair_share import fair_max_level
from penstock.measure.element_observation import ElementObservation
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import EXACT, Machine, Noise
from penstock.simulate.element_throughput import Stations, shared_speed, stations


class SharedCores:
    """Elements whose threads get equal shares of a machine's cores; each element is a port of its own.

    `fair` bounds their thread levels by `fair_max_level`; otherwise each may use twice as many as there are cores.
    """

    def __init__(
        self, models: tuple[ElementModel, ...], machine: Machine, *, fair: bool = True, noise: Noise = EXACT
    ) -> None:
        self.machine = machine
        self.fair = fair
        self.noise = noise
        self.elements = tuple(SharedElement(self, model) for model in models)
        self.random = np.random.default_rng(noise.seed)

    def rates_tuples_s(self) -> list[float]:
        """The true throughput of every element with the settings in force."""
        limits = [element.limits() for element in self.elements]
        speed = shared_speed(limits, self.machine.cores, 0, self.machine.costs.switching)
        return [one.blocks_s(speed) * e.model.block_tuples for one, e in zip(limits, self.elements, strict=True)]


class SharedElement:
    """One of the elements, behind the port of an element's level."""

    def __init__(self, shared: SharedCores, model: ElementModel) -> None:
        self.model = model
        self.setting = ElementSetting(1, frozenset(model.names))
        self._shared = shared

    @property
    def max_level(self) -> int:
        cores, elements = self._shared.machine.cores, self._shared.elements
        if not self._shared.fair:
            return 2 * cores
        return fair_max_level([element.setting.threads for element in elements], elements.index(self), cores)

    def limits(self) -> Stations:
        queued = self.model.arrays.mask(self.setting.queued)
        return stations(self.model, self._shared.machine.costs, self.setting.threads, queued)

    def apply(self, setting: ElementSetting) -> None:
        self.setting = setting

    def observe(self) -> ElementObservation:
        rate = self._shared.rates_tuples_s()[self._shared.elements.index(self)]
        rate *= 1 + self._shared.noise.throughput * self._shared.random.standard_normal()
        costs = dict.fromkeys(self.model.names, 1.0)
        return ElementObservation(
            1.0, round(rate), rate, self.setting.threads, self.max_level, costs, self.setting.queued
        )
