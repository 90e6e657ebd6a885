"""The published rules of Flink's autoscaler: means over a window, a band of utilization, a slow way down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, Hold
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class FlinkState:
    """Steps of the metric window, until when it stabilises, and since when (and to how many) down is asked for."""

    window: tuple[ControlStep, ...] = ()
    stable_from_s: float = 0.0
    down_since_s: float | None = None
    down_to: int = 0


@dataclass(frozen=True, slots=True)
class FlinkAutoscaler:
    """`target` utilization, left alone within `boundary` of it.

    The rate to be ready for is that of the window plus what catches the backlog up within `catch_up_s`, the backlog of
    an assumed restart included.  After a change, nothing for `stabilisation_s`.  Down only when it was asked for during
    all of `scale_down_delay_s`, to the most that was asked for in it, and by no more than `most_down` at once.
    """

    target: float = 0.7
    boundary: float = 0.3
    window_s: float = 900.0
    stabilisation_s: float = 300.0
    scale_down_delay_s: float = 3600.0
    restart_s: float = 300.0
    catch_up_s: float = 1800.0
    most_down: float = 0.6
    bounds: Bounds = FULL_RANGE
    name: str = "flink autoscaler"

    def start(self) -> FlinkState:
        return FlinkState()

    def decide(self, state: FlinkState, seen: ControlStep) -> tuple[FlinkState, Decision]:
        if seen.ended_at_s < state.stable_from_s - 1e-9:
            return state, Hold("stabilising after a change")
        window = tuple(s for s in (*state.window, seen) if s.ended_at_s > seen.ended_at_s - self.window_s)
        state = replace(state, window=window)
        if window[0].ended_at_s - window[0].period_s > seen.ended_at_s - self.window_s + seen.period_s:
            return state, Hold("the metric window is not full")
        busy_s = sum((s.service_s or 0.0) * s.served_tuples for s in window)
        served = sum(s.served_tuples for s in window)
        if served <= 0 or busy_s <= 0:
            return state, Hold("nothing was served in the metric window")
        rate = sum(s.arrived_tuples for s in window) / sum(s.period_s for s in window)
        return self._scaled(state, seen, rate, served / busy_s)

    def _scaled(
        self, state: FlinkState, seen: ControlStep, rate: float, true_rate: float
    ) -> tuple[FlinkState, Decision]:
        """`true_rate`: of one replica."""
        at = seen.setting.replicas
        capacity = true_rate * at
        catch_up = (seen.backlog_tuples + self.restart_s * rate) / self.catch_up_s
        because = f"rate {rate:.0f}, true rate {capacity:.0f} tuples/s"
        lowest = rate / (self.target + self.boundary) + seen.backlog_tuples / self.catch_up_s
        highest = rate / (self.target - self.boundary) + catch_up if self.target > self.boundary else math.inf
        wanted = self.bounds.within(math.ceil((rate / self.target + catch_up) / true_rate - 1e-9))
        if lowest <= capacity <= highest or wanted == at:
            return replace(state, down_since_s=None), Hold(f"{because}: within the band")
        if wanted < at:
            return self._down(state, seen, max(wanted, math.ceil(at * (1 - self.most_down))), because)
        return self._changed(seen), self.bounds.to(seen, wanted, because)

    def _down(self, state: FlinkState, seen: ControlStep, wanted: int, because: str) -> tuple[FlinkState, Decision]:
        since_s = state.down_since_s if state.down_since_s is not None else seen.ended_at_s
        most = max(wanted, state.down_to) if state.down_since_s is not None else wanted
        if seen.ended_at_s < since_s + self.scale_down_delay_s - 1e-9:
            return replace(state, down_since_s=since_s, down_to=most), Hold(f"{because}: down is delayed")
        return self._changed(seen), self.bounds.to(seen, most, because)

    def _changed(self, seen: ControlStep) -> FlinkState:
        return FlinkState(stable_from_s=seen.ended_at_s + self.stabilisation_s)
