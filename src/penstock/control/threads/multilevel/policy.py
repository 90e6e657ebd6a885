"""Multi-level elasticity (MULTILEVEL, Figure 7): thread counts are the primary adjustment, queues follow each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.level_search import LevelSearch, start_search
from penstock.control.threads.level_search import step as level_step
from penstock.control.threads.multilevel import group_search, piece_search
from penstock.control.threads.multilevel.rules import OURS, MultiLevelRules
from penstock.control.threads.steadiness import UNWATCHED, Steadiness
from penstock.measure.element_observation import ElementObservation

Direction = Literal["up", "down"]
Phase = Literal["first", "queues", "threads", "settled"]
Search = group_search.GroupSearch | piece_search.PieceSearch


@dataclass(frozen=True, slots=True)
class MultiLevelState:
    """Where the exploration stands.

    `setting` is in force in the period that is observed next; `rung` says how its queues were placed, in pieces.
    `previous` is the thread count before with its rate, `found` what each thread count ended with, `best` the best
    seen, `measured` the rates by threads and rung. `again`: the exploration began with a change of the workload;
    `polished`: it is at its last look at queues.
    """

    setting: ElementSetting
    levels: LevelSearch
    phase: Phase = "first"
    rung: int = piece_search.NONE
    search: Search | None = None
    record: PlacementRecord | None = None
    hopeless: frozenset[int] = frozenset()
    costs: Mapping[str, float] = field(default_factory=dict)
    feeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    previous: tuple[int, float] | None = None
    found: Mapping[int, frozenset[str]] = field(default_factory=dict)
    best: tuple[ElementSetting, int, float] | None = None
    measured: Mapping[tuple[int, int], float] = field(default_factory=dict)
    steadiness: Steadiness = UNWATCHED
    again: bool = False
    polished: bool = False


@dataclass(frozen=True, slots=True)
class MultiLevel:
    """The policy; a decision's reason names the phase, the trial and why."""

    rules: MultiLevelRules = OURS

    def start(self, observation: ElementObservation) -> tuple[MultiLevelState, ElementSetting]:
        """No queues, and two scheduler threads that idle."""
        threads = min(self.rules.start_threads, observation.max_level)
        setting = ElementSetting(threads)
        return MultiLevelState(setting, start_search(threads, observation.max_level)), setting

    def settled(self, state: MultiLevelState) -> bool:
        return state.phase == "settled"

    def decide(
        self, state: MultiLevelState, observation: ElementObservation
    ) -> tuple[MultiLevelState, ElementSetting, str]:
        """The setting for the next period."""
        if not observation.settled:
            return state, state.setting, f"{state.phase}: hold: the last change is not in force yet"
        rate = observation.throughput_tuples_s
        state = _noted(state, observation)
        if state.phase == "settled":
            state, reason = self._watch(state, rate, observation)
        elif state.phase == "first":
            state, reason = self._look_at_queues(state, "up", rate, "no queues to begin with")
        elif state.phase == "queues":
            state, reason = self._queues(state, rate)
        else:
            state, reason = self._threads(state, rate)
        return state, state.setting, reason

    def _look_at_queues(
        self, state: MultiLevelState, direction: Direction, rate: float, why: str
    ) -> tuple[MultiLevelState, str]:
        """A search for queues at this thread count, from the placement in force."""
        search: Search
        if self.rules.placement == "groups":
            groups = cost_groups(state.costs, self.rules.bin_base)
            queued = state.setting.queued
            search, reason = group_search.start_group_search(direction, groups, queued, rate, self.rules)
        else:
            threads, hopeless = state.setting.threads, state.hopeless if self.rules.history else frozenset()
            known = {rung: seen for (at, rung), seen in state.measured.items() if at == threads and self.rules.history}
            rungs = piece_search.ladder(threads, state.costs, state.feeds)
            search, reason = piece_search.start_piece_search(
                rungs, state.rung, rate, threads, self.rules, up_first=direction == "up", hopeless=hopeless,
                known=known,
            )  # fmt: skip
        state = _with_search(replace(state, phase="queues"), search)
        reason = f"queues {direction}: {why}; {reason}"
        return self._after_queues(state, search, reason) if search.finished else (state, reason)

    def _queues(self, state: MultiLevelState, rate: float) -> tuple[MultiLevelState, str]:
        search, reason = self._step(state.search, rate)
        state = _with_search(state, search)
        reason = f"queues: {reason}"
        return self._after_queues(state, search, reason) if search.finished else (state, reason)

    def _step(self, search: Search | None, rate: float) -> tuple[Search, str]:
        if isinstance(search, group_search.GroupSearch):
            return group_search.step(search, rate, self.rules)
        assert search is not None
        return piece_search.step(search, rate, self.rules)

    def _after_queues(self, state: MultiLevelState, search: Search, reason: str) -> tuple[MultiLevelState, str]:
        """Back to the thread count, with what was found noted in the record."""
        going_up = isinstance(search, group_search.GroupSearch) and search.direction == "up"
        if state.again and going_up and not search.changed:
            return self._look_at_queues(replace(state, again=False), "down", search.rate, reason)
        if state.polished:
            return self._settle(state, reason)
        threads = state.setting.threads
        record = state.record or PlacementRecord(search.placement, threads, threads)
        state = replace(state, record=record.after(search.placement, threads), search=None, again=False)
        if isinstance(search, piece_search.PieceSearch):
            state = replace(state, hopeless=search.hopeless)
        return self._next_level(state, search.rate, reason)

    def _threads(self, state: MultiLevelState, rate: float) -> tuple[MultiLevelState, str]:
        """A new thread count was measured: keep the queues if it did well enough, else look at them again."""
        assert state.record is not None
        threads = state.setting.threads
        if self._satisfied(state, threads, rate):
            return self._next_level(state, rate, f"threads: {threads} satisfy, queues stay")
        direction = state.record.direction(threads)
        if direction == "none" and self.rules.history:
            return self._next_level(state, rate, f"threads: {threads} are in the range of the placement, queues stay")
        if direction == "none":  # without history every thread count is looked at
            direction = "down" if state.previous is not None and threads < state.previous[0] else "up"
        return self._look_at_queues(state, direction, rate, f"{threads} threads do not satisfy")

    def _satisfied(self, state: MultiLevelState, threads: int, rate: float) -> bool:
        if self.rules.satisfaction is None or state.previous is None or state.previous[1] <= 0:
            return False
        before_threads, before_rate = state.previous
        return rate / before_rate - 1 > self.rules.satisfaction * (threads / before_threads - 1)

    def _next_level(self, state: MultiLevelState, rate: float, why: str) -> tuple[MultiLevelState, str]:
        threads = state.setting.threads
        levels, reason = level_step(state.levels, rate, self.rules.levels)
        found = {**state.found, threads: state.setting.queued}
        state = replace(state, levels=levels, previous=(threads, rate), found=found, phase="threads")
        if levels.done:
            return self._polish(state, f"{why}; {reason}")
        return self._with_threads(state, levels.level), f"{why}; {reason}"

    def _with_threads(self, state: MultiLevelState, threads: int) -> MultiLevelState:
        """Another thread count; the same queues, or in pieces the same rung."""
        queued = state.setting.queued
        if self.rules.placement == "pieces":
            queued = piece_search.place(state.rung, threads, state.costs, state.feeds)
        return replace(state, setting=ElementSetting(threads, queued))

    def _polish(self, state: MultiLevelState, why: str) -> tuple[MultiLevelState, str]:
        """A last look at pieces next to the best, since satisfying thread counts skipped theirs."""
        if self.rules.placement == "groups" or self.rules.satisfaction is None or state.best is None:
            return self._settle(state, why)
        setting, rung, rate = state.best
        state = replace(state, setting=setting, rung=rung, polished=True)
        return self._look_at_queues(state, "up", rate, why)

    def _settle(self, state: MultiLevelState, why: str) -> tuple[MultiLevelState, str]:
        threads, rung = state.levels.level, state.rung
        setting = ElementSetting(threads, state.found[threads])
        if self.rules.keep_best and state.best is not None:
            setting, rung, _ = state.best
        state = replace(state, phase="settled", setting=setting, rung=rung, steadiness=UNWATCHED)
        return state, f"{why}; settled: {setting.threads} threads, {len(setting.queued)} queues"

    def _watch(
        self, state: MultiLevelState, rate: float, observation: ElementObservation
    ) -> tuple[MultiLevelState, str]:
        watched = state.steadiness.after(rate)
        change = watched.change(self.rules.change_tolerance)
        if not change:
            return replace(state, steadiness=watched), "settled: hold"
        setting = state.setting
        anew = MultiLevelState(
            setting, start_search(setting.threads, observation.max_level, upwards=change > 0), rung=state.rung,
            costs=dict(observation.operator_costs), feeds=state.feeds, best=(setting, state.rung, rate), again=True,
        )  # fmt: skip
        return self._look_at_queues(anew, "up", rate, f"the rate changed by {change:+.0%}")


def _noted(state: MultiLevelState, observation: ElementObservation) -> MultiLevelState:
    """With this period's costs, and its setting if none was better; a settled state takes nothing in."""
    if state.phase == "settled":
        return state
    costs = {name: state.costs.get(name, 0.0) + cost for name, cost in observation.operator_costs.items()}
    rate = observation.throughput_tuples_s
    measured = {**state.measured, (state.setting.threads, state.rung): rate}
    state = replace(state, costs=costs, feeds=observation.feeds, measured=measured)
    if state.best is not None and rate <= state.best[2]:
        return state
    return replace(state, best=(state.setting, state.rung, rate))


def _with_search(state: MultiLevelState, search: Search) -> MultiLevelState:
    rung = search.rung if isinstance(search, piece_search.PieceSearch) else state.rung
    return replace(state, search=search, rung=rung, setting=replace(state.setting, queued=search.queued))


def cost_groups(costs: Mapping[str, float], base: float) -> tuple[tuple[str, ...], ...]:
    """Groups, the dearest first, each in program order; bin b holds costs within (top / base^(b+1), top / base^b].

    Operators that no snapshot saw are the last group.
    """
    top = max(costs.values(), default=0.0)
    bins: dict[float, list[str]] = {}
    for name, cost in costs.items():
        bins.setdefault(_cost_bin(cost, top, base), []).append(name)
    return tuple(tuple(bins[number]) for number in sorted(bins))


def _cost_bin(cost: float, top: float, base: float) -> float:
    if cost <= 0:
        return math.inf
    # a cost at a bin's edge must not fall off it by rounding
    return math.floor(math.log(top / cost, base) + 1e-9)


@dataclass(frozen=True, slots=True)
class PlacementRecord:
    """The most recent placement (its queues or its rung) with the fewest and most threads for which none was better."""

    placement: frozenset[str] | int
    fewest_threads: int
    most_threads: int

    def direction(self, threads: int) -> Literal["up", "down", "none"]:
        """Where to look for a better placement at another thread count; nowhere within the range."""
        if threads > self.most_threads:
            return "up"
        return "down" if threads < self.fewest_threads else "none"

    def after(self, placement: frozenset[str] | int, threads: int) -> PlacementRecord:
        """The record once a search at `threads` ended with `placement`: a new one, or a wider range.

        A rung fits itself to the thread count, so that its range goes on where the rung changes.
        """
        if isinstance(placement, frozenset) and placement != self.placement:
            return PlacementRecord(placement, threads, threads)
        fewest, most = min(self.fewest_threads, threads), max(self.most_threads, threads)
        return PlacementRecord(placement, fewest, most)
