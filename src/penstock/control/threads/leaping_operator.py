"""A variation of the Elastic Operator that leaps: level search, then hold until the rate says that something changed.

The paper's algorithm climbs thread by thread and wants every one to bring the tolerance, so it stops near 1 / tolerance
threads, however many cores there are (record 0020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.level_search import LevelRules, LevelSearch, start_search, step
from penstock.control.threads.steadiness import UNWATCHED, Steadiness
from penstock.measure.element_observation import ElementObservation

_SMALL = 4.0  # changes of up to so many tolerances
_LOST = 0.7  # of the rate that a level was chosen for
# It works at the levels it tries, so none is tried that cannot pay, and noise is to be no gain (record 0020).
_RULES = LevelRules(least_gain=0.015, proportional=True)


@dataclass(frozen=True, slots=True)
class LeapingState:
    """Either a search is under way, or the level is held and its steadiness watched.

    After `probe_periods` without a change it looks upwards once more; they are doubled each time that was in vain. It
    looks at once where more cores are idle than `idle_cores`, the fewest of this hold, but not within `idle_wait`.
    """

    search: LevelSearch
    steadiness: Steadiness = UNWATCHED
    probing: bool = False
    probe_periods: int = 0
    idle_cores: float | None = None
    idle_wait: int = 0


@dataclass(frozen=True, slots=True)
class LeapingOperator:
    """The policy. `tolerance` is the change of the rate that starts a new search; levels below `least` are not tried.

    One of up to four times that can gain little, and a search takes some changes: it comes after `patience_periods`.
    """

    tolerance: float = 0.05
    patience_periods: int = 300
    rules: LevelRules = _RULES
    probe_periods: int = 180
    longest_probe_periods: int = 1440
    least: int = 1

    def start(self, observation: ElementObservation) -> tuple[LeapingState, ElementSetting]:
        """The least threads; the queue placement stays what it is."""
        return self._begun(self.least, observation.max_level), ElementSetting(self.least, observation.queued)

    def settled(self, state: LeapingState) -> bool:
        return state.search.done and not state.probing

    def decide(self, state: LeapingState, observation: ElementObservation) -> tuple[LeapingState, ElementSetting, str]:
        """The level for the next period."""
        if state.search.least != self.least:
            state = self._begun(max(state.search.level, self.least), observation.max_level)
        if not observation.settled:
            reason = "hold: the last change is not in force yet"
        elif state.search.level > observation.max_level:
            state, reason = self._fewer_allowed(observation.max_level)
        elif self._more_allowed(state, observation.max_level):
            again = start_search(state.search.level, observation.max_level, least=self.least)
            again, reason = step(again, observation.throughput_tuples_s, self.rules)
            state, reason = LeapingState(again, probe_periods=self.probe_periods), f"more threads are allowed: {reason}"
        elif state.probing:
            state, reason = self._after_probe(state, observation.throughput_tuples_s)
        elif state.search.done:
            state, reason = self._watch(state, observation)
        else:
            search, reason = step(state.search, observation.throughput_tuples_s, self.rules)
            state = replace(state, search=search, steadiness=UNWATCHED, idle_cores=None)
        return state, ElementSetting(state.search.level, observation.queued), reason

    def _begun(self, level: int, max_level: int) -> LeapingState:
        search = start_search(level, max_level, least=self.least)
        return LeapingState(search, probe_periods=self.probe_periods)

    def _fewer_allowed(self, max_level: int) -> tuple[LeapingState, str]:
        search = start_search(max_level, max_level, upwards=False, least=self.least)
        return LeapingState(search, probe_periods=self.probe_periods), f"only {max_level} threads are allowed"

    def _more_allowed(self, state: LeapingState, max_level: int) -> bool:
        """Whether it was held at the most threads, and a quarter more are allowed now."""
        held = state.search.done and not state.probing and state.search.best == state.search.max_level
        return held and max_level >= 1.25 * state.search.max_level

    def _watch(self, state: LeapingState, observation: ElementObservation) -> tuple[LeapingState, str]:
        rate = observation.throughput_tuples_s
        watched = state.steadiness.after(rate)
        search = replace(state.search, max_level=observation.max_level)  # the bound may have moved a little
        change = watched.change(self.tolerance)
        if 2 <= watched.periods <= 3 and watched.anchor < _LOST * search.top_rate:
            # It changed while other levels were tried, so that the hold began with the new rate.
            change = watched.anchor / search.top_rate - 1
        if abs(change) > _SMALL * self.tolerance or (change and watched.periods >= self.patience_periods):
            again = start_search(search.level, search.max_level, upwards=change > 0, least=self.least)
            again, reason = step(again, rate, self.rules)
            state = LeapingState(again, probe_periods=self.probe_periods)
            return state, f"rate changed by {change:+.0%}: {reason}"
        freed = _freed_cores(state, observation.idle_cores)
        if freed and watched.periods > state.idle_wait and search.best < search.max_level:
            level = min(search.max_level, search.best + freed)
            return self._probe(state, search, level, watched, f"{freed} cores became idle: try {level}")
        if watched.periods >= state.probe_periods and search.best < search.max_level:
            level = min(search.max_level, max(search.best + 1, round(1.25 * search.best)))
            return self._probe(state, search, level, watched, f"look upwards once more: try {level}")
        steady = "steady" if not change else f"rate changed by {change:+.0%}, too little to look again so soon"
        known = [cores for cores in (state.idle_cores, observation.idle_cores) if cores is not None]
        return replace(state, steadiness=watched, idle_cores=min(known, default=None)), f"hold: {steady}"

    def _probe(
        self, state: LeapingState, search: LevelSearch, level: int, watched: Steadiness, reason: str
    ) -> tuple[LeapingState, str]:
        probe = replace(search, level=level, top_rate=watched.anchor)
        return replace(state, search=probe, probing=True), reason

    def _after_probe(self, state: LeapingState, rate: float) -> tuple[LeapingState, str]:
        search = state.search
        if rate > search.top_rate * (1 + self.tolerance):
            again, reason = step(start_search(search.level, search.max_level, least=self.least), rate, self.rules)
            return LeapingState(again, probe_periods=self.probe_periods), f"more threads pay now: {reason}"
        wait = min(2 * state.probe_periods, self.longest_probe_periods)
        back = replace(search, level=search.best)
        idle_wait = min(max(10, 2 * state.idle_wait), self.longest_probe_periods)
        held = LeapingState(back, probe_periods=wait, idle_wait=idle_wait)
        return held, f"back to {search.best} threads: no more to gain"


# What elastic threads have. A service may take more than it did without any sign of it, so one looks upwards now and
# then, but rarely enough for less than one change a minute.
CALM = LeapingOperator()
# What `elastic_map` has: its whole purpose is calls of services, whose limits move, and a look upwards costs it some
# calls for a period. So it looks often, and makes more than one change a minute (record 0020).
FOR_SERVICES = LeapingOperator(patience_periods=0, probe_periods=10, longest_probe_periods=20)


def _freed_cores(state: LeapingState, idle_cores: float | None) -> int:
    """Cores that became idle during the hold; 0 where they are too few to matter."""
    if idle_cores is None or state.idle_cores is None:
        return 0
    freed = idle_cores - state.idle_cores
    return round(freed) if freed >= max(1.0, 0.1 * state.search.best) else 0
