"""One control step as the policies of the application level see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.control.setting import Setting


@dataclass(frozen=True, slots=True)
class ElementLoad:
    """One element in a step, for policies that go through the graph: true rate = tuples_in / busy_s per replica.

    `cpu_s`: the part of `busy_s` in which it computed; `stalled_s`: the part in which it waited for a core.
    `load_by_slot`: seconds of work by slot, if it is keyed.

    >>> load = ElementLoad("window", replicas=2, tuples_in=900.0, tuples_out=90.0, busy_s=1.5)
    >>> load.tuples_in / load.busy_s
    600.0
    """

    name: str
    replicas: int
    tuples_in: float
    tuples_out: float
    busy_s: float
    inputs: tuple[str, ...] = ()
    cpu_s: float = 0.0
    stalled_s: float = 0.0
    load_by_slot: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlStep:
    """What was measured in one control step: a whole number of micro-batches, at least one control period long.

    Load.  `backlog_tuples`: arrived and not served at the end of the step, deferred tuples included.
    `latest_tuples_s`: the rate of arrivals since the last micro-batch began.  `load_by_slot`: seconds of work by slot,
    of the busiest keyed element; `split_slots`: its slots whose load is spread over all replicas.  `measured`: the
    arrivals of every source are known; otherwise the tuples that were read count as arrivals.

    Work.  `service_s`: the mean time for a tuple on one replica at the frequency in force, waiting for services
    included; None if nothing was served.  `imbalance`: the busiest replica's load / the mean.  `overhead_s`: the part
    of a micro-batch that does not depend on its tuples.  `joules`: energy of the cores; None if the machine does not
    count it.  `timed`: its results have a latency, or there are no results.

    State.  `replicas_ready`: less than the setting's replicas while some are starting.  `executor_start_s`: from the
    request for an executor to its start, if executors are requested at all.  `last_batch`: the number of the step's
    last micro-batch.  `highest_cap_tuples`: with a higher cap, micro-batches would delay decisions.
    `highest_replicas`: more replicas are not known to help.  `cap_may_shrink`: false while the input grows and latency
    does not include the time before a tuple is read, since a lower cap would only move the waiting out of sight.

    The control loop adds: `requested`, the setting requested last, in force or not; `cpu_share_by_element`, the share
    of its time in which each element computes; `goal_broken`, whether this step breaks the goal; `frequency_fixed`,
    frequencies are not set now; `paused`, a user has paused tuning.
    """

    step: int
    ended_at_s: float
    period_s: float
    setting: Setting
    arrived_tuples: float
    served_tuples: float
    backlog_tuples: float
    busy_ratio: float
    micro_batches: int = 1
    micro_batch_s: float | None = None
    overhead_s: float | None = None
    service_s: float | None = None
    service_cv: float = 0.0
    arrival_cv: float = 0.0
    latest_tuples_s: float | None = None
    imbalance: float = 1.0
    waiting_ratio: float = 0.0
    latency_mean_s: float | None = None
    latency_p95_s: float | None = None
    load_by_slot: tuple[float, ...] = ()
    split_slots: tuple[int, ...] = ()
    elements: tuple[ElementLoad, ...] = ()
    reconfigured: bool = False
    replicas_ready: int | None = None
    settled_below: bool = True
    executor_start_s: float | None = None
    last_batch: int | None = None
    highest_cap_tuples: int | None = None
    joules: float | None = None
    measured: bool = True
    timed: bool = True
    highest_replicas: int | None = None
    cap_may_shrink: bool = True
    requested: Setting | None = None
    cpu_share_by_element: Mapping[str, float] = field(default_factory=dict)
    goal_broken: bool = False
    frequency_fixed: bool = False
    paused: bool = False

    @property
    def rate_tuples_s(self) -> float:
        """Arrivals per second (not served tuples): the load that a policy has to follow."""
        return self.arrived_tuples / self.period_s

    @property
    def served_tuples_s(self) -> float:
        return self.served_tuples / self.period_s

    @property
    def served_ratio(self) -> float:
        return self.served_tuples / self.arrived_tuples if self.arrived_tuples > 0 else 1.0

    @property
    def is_partial(self) -> bool:
        """Whether the setting changed within the step, or is not yet in force on all replicas."""
        return self.reconfigured or (self.replicas_ready is not None and self.replicas_ready < self.setting.replicas)

    @property
    def queued_tuples(self) -> float:
        """The backlog, less the tuples that a micro-batch of usual length collects by design."""
        collected_s = min(self.micro_batch_s or 0.0, self.period_s / max(self.micro_batches, 1), 1.0)
        return max(self.backlog_tuples - self.rate_tuples_s * collected_s, 0.0)

    @property
    def offered_ratio(self) -> float | None:
        """The utilization that the arrivals would cause, above 1 if they are too many; None if costs are unknown."""
        if self.service_s is None:
            return None
        return self.rate_tuples_s * self.service_s * self.imbalance / self.setting.replicas
