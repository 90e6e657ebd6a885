"""The loop of the application level: observe, learn, decide, guard, act, record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision
from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks
from penstock.control.loop.observed_steps import setting_of
from penstock.control.plant import PacedPlant, Plant
from penstock.control.policy import Policy
from penstock.control.routes.routing import Routing
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.pace import PACE
from penstock.control.rules.rule import Rule, RuleChange, resumed, ruled
from penstock.control.rules.useful_replicas import CpuShares, HighestReplicas
from penstock.control.setting import Setting

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    """One turn of the loop: what was seen, what the policy wanted, what the rules made of it, what was requested.

    `requested` is None where nothing was changed.  The expectation is in `decided`, its outcome in the next record.
    `changes`: which rule made what of the decision that it was given, in the order of the rules.
    """

    seen: ControlStep
    wanted: Decision
    decided: Decision
    requested: Setting | None
    moved_slots: int = 0
    advice: tuple[str, ...] = ()
    changes: tuple[RuleChange, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that changed the decision."""
        return tuple(change.rule for change in self.changes)


@dataclass(frozen=True, slots=True)
class LoopState:
    """What the loop remembers from step to step: the policy's own state, the rules with theirs, CPU shares."""

    learned: Any
    rules: tuple[Rule, ...] = ()
    shares: CpuShares = field(default_factory=CpuShares)


@dataclass(frozen=True, slots=True)
class Loop:
    """Ties a policy to a plant; `passive`: says what it would do, and does nothing; `paused`: learns on, and holds.

    `rules` come after the policy, in their order.  `keeps_frequency`: whether cores are left alone now, whatever is
    wanted.
    """

    policy: Policy
    goal: Goal
    rules: tuple[Rule, ...] = field(default_factory=application_rules)
    routing: Routing | None = None
    passive: bool = False
    paused: bool = False
    record: Callable[[Record], None] | None = None
    keeps_frequency: Callable[[], bool] | None = None

    def run(self, plant: Plant) -> Iterator[Record]:
        """A record per control step, until the plant ends."""
        state = self.start()
        while (seen := plant.observe()) is not None:
            state, record = self.turn(state, plant, seen)
            yield record

    def start(self) -> LoopState:
        """The state before anything was observed."""
        return LoopState(self.policy.start(), self.rules)

    def resume(self, before: Loop, state: LoopState) -> LoopState:
        """Goes on from the state of another loop; of a policy of another kind, nothing that it learned can be used."""
        learned = state.learned if type(before.policy) is type(self.policy) else self.policy.start()
        return replace(state, learned=learned, rules=resumed(self.rules, state.rules))

    def turn(self, state: LoopState, plant: Plant, seen: ControlStep) -> tuple[LoopState, Record]:
        """One control step: learns from it, decides, acts."""
        shares = state.shares
        if not seen.reconfigured:  # workers that start compute more than they will
            shares = shares.learn(seen.elements)
        seen = self._completed(seen, plant, shares)
        learned, wanted = self.policy.decide(state.learned, seen)
        after = ruled(state.rules, seen, wanted)
        record = replace(self._act(plant, seen, wanted, after.decision), changes=after.changes)
        if self.record is not None:
            self.record(record)
        return LoopState(learned, after.rules, shares), record

    def keep_pace(self, plant: PacedPlant) -> None:
        """Between two control steps, the cap alone changes: to what is in time after the last micro-batch."""
        cap, now = plant.cap_in_time, plant.cap_tuples
        if cap is not None and cap != now and not self.passive:
            _LOG.debug("%s: cap %d -> %d", PACE.name, now, cap)
            plant.apply_cap(cap)

    def _completed(self, seen: ControlStep, plant: Plant, shares: CpuShares) -> ControlStep:
        """The step with what the loop knows, and the plant does not."""
        seen = replace(
            seen,
            requested=setting_of(plant.configuration),
            cpu_share_by_element=shares.by_element,
            goal_broken=breaks(self.goal, seen),
            frequency_fixed=self.keeps_frequency is not None and self.keeps_frequency(),
            paused=self.paused,
        )
        useful = self._useful()
        return seen if useful is None else replace(seen, highest_replicas=useful.of_busiest(seen))

    def _useful(self) -> HighestReplicas | None:
        """The rule that knows how many replicas of each element help, if there is one."""
        return next((rule for rule in self.rules if isinstance(rule, HighestReplicas)), None)

    def _act(self, plant: Plant, seen: ControlStep, wanted: Decision, decided: Decision) -> Record:
        # A change may still be under way: holding on keeps to what was asked for, not to what was seen.
        desired = decided.setting if isinstance(decided, Change) else setting_of(plant.configuration)
        if isinstance(decided, Change):
            verb = "would go" if self.passive else "goes"
            _LOG.info("step %d: %s %s -> %s; %s", seen.step, verb, seen.setting, desired, decided.because)
        if self.paused:
            return Record(seen, wanted, decided, None)
        highest = {element.name: element.replicas for element in plant.configuration.elements}
        if isinstance(decided, Change):
            useful = self._useful()
            highest = {} if useful is None else useful.by_element(seen)
        routed = (self.routing or Routing()).configured(plant.configuration, desired, seen, highest)
        if self.passive or routed.configuration == plant.configuration:
            return Record(seen, wanted, decided, None, advice=routed.advice)
        plant.apply(routed.configuration)
        changed = desired if isinstance(decided, Change) else None
        return Record(seen, wanted, decided, changed, routed.moved_slots, routed.advice)
