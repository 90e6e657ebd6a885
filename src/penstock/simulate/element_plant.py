"""The plant: an element on a machine of many cores, simulated behind the port that real elements have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.measure.element_observation import ElementObservation
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_throughput import DEFAULT_COSTS, MachineCosts, Stations, shared_speed, stations


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores, and what threads cost on them."""

    cores: int
    costs: MachineCosts = DEFAULT_COSTS


@dataclass(frozen=True, slots=True)
class Change:
    """From this period on: so many cores are taken by others, or the element has become another one."""

    from_period: int
    taken_cores: int = 0
    model: ElementModel | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """What measuring adds to the truth: a relative error of throughput; snapshots per thread for operator costs."""

    throughput: float = 0.01
    snapshots: int = 500
    seed: int = 1


EXACT = Noise(throughput=0.0, snapshots=0)


class ElementPlant:
    """A simulated element that implements the port of an element's level; one `observe` is one period."""

    def __init__(
        self,
        model: ElementModel,
        machine: Machine,
        *,
        max_level: int | None = None,
        period_s: float = 1.0,
        noise: Noise = EXACT,
        changes: tuple[Change, ...] = (),
        queued: frozenset[str] = frozenset(),
    ) -> None:
        self.machine = machine
        self.max_level = machine.cores if max_level is None else max_level
        self.period = 0
        self._first_model = model
        self._period_s = period_s
        self._noise = noise
        self._random = np.random.default_rng(noise.seed)
        self._changes = changes
        self._setting = ElementSetting(1, queued)

    @property
    def setting(self) -> ElementSetting:
        return self._setting

    def apply(self, setting: ElementSetting) -> None:
        if not 1 <= setting.threads <= self.max_level:
            raise InputError(f"an element has 1 to {self.max_level} threads; got {setting.threads}")
        self._setting = setting

    def observe(self) -> ElementObservation:
        true_tuples_s, idle_cores = self._truth(self._setting, self.period)
        rate = true_tuples_s * max(0.0, 1.0 + self._noise.throughput * self._random.standard_normal())
        seen = ElementObservation(
            self._period_s, round(rate * self._period_s), rate, self._setting.threads, self.max_level,
            self._operator_costs(), self._setting.queued, feeds=self._now(self.period)[0].feeds,
            idle_cores=max(0.0, idle_cores + self._noise.throughput * self._random.standard_normal()),
        )  # fmt: skip
        self.period += 1
        return seen

    def throughput_tuples_s(self, setting: ElementSetting) -> float:
        """The truth about a setting in this period."""
        return self._truth(setting, self.period)[0]

    def _truth(self, setting: ElementSetting, period: int) -> tuple[float, float]:
        """Throughput in tuples/s, and how many cores nobody uses."""
        model, taken = self._now(period)
        limits = self._limits(setting, model)
        cores, costs = self.machine.cores, self.machine.costs
        speed = shared_speed([limits], cores, taken, costs.switching)
        idle_cores = max(0.0, cores - taken - limits.busy_threads(speed))
        return limits.blocks_s(speed) * model.block_tuples, idle_cores

    def _limits(self, setting: ElementSetting, model: ElementModel) -> Stations:
        return stations(model, self.machine.costs, setting.threads, model.arrays.mask(setting.queued))

    def _now(self, period: int) -> tuple[ElementModel, int]:
        model, taken = self._first_model, 0
        for change in self._changes:
            if change.from_period <= period:
                model, taken = change.model or model, change.taken_cores
        return model, taken

    def _operator_costs(self) -> dict[str, float]:
        """How often a thread was seen in each operator; the exact share of time where nothing is sampled."""
        model, _ = self._now(self.period)
        arrays = model.arrays
        spent_s = arrays.visits * (arrays.cpu_s + self.machine.costs.call_s + arrays.wait_s)
        share = spent_s / spent_s.sum()
        if self._noise.snapshots:
            share = self._random.poisson(share * self._noise.snapshots * (1 + self._setting.threads)).astype(np.float64)
        return dict(zip(model.names, share[1:].tolist(), strict=True))
