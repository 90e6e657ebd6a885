"""The loop of an element's level: observe, decide, apply, and a journal of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.control.threads.element_port import ElementPort
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.thread_policy import State, ThreadPolicy
from penstock.measure.element_observation import ElementObservation


@dataclass(frozen=True, slots=True)
class ElementStep:
    """One period: the setting it ran with, what was observed, and what was decided for the next one."""

    period: int
    setting: ElementSetting
    observation: ElementObservation
    next_setting: ElementSetting
    reason: str
    settled: bool

    def __str__(self) -> str:
        """The line of the journal."""
        return (
            f"period {self.period}: {self.setting.threads} threads, {len(self.setting.queued)} queues, "
            f"{self.observation.throughput_tuples_s:.4g} tuples/s; {self.reason}"
        )


def run_periods(port: ElementPort, policy: ThreadPolicy[State], periods: int) -> Iterator[ElementStep]:
    """Lets the policy run the element for so many periods, after one to get to know it."""
    state, setting = policy.start(port.observe())
    for period in range(periods):
        port.apply(setting)
        observation = port.observe()
        state, decided, reason = policy.decide(state, observation)
        yield ElementStep(period, setting, observation, decided, reason, policy.settled(state))
        setting = decided
