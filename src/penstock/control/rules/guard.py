"""The rule of the guard: what no policy is allowed to do, whatever it wants."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.rules.rule import Rule


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
    """`settle_steps`: how long a change's own backlog may last; `pause_steps`: how long it may break the goal.
    `patience_steps`: how long to wait for a level below.

    So many `reversals` within `oscillation_steps` switch going down off for `backoff_steps`, twice as long each time.
    `memory`: what it goes by of earlier steps.
    """

    settle_steps: int = 5
    pause_steps: int = 1
    patience_steps: int = 5
    reversals: int = 6
    oscillation_steps: int = 12
    backoff_steps: int = 10
    longest_backoff_steps: int = 120
    useful_gain: float = 0.1
    memory: GuardState = field(default_factory=GuardState)
    name: str = "guard"

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision:
        return self._checked(seen, decision)[1]

    def after(self, seen: ControlStep, decision: Decision) -> Guard:
        return replace(self, memory=self._checked(seen, decision)[0])

    def resuming(self, before: Rule) -> Guard:
        return replace(self, memory=before.memory) if isinstance(before, Guard) else self

    def _checked(self, seen: ControlStep, decision: Decision) -> tuple[GuardState, Decision]:
        """What it remembers then; and the decision, or a Hold that says why not."""
        state = self.memory
        since = seen.step if state.unsettled_since is None else state.unsettled_since
        state = replace(state, unsettled_since=None if seen.settled_below else since)
        checked = decision
        if isinstance(decision, Change):
            refusal = self._refusal(state, seen, decision)
            if refusal is not None:
                checked = Hold(refusal.because, decision.expected, until_s=refusal.steps * seen.period_s)
        if isinstance(checked, Change) and checked.setting.replicas != seen.setting.replicas:
            state = self._noted(state, seen, checked.setting.replicas)
        return replace(state, last_backlog=seen.backlog_tuples), checked

    def _refusal(self, state: GuardState, seen: ControlStep, change: Change) -> _Refusal | None:
        waited = 0 if state.unsettled_since is None else seen.step - state.unsettled_since
        if state.unsettled_since is not None and waited < self.patience_steps and not seen.goal_broken:
            return _Refusal(f"a level below is settling since {waited} steps", self.patience_steps - waited)
        if change.setting.replicas < seen.setting.replicas and seen.step < state.down_allowed_from:
            because = f"went up and down too often; not down before step {state.down_allowed_from}"
            return _Refusal(because, state.down_allowed_from - seen.step)
        useless = self._useless_up(state, seen) if change.setting.replicas > seen.setting.replicas else None
        if useless is None:
            return None
        return _Refusal(useless, self.settle_steps + 1 - (seen.step - state.turns[-1].step))

    def _useless_up(self, state: GuardState, seen: ControlStep) -> str | None:
        turn = state.turns[-1] if state.turns else None
        if turn is None or seen.step - turn.step > self.settle_steps:
            return None
        lasts = seen.goal_broken and seen.step - turn.step > self.pause_steps
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
