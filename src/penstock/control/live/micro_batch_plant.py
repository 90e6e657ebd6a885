"""A running application on Spark behind the ports of a plant: control steps out of its micro-batches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from penstock.control.control_step import ControlStep
from penstock.control.loop.observed_steps import (
    COLD_BATCHES,
    ObservedBatch,
    StepGatherer,
    setting_of,
    work_s,
)
from penstock.control.routes.slot_loads import work_by_slot
from penstock.control.rules.batch_cap import CapPace, grows
from penstock.errors import InputError
from penstock.host.energy import Energy
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

PATIENCE_S = 0.1
IDLE_S = 10.0  # without a step, and a micro-batch is asked for: what is not needed any more must not stay


class Application(Protocol):
    """What a handle on a running application has for control."""

    @property
    def configuration(self) -> Configuration: ...

    def apply(self, configuration: Configuration) -> None: ...

    def apply_cap(self, tuples: int) -> None:
        """Another cap of micro-batches, and nothing else."""
        ...

    def clear_frequency(self) -> None:
        """Cores are left alone from now on, and nothing else changes."""
        ...

    def beat(self) -> None:
        """Has a micro-batch run although no tuples may have come."""
        ...


class Resources(Protocol):
    """What a Configuration needs besides the application: executors, frequencies."""

    def prepare(self, configuration: Configuration) -> Configuration | None:
        """Asks for what it needs; gives it when that is there, a narrower one if it will not come, None until then."""
        ...

    def look(self, in_force: Configuration) -> None:
        """After each micro-batch: sees what has come, and gives back what is needed no more."""
        ...

    @property
    def executor_start_s(self) -> float | None:
        """How long the next replica more would take to start; None where it has a place already."""
        ...

    def close(self) -> None: ...


class LoadedPlaces(Protocol):
    """Where replicas run, which goes by the load that their routes were chosen by."""

    loads: Mapping[str, Sequence[float]]


class SparkPlant:
    """Fed with each micro-batch by the application's own thread, observed and changed by another one.

    Where a micro-batch ends a control step, its thread waits a moment for the decision, so that the next one runs with
    it.  A change that needs what is not there yet waits for it, and is made then.  `pace`: of the cap; without it, the
    cap is the policy's alone.  `energy`: counters of the machine that computes.  `places`: told of the load by slot
    with every change of routes, and not between them, so that slots on their way keep their aim.  `idle_s`: a stream
    that is silent for so long gets a micro-batch without tuples, and with it a step.
    """

    def __init__(
        self,
        application: Application,
        *,
        single: Iterable[str] = (),
        resources: Resources | None = None,
        cold_batches: int = COLD_BATCHES,
        patience_s: float = PATIENCE_S,
        idle_s: float = IDLE_S,
        pace: CapPace | None = None,
        energy: Energy | None = None,
        cores: int = 1,
        places: LoadedPlaces | None = None,
    ) -> None:
        self._application, self.resources, self._places = application, resources, places
        self._seen: ControlStep | None = None
        self._gatherer, self._cold = StepGatherer(single=single, cores=cores), cold_batches
        self._patience_s, self._idle_s = patience_s, idle_s
        self._changed = threading.Condition()
        self._steps: deque[ControlStep] = deque()
        self._is_deciding = self._is_closed = False
        self._waiting: Configuration | None = None  # for executors
        self._asked: tuple[Configuration, Configuration] | None = None  # and what the application said then
        self._in_force: Configuration | None = None
        self._energy = energy
        self._pace, self._ceiling_tuples = pace, None if pace is None else pace.ladder[-1]
        self._seen_tuples: int | None = None  # the cap of the step that is being decided on
        self._rate_tuples_s: float | None = None  # of the micro-batch before
        self._too_high = False  # whether the next cap was found to be, when a micro-batch was full

    @property
    def configuration(self) -> Configuration:
        """What was asked for last: in force, on its way, or waiting for executors."""
        if self._waiting is not None:
            return self._waiting
        now = self._application.configuration
        if self._asked is not None and now == self._asked[1]:
            return self._asked[0]
        self._asked = None  # it is in force, or somebody else has changed it
        return now

    def is_due(self, committed_at_s: float, configuration: Configuration, tuples: int) -> bool:
        """Whether a decision or a higher cap may follow a micro-batch, or what has come is to be looked at.

        Others may wait for it.
        """
        if self._is_closed:
            return False
        may_rise = self._pace is not None and not self._too_high and self._pace.is_full(tuples)
        return may_rise or self.resources is not None or self._gatherer.is_due(committed_at_s, configuration)

    def committed(self, observation: Observation, configuration: Configuration) -> None:
        """A micro-batch of the application is over."""
        with self._changed:
            if self._is_closed:
                return
            self._learn_pace(observation)
            self._cold -= 1
            if self._cold >= 0:
                self._joules()
                return
            self._in_force = configuration
            ended = self._gatherer.add(ObservedBatch(observation, configuration))
            self._steps.extend(self._completed(step) for step in self._with_joules(ended))
            if ended or self.resources is not None:
                self._is_deciding = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_closed or not self._is_deciding, self._patience_s)

    def _with_joules(self, ended: list[ControlStep]) -> list[ControlStep]:
        """What was used since the steps before, shared by the time they took."""
        joules = self._joules() if ended else None
        if joules is None:
            return ended
        joules_s = joules / max(sum(step.period_s for step in ended), 1e-9)
        return [replace(step, joules=joules_s * step.period_s) for step in ended]

    def _joules(self) -> float | None:
        if self._energy is None:
            return None
        try:
            return self._energy.joules()
        except InputError:  # the counters have gone: watts are estimated from now on
            self._energy = None
            return None

    def _completed(self, step: ControlStep) -> ControlStep:
        """With what only the plant knows: a change that is under way, and how long executors take."""
        start_s = None if self.resources is None else self.resources.executor_start_s
        most = None if self._pace is None else self._pace.cap_tuples
        step = replace(step, executor_start_s=start_s, highest_cap_tuples=most)
        asked = self.configuration
        if self._in_force is None or asked.elements == self._in_force.elements:
            return step
        ready = min(step.setting.replicas, setting_of(asked).replicas)
        return replace(step, settled_below=False, replicas_ready=ready)

    def observe(self) -> ControlStep | None:
        while True:
            with self._changed:
                if not self._steps:
                    self._is_deciding = False
                    self._changed.notify_all()
                    is_due = self._changed.wait_for(lambda: self._is_closed or self._is_deciding, self._idle_s)
                    if not is_due:
                        self._application.beat()
                        continue
                if self._is_closed:
                    return None
            self._look()
            with self._changed:
                if self._is_closed:
                    return None
                if self._steps:
                    step = self._steps.popleft()
                    self._seen, self._seen_tuples = step, step.setting.micro_batch_tuples
                    return step
                self._is_deciding = False

    def _look(self) -> None:
        """Without the lock: a master may take a minute to answer, and micro-batches go on meanwhile."""
        if self.resources is None or self._in_force is None:
            return
        self.resources.look(self._in_force)
        self._give_back_if_closed()
        if self._waiting is not None:
            self._apply(self._waiting)

    def apply(self, configuration: Configuration) -> None:
        with self._changed:  # the loop changes the cap from the thread of the micro-batches, too
            if self._is_closed:  # what was given back stays so
                return
            known = self._seen_tuples, self._application.configuration.micro_batch_tuples
            if configuration.micro_batch_tuples not in known:  # else whoever decided leaves it as it is
                self._ceiling_tuples = configuration.micro_batch_tuples
        self._apply(configuration)

    def _apply(self, configuration: Configuration) -> None:
        """Asks for what it needs without the lock, and changes the application with it."""
        affordable = configuration if self.resources is None else self.resources.prepare(configuration)
        with self._changed:
            if not self._give_back_if_closed():
                self._apply_affordable(configuration, affordable)

    def _give_back_if_closed(self) -> bool:
        """What was taken while somebody closed the plant is given back; tells whether that was so."""
        with self._changed:
            if self._is_closed and self.resources is not None:
                self.resources.close()
            return self._is_closed

    def _apply_affordable(self, configuration: Configuration, affordable: Configuration | None) -> None:
        self._waiting = configuration if affordable is None else None
        if affordable is None or (affordable.elements != configuration.elements and self._is_as_wide(affordable)):
            return  # it waits; or all that can be had is what there is
        affordable = replace(affordable, micro_batch_tuples=self._cap(affordable))
        now = self._application.configuration
        if self._places is not None and self._seen is not None and affordable.elements != now.elements:
            self._places.loads = work_by_slot(self._seen, now)
        self._application.apply(affordable)
        self._asked = (affordable, self._application.configuration)

    @property
    def cap_tuples(self) -> int:
        """The cap of the next micro-batch."""
        return self._application.configuration.micro_batch_tuples

    @property
    def cap_in_time(self) -> int | None:
        """The cap that suits what the last micro-batch took, no larger than the policy wants; None without a pace."""
        return None if self._is_closed or self._pace is None else self._cap(self._application.configuration)

    def apply_cap(self, tuples: int) -> None:
        """Another cap from the next micro-batch on, and nothing else."""
        with self._changed:
            if not self._is_closed:  # what was given back stays so
                self._application.apply_cap(tuples)

    def _learn_pace(self, observation: Observation) -> None:
        if self._pace is None:
            return
        before = self._pace
        earlier, self._rate_tuples_s = self._rate_tuples_s, observation.rate_tuples_s
        hides = observation.latency_excludes_waiting and grows(observation.rate_tuples_s, earlier)
        spent_s = work_s(observation, observation.replicas_by_element)
        arrivals = observation.arrivals
        arriving_tuples_s = 0.0 if arrivals is None or arrivals.assumed else arrivals.rate_tuples_s
        self._pace = before.after(
            observation.tuples_in, spent_s, may_shrink=not hides, arriving_tuples_s=arriving_tuples_s
        )
        self._too_high = self._pace.place == before.place and before.is_full(observation.tuples_in)

    def _cap(self, configuration: Configuration) -> int:
        if self._pace is None or self._ceiling_tuples is None:
            return configuration.micro_batch_tuples
        return min(self._pace.cap_tuples, self._ceiling_tuples)

    def use(self, resources: Resources | None, pace: CapPace | None) -> None:
        """Other resources and another pace from now on: control was made passive, active, or got other limits."""
        with self._changed:
            before, self.resources = self.resources, resources
            self._waiting = None
            if pace is None:
                self.give_cap_back()
            if pace is None or self._pace is None or self._pace.ladder != pace.ladder:
                self._pace, self._ceiling_tuples = pace, None if pace is None else pace.ladder[-1]
            if before is not None and before is not resources:
                before.close()
                if self._application.configuration.frequency_ghz is not None:
                    self._application.clear_frequency()

    def give_cap_back(self) -> None:
        """The highest cap there may be: it began low, and nobody will raise it."""
        with self._changed:
            if self._pace is not None and self._application.configuration.micro_batch_tuples != self._pace.ladder[-1]:
                self._application.apply_cap(self._pace.ladder[-1])

    def _is_as_wide(self, configuration: Configuration) -> bool:
        now = self._application.configuration
        return [e.replicas for e in configuration.elements] == [e.replicas for e in now.elements]

    def close(self) -> None:
        """Nobody is waited for any more; `observe` gives None from now on."""
        with self._changed:
            if not self._is_closed and self.resources is not None:
                self.resources.close()
                if self._application.configuration.frequency_ghz is not None:
                    self._application.clear_frequency()
            self._is_closed = True
            self._changed.notify_all()
