"""The thread control of a replica: a policy that is asked once a period of busy time, task after task.

What it remembers is one frozen value, which goes to the driver with a task's report and comes back with the plan of the
next micro-batch: whichever worker runs the replica then goes on from there.
"""

from __future__ import annotations

import base64
import math
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.control.threads.core_share import UNKNOWN, CoreShare
from penstock.control.threads.elastic_operator import ElasticOperator
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.leaping_operator import CALM
from penstock.control.threads.multilevel.policy import MultiLevel
from penstock.control.threads.multilevel.rules import OURS, PAPER, with_settings
from penstock.control.threads.thread_policy import ThreadPolicy
from penstock.measure.element_observation import ElementObservation
from penstock.plan.thread_setting import ElasticThreads

_VERSION = 5
STEPS_PER_THREAD = 2  # a period has at least so many steps for each thread, however long they take


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a period, in one task: what was observed, in how many steps, and how long operators did what."""

    observation: ElementObservation
    steps: int
    computed_s: float
    waited_s: float


@dataclass(frozen=True, slots=True)
class LearnedThreads:
    """All that was learned about a replica's threads, and the period under way.

    `state` is the policy's, None before the first period is over; `setting` what it wants in force. `alone`: in all of
    the period one thread ran alone. `operators`: those of the element, which another fusion may change.
    """

    policy: str
    setting: ElementSetting
    most: int
    state: Any = None
    share: CoreShare = UNKNOWN
    settled: bool = False
    reason: str = "to begin with"
    busy_s: float = 0.0
    tuples: int = 0
    steps: int = 0
    alone: bool = True
    computed_s: float = 0.0
    waited_s: float = 0.0
    idle_core_s: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    operators: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether operators wait rather than compute."""
        return self.share.waits

    def to_text(self) -> str:
        return base64.b85encode(pickle.dumps((_VERSION, self), protocol=5)).decode()

    def between_periods(self) -> LearnedThreads:
        """What a new replica starts from: the same without the period under way."""
        return replace(
            self, busy_s=0.0, tuples=0, steps=0, alone=True, computed_s=0.0, waited_s=0.0, idle_core_s=None, costs={}
        )  # fmt: skip


def learned_from_text(text: str) -> LearnedThreads | None:
    """What `to_text` wrote; None where another version did: it is a hint, and results do not depend on it."""
    try:
        version, learned = pickle.loads(base64.b85decode(text))
    except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, IndexError, TypeError, ValueError):
        return None
    return learned if version == _VERSION and isinstance(learned, LearnedThreads) else None


class ThreadControl:
    """Runs the policy that an element's threads are found by; `cores` is what it may compute on, and may change."""

    def __init__(self, request: ElasticThreads, cores: int, learned: LearnedThreads | None = None) -> None:
        self._request, self.cores = request, cores
        if learned is None or learned.policy != request.policy:
            learned = LearnedThreads(request.policy, ElementSetting(request.least), self._most(UNKNOWN))
        self.learned = learned

    @property
    def level(self) -> int:
        """The threads that call operators; what a policy wants beyond the bounds it does not get."""
        known = self.learned
        if known.share.is_looking:
            return 1
        return max(self._request.least, min(self._threads(known.setting), self._most(known.share)))

    @property
    def computing_threads(self) -> int:
        """The cores that they need: of threads that wait, only as much as they compute."""
        return math.ceil(self.level * self.learned.share.computing - 1e-9)

    @property
    def is_looking(self) -> bool:
        """Whether one thread runs alone, so that its calls tell how much it computes."""
        return self.learned.share.is_looking

    @property
    def may_run_inline(self) -> bool:
        """Whether one thread runs alone, and nobody asks for what its calls or its operators cost."""
        return self.level == 1 and not self.is_looking and self._request.policy != "multilevel"

    def in_force(self, front: frozenset[str]) -> ElementSetting:
        """Scheduler threads and queues: none at one thread, which is the feeding one, otherwise those in `front`."""
        if self.level == 1:
            return ElementSetting(0)
        if self._request.policy == "multilevel":
            return replace(self.learned.setting, threads=self.level - 1)
        return ElementSetting(self.level, front)

    def is_over(self, busy_s: float, steps: int) -> bool:
        """Whether the period would be over with so much more."""
        known = self.learned
        enough = known.steps + steps >= STEPS_PER_THREAD * self.level
        return enough and known.busy_s + busy_s >= self._request.busy_period_s

    def left_s(self, busy_s: float) -> float:
        """Busy seconds that the period would need at least, with so many more."""
        return self._request.busy_period_s - self.learned.busy_s - busy_s

    def take(self, share: Share) -> None:
        """A part of the period is over, and the period itself where that makes it long enough."""
        self.learned = known = _added(self.learned, share, alone=self.level == 1)
        if self.is_over(0.0, 0) and known.tuples:
            self.learned = self._after_period(known, share.observation).between_periods()

    def _after_period(self, known: LearnedThreads, newest: ElementObservation) -> LearnedThreads:
        """The policy is asked, unless the period or the next one is for looking how much one thread computes."""
        share = self._share(known)
        if share.is_looking:
            return replace(known, share=share, settled=False, reason="look how much one thread alone computes")
        if known.share.is_looking and self._threads(known.setting) > 1:
            reason = f"one thread alone computes for {share.computing:.0%} of its time"
            return replace(known, share=share, settled=False, reason=reason)
        return self._decided(replace(known, share=share), newest)

    def _share(self, known: LearnedThreads) -> CoreShare:
        total_s = known.computed_s + known.waited_s
        seen = known.computed_s / total_s if total_s > 0 else None
        if known.alone:
            return known.share.after_alone(seen, self.cores)
        at_most = self._most(known.share) <= min(self.level, self._request.most - 1)
        return known.share.after_several(seen, self.cores, at_most=at_most)

    def _decided(self, known: LearnedThreads, newest: ElementObservation) -> LearnedThreads:
        most = self._most(known.share)
        max_level = most - self._feeding
        if max_level == 0:
            return replace(known, setting=ElementSetting(0), most=most, settled=True, reason="one core: no threads")
        observation = replace(
            newest, period_s=known.busy_s, tuples=known.tuples, throughput_tuples_s=known.tuples / known.busy_s,
            level=known.setting.threads, max_level=max_level, queued=known.setting.queued, operator_costs=known.costs,
            idle_cores=None if known.idle_core_s is None else known.idle_core_s / known.busy_s,
        )  # fmt: skip
        policy = self._policy()
        state = known.state
        if state is None or (most != known.most and self._request.policy == "multilevel"):
            state, setting = policy.start(observation)
            if known.setting.queued:
                reason = f"begin anew: up to {most} threads"
                return replace(known, state=state, setting=setting, reason=reason, settled=False, most=most)
        state, setting, reason = policy.decide(state, observation)
        settled = policy.settled(state)
        return replace(known, state=state, setting=setting, reason=reason, settled=settled, most=most)

    def _policy(self) -> ThreadPolicy[Any]:
        request = self._request
        if request.policy == "multilevel":
            rules = PAPER if request.as_printed else OURS
            return MultiLevel(with_settings(rules, request.sensitivity, request.satisfaction))
        if request.policy == "elastic":
            return replace(CALM, least=request.least)
        return ElasticOperator(request.tolerance, request.decay_rate, least=request.least)

    @property
    def _feeding(self) -> int:
        """Threads that call operators besides scheduler threads: the feeding one, unless all queues are in front."""
        return 1 if self._request.policy == "multilevel" else 0

    def _threads(self, setting: ElementSetting) -> int:
        """Those that call operators; without queues in the middle the feeding one is alone."""
        return setting.threads + self._feeding if setting.queued or not self._feeding else 1

    def _most(self, share: CoreShare) -> int:
        return max(self._request.least, min(self._request.most, share.most(self.cores)))


def _added(known: LearnedThreads, share: Share, *, alone: bool) -> LearnedThreads:
    seen = share.observation
    costs = {name: known.costs.get(name, 0.0) + cost for name, cost in seen.operator_costs.items()}
    idle_core_s = known.idle_core_s
    if seen.idle_cores is not None:
        idle_core_s = (idle_core_s or 0.0) + seen.idle_cores * seen.period_s
    return replace(
        known, busy_s=known.busy_s + seen.period_s, tuples=known.tuples + seen.tuples, steps=known.steps + share.steps,
        alone=known.alone and alone, computed_s=known.computed_s + share.computed_s,
        waited_s=known.waited_s + share.waited_s, idle_core_s=idle_core_s, costs=costs,
    )  # fmt: skip
