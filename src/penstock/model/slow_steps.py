"""How much longer the busiest replica takes than its tuples do: a little in every step, far longer now and then."""

from __future__ import annotations

from dataclasses import dataclass, replace

_SLOW, _MOST = 1.3, 4.0  # times as long as balance leaves: from then on a step is slow, and no more than that counts


@dataclass(frozen=True, slots=True)
class SlowSteps:
    """`usual`: the slowest of several tasks is late by their noise.  Slow steps are those with a task that straggles:
    how probable they are, and how many times as long they take; before any, rare ones that take twice as long.  What is
    assumed of their chance counts as much as `assumed` steps.
    """

    usual: float = 1.0
    chance: float = 0.0003
    factor: float = 2.0
    usual_pace: float = 0.1
    pace: float = 0.01
    factor_pace: float = 0.2
    assumed: int = 50
    steps: int = 0

    def learn(self, ratio: float) -> SlowSteps:
        """After a step whose busiest replica took `ratio` times as long as it should have.

        >>> SlowSteps().learn(3.0).chance > SlowSteps().learn(1.1).chance
        True
        """
        is_slow, steps = ratio > _SLOW, self.steps + 1
        pace = max(self.pace, 1 / (self.assumed + steps))  # a mean of all steps, until they are many
        chance = self.chance + pace * (float(is_slow) - self.chance)
        if is_slow:
            factor = self.factor + self.factor_pace * (min(ratio, _MOST) - self.factor)
            return replace(self, chance=chance, factor=factor, steps=steps)
        usual = self.usual + self.usual_pace * (max(ratio, 1.0) - self.usual)
        return replace(self, chance=chance, usual=usual, steps=steps)
