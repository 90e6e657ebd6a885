"""The loop of the application level: observe, learn, decide, guard, act, record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, at_the_same_frequency
from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks
from penstock.control.loop.observed_steps import setting_of
from penstock.control.plant import Plant
from penstock.control.policy import Policy
from penstock.control.routes.routing import Routing
from penstock.control.rules.batch_cap import within_pace
from penstock.control.rules.guard import Guard, GuardState
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.useful_replicas import CpuShares, HighestReplicas
from penstock.control.rules.within_limits import within_limits
from penstock.control.setting import Setting

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    """One turn of the loop: what was seen, what the policy wanted, what the guard let through, what was requested.

    `requested` is None where nothing was changed.  The expectation is in `decided`, its outcome in the next record.
    """

    seen: ControlStep
    wanted: Decision
    decided: Decision
    requested: Setting | None
    moved_slots: int = 0
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """Ties a policy to a plant; `passive`: says what it would do, and does nothing.

    `highest`: how many replicas of each element help; without it, as many as the policy says.  `bounds`: the least and
    the most replicas that the limits allow.  `keeps_frequency`: whether cores are left alone now, whatever is wanted.
    """

    policy: Policy
    goal: Goal
    guard: Guard | None = None
    routing: Routing | None = None
    passive: bool = False
    record: Callable[[Record], None] | None = None
    highest: HighestReplicas | None = None
    bounds: Bounds | None = None
    keeps_frequency: Callable[[], bool] | None = None

    def run(self, plant: Plant) -> Iterator[Record]:
        """A record per control step, until the plant ends."""
        state, guarded, shares = self.policy.start(), GuardState(), CpuShares()
        while (seen := plant.observe()) is not None:
            if not seen.reconfigured:  # workers that start compute more than they will
                shares = shares.learn(seen.elements)
            if self.highest is not None:
                seen = replace(seen, highest_replicas=self.highest.of_busiest(seen, shares))
            state, wanted = self.policy.decide(state, seen)
            decided = within_pace(wanted, seen)
            if self.keeps_frequency is not None and self.keeps_frequency():
                decided = at_the_same_frequency(seen.setting, decided)
            if self.bounds is not None:
                decided = within_limits(self.bounds, decided, seen.setting, setting_of(plant.configuration))
            if self.highest is not None:
                decided = self.highest.bounded(decided, seen, shares)
            if self.guard is not None:
                broken = breaks(self.goal, seen)
                guarded, decided = self.guard.check(guarded, seen, decided, goal_broken=broken)
            record = self._act(plant, seen, wanted, decided, shares)
            if self.record is not None:
                self.record(record)
            yield record

    def _act(self, plant: Plant, seen: ControlStep, wanted: Decision, decided: Decision, shares: CpuShares) -> Record:
        # A change may still be under way: holding on keeps to what was asked for, not to what was seen.
        desired = decided.setting if isinstance(decided, Change) else setting_of(plant.configuration)
        if isinstance(decided, Change):
            verb = "would go" if self.passive else "goes"
            _LOG.info("step %d: %s %s -> %s; %s", seen.step, verb, seen.setting, desired, decided.because)
        highest = {element.name: element.replicas for element in plant.configuration.elements}
        if isinstance(decided, Change):
            highest = {} if self.highest is None else self.highest.by_element(seen, shares)
        routed = (self.routing or Routing()).configured(plant.configuration, desired, seen, highest)
        if self.passive or routed.configuration == plant.configuration:
            return Record(seen, wanted, decided, None, advice=routed.advice)
        plant.apply(routed.configuration)
        changed = desired if isinstance(decided, Change) else None
        return Record(seen, wanted, decided, changed, routed.moved_slots, routed.advice)
