"""How long an executor takes from the request to its first task: learned from every start that was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

_WEIGHT = 0.3
_DEVIATIONS = 2.0


@dataclass(frozen=True, slots=True)
class ExecutorStart:
    """Smoothed start-up time and its mean deviation; before any start was seen, `mean_s` is an assumption."""

    mean_s: float = 0.0
    deviation_s: float = 0.0
    seen: int = 0

    def learn(self, start_s: float) -> ExecutorStart:
        if self.seen == 0:
            return ExecutorStart(start_s, start_s / 2, 1)
        error_s = start_s - self.mean_s
        return replace(
            self,
            mean_s=self.mean_s + _WEIGHT * error_s,
            deviation_s=self.deviation_s + _WEIGHT * (abs(error_s) - self.deviation_s),
            seen=self.seen + 1,
        )

    @property
    def cautious_s(self) -> float:
        """A time that most starts keep."""
        return self.mean_s + _DEVIATIONS * self.deviation_s
