"""A variation of the Elastic Operator that leaps: level search, then hold until the rate says that something changed.

The paper's algorithm climbs thread by thread and wants every one to bring the tolerance, so it stops near 1 / tolerance
threads, however many cores there are (record 0020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.element_setting import ElementSetting
from penstock.control.level_search import DEFAULT_RULES, LevelRules, LevelSearch, start_search, step
from penstock.control.steadiness import UNWATCHED, Steadiness
from penstock.measure.element_observation import ElementObservation


@dataclass(frozen=True, slots=True)
class LeapingState:
    """Either a search is under way, or the level is held and its steadiness watched.

    After `probe_periods` without a change it looks upwards once more; they are doubled each time that was in vain.
    """

    search: LevelSearch
    steadiness: Steadiness = UNWATCHED
    probing: bool = False
    probe_periods: int = 0


@dataclass(frozen=True, slots=True)
class LeapingOperator:
    """The policy. `tolerance` is the change of the rate that starts a new search."""

    tolerance: float = 0.05
    rules: LevelRules = DEFAULT_RULES
    probe_periods: int = 180
    longest_probe_periods: int = 1440

    def start(self, observation: ElementObservation) -> tuple[LeapingState, ElementSetting]:
        """One thread; the queue placement stays what it is."""
        state = LeapingState(start_search(1, observation.max_level), probe_periods=self.probe_periods)
        return state, ElementSetting(1, observation.queued)

    def settled(self, state: LeapingState) -> bool:
        return state.search.done and not state.probing

    def decide(self, state: LeapingState, observation: ElementObservation) -> tuple[LeapingState, ElementSetting, str]:
        """The level for the next period."""
        if not observation.settled:
            reason = "hold: the last change is not in force yet"
        elif state.probing:
            state, reason = self._after_probe(state, observation.throughput_tuples_s)
        elif state.search.done:
            state, reason = self._watch(state, observation.throughput_tuples_s)
        else:
            search, reason = step(state.search, observation.throughput_tuples_s, self.rules)
            state = replace(state, search=search, steadiness=UNWATCHED)
        return state, ElementSetting(state.search.level, observation.queued), reason

    def _watch(self, state: LeapingState, rate: float) -> tuple[LeapingState, str]:
        watched = state.steadiness.after(rate)
        search = state.search
        change = watched.change(self.tolerance)
        if change:
            again = start_search(search.level, search.max_level, upwards=change > 0)
            again, reason = step(again, rate, self.rules)
            state = LeapingState(again, probe_periods=self.probe_periods)
            return state, f"rate changed by {change:+.0%}: {reason}"
        if watched.periods >= state.probe_periods and search.best < search.max_level:
            level = min(search.max_level, max(search.best + 1, round(1.25 * search.best)))
            probe = replace(search, level=level, top_rate=watched.anchor)
            return replace(state, search=probe, probing=True), f"look upwards once more: try {level}"
        return replace(state, steadiness=watched), "hold: steady"

    def _after_probe(self, state: LeapingState, rate: float) -> tuple[LeapingState, str]:
        search = state.search
        if rate > search.top_rate * (1 + self.tolerance):
            again, reason = step(start_search(search.level, search.max_level), rate, self.rules)
            return LeapingState(again, probe_periods=self.probe_periods), f"more threads pay now: {reason}"
        wait = min(2 * state.probe_periods, self.longest_probe_periods)
        back = replace(search, level=search.best)
        return LeapingState(back, probe_periods=wait), f"back to {search.best} threads: no more to gain"
