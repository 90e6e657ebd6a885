"""What came after a policy before there were rules: the stages of the loop, one after the other, in plain code."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Expectation, Hold, change_or_hold
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.useful_replicas import CpuShares
from penstock.control.setting import Setting

_COMPUTES = 0.5


def staged(
    guarded: GuardState, seen: ControlStep, wanted: Decision, shares: CpuShares, asked: Setting, *,
    keeps_frequency: bool, bounds: Bounds | None, highest: HighestReplicas | None, paused: bool, guard: Guard | None,
    broken: bool,
) -> tuple[GuardState, Decision, tuple[str, ...]]:  # fmt: skip
    """What the stages make of a decision, and the names of those that changed it."""
    stages = [("micro-batch pace", within_pace(wanted, seen))]
    if keeps_frequency:
        stages.append(("frequency left alone", at_the_same_frequency(seen.setting, stages[-1][1])))
    if bounds is not None:
        stages.append(("limits", within_limits(bounds, stages[-1][1], seen.setting, asked)))
    if highest is not None:
        stages.append(("useful replicas", highest.bounded(stages[-1][1], seen, shares)))
    if paused:
        stages.append(("paused", Hold("tuning is paused", stages[-1][1].expected)))
    if guard is not None:
        guarded, decided = guard.check(guarded, seen, stages[-1][1], goal_broken=broken)
        stages.append(("guard", decided))
    before = [wanted, *(decided for _, decided in stages)]
    rules = tuple(name for (name, own), earlier in zip(stages, before, strict=False) if own != earlier)
    return guarded, stages[-1][1], rules


def within_pace(decision: Decision, seen: ControlStep) -> Decision:
    """The decision with no larger cap than is in time now."""
    most = seen.highest_cap_tuples
    if most is None or not isinstance(decision, Change) or decision.setting.micro_batch_tuples <= most:
        return decision
    setting = replace(decision.setting, micro_batch_tuples=most)
    return change_or_hold(seen.setting, setting, decision.because, decision.expected)


def at_the_same_frequency(current: Setting, decision: Decision) -> Decision:
    """The decision with cores left alone; what was expected of them at another frequency is left out."""
    if not isinstance(decision, Change) or decision.setting.frequency_ghz == current.frequency_ghz:
        return decision
    setting = replace(decision.setting, frequency_ghz=current.frequency_ghz)
    expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
    return change_or_hold(current, setting, decision.because, expected)


def within_limits(bounds: Bounds, decision: Decision, current: Setting, asked: Setting) -> Decision:
    """The decision with no more and no fewer replicas than the limits have.

    `asked` is what holding on stays at: in force, or on its way.  What was expected of other replicas is left out.
    """
    wanted = decision.setting if isinstance(decision, Change) else asked
    replicas = bounds.within(wanted.replicas)
    if replicas == wanted.replicas:
        return decision
    many = "replica is" if wanted.replicas == 1 else "replicas are"
    because = f"{wanted.replicas} {many} outside the limits, {bounds.lowest} to {bounds.highest}; {decision.because}"
    expected = Expectation(decision.expected.rate_tuples_s, saturated=decision.expected.saturated)
    return change_or_hold(current, replace(wanted, replicas=replicas), because, expected)


@dataclass(frozen=True, slots=True)
class HighestReplicas:
    """`cores` compute at once, `task_slots` wait or compute; elements in `single` have one replica, whatever they do.

    The others may have `lowest` replicas in any case: that many the user wants.
    """

    cores: int
    task_slots: int
    single: frozenset[str] = frozenset()
    lowest: int = 1

    def of(self, element: str, shares: CpuShares) -> int:
        if element in self.single:
            return 1
        share = shares.by_element.get(element, 1.0)
        helpful = self.cores if share >= _COMPUTES else max(int(self.cores / share), self.cores)
        return max(min(helpful, self.task_slots), self.lowest)

    def by_element(self, seen: ControlStep, shares: CpuShares) -> dict[str, int]:
        return {element.name: self.of(element.name, shares) for element in seen.elements}

    def bounded(self, decision: Decision, seen: ControlStep, shares: CpuShares) -> Decision:
        """The decision with no more replicas than the busiest element can use; what is there already may stay."""
        highest = self.of_busiest(seen, shares)
        if not isinstance(decision, Change) or decision.setting.replicas <= highest:
            return decision
        allowed = max(highest, min(decision.setting.replicas, seen.setting.replicas))
        because = f"{decision.setting.replicas} replicas wanted, but {self._reason(highest)}; {decision.because}"
        return change_or_hold(seen.setting, replace(decision.setting, replicas=allowed), because, decision.expected)

    def of_busiest(self, seen: ControlStep, shares: CpuShares) -> int:
        """As many as the busiest element that may have several can use."""
        free = [e for e in seen.elements if e.name not in self.single]
        if not free:
            return 1 if seen.elements else self.task_slots
        return self.of(max(free, key=lambda e: e.busy_s / e.replicas).name, shares)

    def _reason(self, highest: int) -> str:
        if highest >= self.task_slots:
            return f"there are {highest} task slots"
        if highest == 1 and self.cores > 1:
            return "no element can have a second one"
        if highest == self.lowest > self.cores:
            return (
                f"{highest} are the fewest of the limits, "
                f"more than an element that computes can use on {self.cores} cores"
            )
        return f"an element that computes can use {highest} on {self.cores} cores"


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of the number of replicas that was let through, and what was served before it."""

    step: int
    before: int
    after: int
    served_tuples_s: float

    @property
    def up(self) -> bool:
        return self.after > self.before


@dataclass(frozen=True, slots=True)
class GuardState:
    """Recent changes, newest last; until which step going down is off; since when a level below is unsettled."""

    turns: tuple[Turn, ...] = ()
    down_allowed_from: int = 0
    backoff_steps: int = 0
    unsettled_since: int | None = None
    last_backlog: float = 0.0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why not, and for how many steps that is so at most."""

    because: str
    steps: int


@dataclass(frozen=True, slots=True)
class Guard:
    """`settle_steps`: how long a change's own backlog may last.  `patience_steps`: how long to wait for a level below.

    So many `reversals` within `oscillation_steps` switch going down off for `backoff_steps`, twice as long each time.
    """

    settle_steps: int = 5
    pause_steps: int = 1
    patience_steps: int = 5
    reversals: int = 6
    oscillation_steps: int = 12
    backoff_steps: int = 10
    longest_backoff_steps: int = 120
    useful_gain: float = 0.1

    def check(
        self, state: GuardState, seen: ControlStep, decision: Decision, *, goal_broken: bool
    ) -> tuple[GuardState, Decision]:
        """The decision, or a Hold that says why not."""
        since = seen.step if state.unsettled_since is None else state.unsettled_since
        state = replace(state, unsettled_since=None if seen.settled_below else since)
        checked = decision
        if isinstance(decision, Change):
            refusal = self._refusal(state, seen, decision, goal_broken)
            if refusal is not None:
                checked = Hold(refusal.because, decision.expected, until_s=refusal.steps * seen.period_s)
        if isinstance(checked, Change) and checked.setting.replicas != seen.setting.replicas:
            state = self._noted(state, seen, checked.setting.replicas)
        return replace(state, last_backlog=seen.backlog_tuples), checked

    def _refusal(self, state: GuardState, seen: ControlStep, change: Change, goal_broken: bool) -> _Refusal | None:
        waited = 0 if state.unsettled_since is None else seen.step - state.unsettled_since
        if state.unsettled_since is not None and waited < self.patience_steps and not goal_broken:
            return _Refusal(f"a level below is settling since {waited} steps", self.patience_steps - waited)
        if change.setting.replicas < seen.setting.replicas and seen.step < state.down_allowed_from:
            because = f"went up and down too often; not down before step {state.down_allowed_from}"
            return _Refusal(because, state.down_allowed_from - seen.step)
        useless = (
            self._useless_up(state, seen, goal_broken) if change.setting.replicas > seen.setting.replicas else None
        )
        if useless is None:
            return None
        return _Refusal(useless, self.settle_steps + 1 - (seen.step - state.turns[-1].step))

    def _useless_up(self, state: GuardState, seen: ControlStep, goal_broken: bool) -> str | None:
        turn = state.turns[-1] if state.turns else None
        if turn is None or seen.step - turn.step > self.settle_steps:
            return None
        lasts = goal_broken and seen.step - turn.step > self.pause_steps
        if not lasts and self._own_backlog(state, seen):
            return "the backlog is from the last change and falls by itself"
        if turn.up and turn.served_tuples_s > 0 and seen.step - turn.step >= 2 and seen.waiting_ratio > 0.5:
            gain = seen.served_tuples_s / turn.served_tuples_s - 1
            if gain < self.useful_gain * (turn.after / turn.before - 1):
                return "the last replicas brought nothing: what the element waits for is the bottleneck"
        return None

    def _own_backlog(self, state: GuardState, seen: ControlStep) -> bool:
        """Right after a change: capacity is enough for what arrives, and what was left behind becomes less."""
        if seen.service_s is None or seen.service_s <= 0:
            return False
        capacity = seen.setting.replicas / (seen.service_s * max(seen.imbalance, 1.0))
        falling = seen.backlog_tuples < state.last_backlog or seen.reconfigured
        return seen.rate_tuples_s < 0.9 * capacity and falling and seen.queued_tuples > 0

    def _noted(self, state: GuardState, seen: ControlStep, replicas: int) -> GuardState:
        recent = [t for t in state.turns if seen.step - t.step <= self.oscillation_steps]
        turns = (*recent, Turn(seen.step, seen.setting.replicas, replicas, seen.served_tuples_s))
        reversals = sum(a.up != b.up for a, b in itertools.pairwise(turns))
        if reversals < self.reversals:
            calm = seen.step >= state.down_allowed_from + self.longest_backoff_steps
            return replace(state, turns=turns, backoff_steps=0 if calm else state.backoff_steps)
        backoff = min(max(2 * state.backoff_steps, self.backoff_steps), self.longest_backoff_steps)
        return replace(state, turns=turns[-1:], backoff_steps=backoff, down_allowed_from=seen.step + backoff)
