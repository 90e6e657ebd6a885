"""ELASTIC's Elastic Operator algorithm (its Figure 2): one operator's threads, a level up or down each period.

The printed listing is repaired: an invalidated peak is unknown (None), attracts probing, and the next measurement
replaces it. Levels count from 0 as in the paper: level n has n + 1 active threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.threads.element_setting import ElementSetting
from penstock.measure.element_observation import ElementObservation


@dataclass(frozen=True, slots=True)
class ElasticState:
    """The listing's variables, and the periods since the last change; `peak` and `last` are per thread created."""

    n: int = 0
    peaking: bool = False
    peak: tuple[float | None, ...] = (None,)
    last: tuple[float | None, ...] = (None,)
    steady_periods: int = 0


@dataclass(frozen=True, slots=True)
class ElasticOperator:
    """The policy with its two constants, which the paper does not give (record 0020 has the sweep).

    Levels below `least` threads are never in force, and nothing is known of them; the listing has 1.
    """

    tolerance: float = 0.05
    decay_rate: float = 0.01
    settled_after: int = 5
    least: int = 1

    def start(self, observation: ElementObservation) -> tuple[ElasticState, ElementSetting]:
        """The least threads; the queue placement stays what it is."""
        return self._lifted(ElasticState()), ElementSetting(self.least, observation.queued)

    def settled(self, state: ElasticState) -> bool:
        return state.steady_periods >= self.settled_after

    def decide(self, state: ElasticState, observation: ElementObservation) -> tuple[ElasticState, ElementSetting, str]:
        """One evaluation of the thread level, with the rate of the period just over."""
        state = self._lifted(state)
        if not observation.settled:
            return state, ElementSetting(state.n + 1, observation.queued), "hold: the last change is not in force yet"
        measured = self._record(state, observation.throughput_tuples_s)
        moved, reason = self._move(measured, observation.throughput_tuples_s, observation.max_level)
        steady = state.steady_periods + 1 if moved.n == state.n else 0
        moved = replace(moved, steady_periods=steady)
        return moved, ElementSetting(moved.n + 1, observation.queued), reason

    def less(self, a: float, b: float) -> bool:
        """Whether b is above a by the tolerance."""
        return b > 0 if a == 0 else (b - a) / a >= self.tolerance

    def _lifted(self, state: ElasticState) -> ElasticState:
        """A state that began with fewer threads than are the least now."""
        if state.n + 1 >= self.least:
            return state
        unknown = (None,) * (self.least - len(state.peak))
        return replace(
            state, n=self.least - 1, peaking=False, peak=(*state.peak, *unknown), last=(*state.last, *unknown)
        )

    def _record(self, state: ElasticState, rate: float) -> ElasticState:
        """`peak` and `last` after this period's rate."""
        n, peak = state.n, list(state.peak)
        held = peak[n]
        if held is None:
            peak[n] = rate
        elif rate > held:
            if self.less(held, rate):
                peak[n + 1 :] = [None] * (len(peak) - n - 1)
            peak[n] = rate
        else:
            peak[n] = held - held * self.decay_rate
        last = (*state.last[:n], rate, *state.last[n + 1 :])
        return replace(state, peak=tuple(peak), last=last)

    def _move(self, state: ElasticState, rate: float, max_level: int) -> tuple[ElasticState, str]:
        n, here = state.n, state.peak[state.n]
        is_least = n + 1 == self.least
        below = None if is_least else state.peak[n - 1]
        assert here is not None
        if state.peaking:
            return self._after_step_down(state, rate)
        if self.less(rate, here):
            return self._step_down(state, "below this level's peak")
        if not is_least and below is None:  # levels are entered one by one: only where the least was more before
            return self._step_down(state, "what they give is not known")
        if below is not None and self.less(here, below):
            return self._step_down(state, "the level below had a higher peak")
        if below is None or self.less(below, here):
            return self._step_up(state, here, max_level)
        return state, "hold: stable from below"

    def _after_step_down(self, state: ElasticState, rate: float) -> tuple[ElasticState, str]:
        above = state.last[state.n + 1]
        state = replace(state, peaking=False)
        if above is not None and rate < above:  # strict, so that throughput does not creep downwards
            return replace(state, n=state.n + 1), f"up to {state.n + 2} threads again: fewer were slower"
        return state, f"keep {state.n + 1} threads: not slower than one more"

    def _step_down(self, state: ElasticState, why: str) -> tuple[ElasticState, str]:
        if state.n + 1 == self.least:
            threads = "one thread is" if self.least == 1 else f"{self.least} threads are"
            return state, f"hold: {why}, but {threads} the least"
        return replace(state, n=state.n - 1, peaking=True), f"down to {state.n} threads: {why}"

    def _step_up(self, state: ElasticState, here: float, max_level: int) -> tuple[ElasticState, str]:
        n = state.n
        if n + 1 >= max_level:
            return state, f"hold: {max_level} threads are the most"
        if n + 1 == len(state.peak):
            grown = replace(state, n=n + 1, peak=(*state.peak, None), last=(*state.last, None))
            return grown, f"up to {n + 2} threads, a new one: upward trend"
        above = state.peak[n + 1]
        if above is None or here < above:
            return replace(state, n=n + 1), f"up to {n + 2} threads: " + (
                "what they give is not known" if above is None else "they gave more before"
            )
        return state, "hold: stable from above"
