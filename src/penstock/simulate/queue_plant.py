"""A small queue model behind the ports of a plant: a source with a schedule, and one keyed element in micro-batches.

Simulated time only; the same seed gives the same steps.  Every tuple that arrives is served once or in the backlog.
"""

from __future__ import annotations

import numpy as np

from penstock.connectors.trace.arrivals import Arrivals
from penstock.control.control_step import ControlStep
from penstock.control.setting import Setting
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.simulate.plant_shape import Floats, PlantShape
from penstock.simulate.plant_step import StepSums

ELEMENT = "element"


def initial_configuration(shape: PlantShape, setting: Setting) -> Configuration:
    """Slots dealt out evenly by number; the loop balances them by load."""
    slots = len(shape.shares(0.0))
    element = ElementConfiguration(ELEMENT, setting.replicas, even_route(setting.replicas, slots))
    return Configuration((element,), micro_batch_tuples=setting.micro_batch_tuples, frequency_ghz=setting.frequency_ghz)


class QueuePlant:
    """Runs micro-batch after micro-batch; a control step is as many of them as take `period_s`, until `end_s`."""

    def __init__(
        self,
        shape: PlantShape,
        arrivals: Arrivals,
        start: Setting,
        *,
        end_s: float,
        period_s: float = 1.0,
        seed: int = 1,
    ) -> None:
        self.shape = shape
        self.arrivals = arrivals
        self._end_s, self._period_s = end_s, period_s
        self._rng = np.random.default_rng(seed)
        self._configuration = initial_configuration(shape, start)
        self._ready = start.replicas
        self._coming: list[tuple[float, int]] = []  # from when on there are so many replicas
        self._time_s, self._taken, self._step = 0.0, 0, 0
        self._pause_s, self._unfired, self._pane = 0.0, 0.0, 0

    @property
    def configuration(self) -> Configuration:
        return self._configuration

    def apply(self, configuration: Configuration) -> None:
        old, new = self._configuration.element(ELEMENT), configuration.element(ELEMENT)
        if new.route != old.route:
            shares = self.shape.shares(self._time_s)
            moved = float(shares[np.asarray(old.route) != np.asarray(new.route)].sum())
            self._pause_s = self.shape.reconfigure_s + self.shape.move_s * moved
        self._ready = self._replicas()
        if new.replicas > old.replicas:
            self._coming.append((self._time_s + self.shape.start_s, new.replicas))
        self._coming = [(ready_at_s, min(n, new.replicas)) for ready_at_s, n in self._coming]
        self._ready = min(self._ready, new.replicas)
        self._configuration = configuration

    def observe(self) -> ControlStep | None:
        if self._time_s >= self._end_s:
            return None
        sums = StepSums(self._time_s, self._arrived(), self.shape, self._pause_s > 0)
        while self._time_s < sums.began_at_s + self._period_s - 1e-9:
            self._micro_batch(sums)
        self._step += 1
        return sums.finished(self._step, self._time_s, self._arrived(), self._taken, self._setting(), self._replicas())

    def _arrived(self) -> int:
        return self.arrivals.arrived_by(self._time_s)

    def _setting(self) -> Setting:
        c = self._configuration
        return Setting(c.element(ELEMENT).replicas, c.frequency_ghz, c.micro_batch_tuples)

    def _replicas(self) -> int:
        """How many are there by now."""
        self._ready = max([self._ready, *(n for ready_at_s, n in self._coming if ready_at_s <= self._time_s)])
        self._coming = [own for own in self._coming if own[0] > self._time_s]
        return self._ready

    def _micro_batch(self, sums: StepSums) -> None:
        for begin_s, end_s in self.shape.outages_s:
            if begin_s <= self._time_s < end_s:
                self._time_s = end_s
                return
        began_s = self._time_s
        arrived = self._arrived()
        sums.begins(began_s, arrived)
        tuples = min(arrived - self._taken, self._configuration.micro_batch_tuples)
        work_s = self._work_s(tuples, began_s)
        ready = self._replicas()
        route = np.asarray(self._configuration.element(ELEMENT).route) % ready
        busy_s = np.bincount(route, work_s, minlength=ready).astype(np.float64)
        own_s = float(busy_s.max())
        run_s = max(own_s, tuples / self.shape.limit_tuples_s(began_s))
        if run_s > own_s > 0:
            busy_s = busy_s * (run_s / own_s)  # replicas wait for the service
        took_s = self.shape.overhead_s + run_s + self._pause_s
        self._time_s = max(began_s + took_s, began_s + self.shape.interval_s)
        commit_s = began_s + took_s
        latencies_s = commit_s - self._sampled_arrivals_s(tuples)
        sums.add(tuples, latencies_s, busy_s, work_s, took_s - run_s - self._pause_s, took_s, own_s, run_s)
        self._taken += tuples
        self._pause_s = 0.0

    def _work_s(self, tuples: int, time_s: float) -> Floats:
        """Seconds of one replica that each slot's tuples need now."""
        due = float(tuples)
        if self.shape.fires_every_s is not None:
            self._unfired += tuples
            every_s = self.shape.fires_every_s
            fires, self._pane = int(time_s / every_s) != self._pane, int(time_s / every_s)
            due, self._unfired = (self._unfired, 0.0) if fires else (0.0, self._unfired)
        frequency_ghz = self._configuration.frequency_ghz or self.shape.highest_frequency_ghz
        slower = self.shape.highest_frequency_ghz / frequency_ghz * self.shape.service_factor(time_s)
        noise = float(np.exp(self._rng.normal(0.0, self.shape.noise))) if self.shape.noise > 0 else 1.0
        return np.asarray(due * self.shape.service_s * slower * noise * self.shape.shares(time_s))

    def _sampled_arrivals_s(self, tuples: int) -> Floats:
        """When some of a micro-batch's tuples came, evenly over it."""
        if tuples == 0:
            return np.empty(0)
        places = self._taken + np.unique(np.linspace(0, tuples - 1, min(tuples, 24)).astype(np.int64))
        return self.arrivals.arrival_s(places)
