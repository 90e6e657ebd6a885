"""What micro-batches cost beside the work on tuples: Spark's fixed costs, stragglers, pauses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from penstock.arguments import Rule, check_arguments, is_number, number, whole

RATIO = Rule("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)

_BACKGROUND = Rule("a number from 0 to 0.9", lambda value: is_number(value) and 0 <= value <= 0.9)


@dataclass(frozen=True, slots=True)
class MicroBatchCosts:
    """Fixed costs in seconds; the defaults are what record 0010 measured on local Spark, two cores.

    A micro-batch takes `batch_s`, `stage_s` for each element, and its tasks, each `task_s` beside its work, and
    `tuple_s` for each tuple from the sources, however many tasks there are.  The next one begins `between_s` after its
    commit, and `interval_s` after its begin, at the earliest.  A task's work varies by `noise` (the standard deviation
    of its logarithm), `batch_s` by `batch_noise` likewise, and a share of tasks, `straggler_ratio`, takes
    `straggler_factor` times as long.  A core runs `tasks_per_core` tasks at once, which share it.  While tasks run,
    `background_ratio` of the cores is taken by what goes on beside them (the driver, garbage collection, compilation):
    tasks feel it where they would need all cores.  A change of routes pauses the next micro-batch for `reconfigure_s`,
    `move_s` times the share of the keys that move and, where replicas change, `restart_s`.  Replicas beyond those that
    were there come `start_s` later.

    >>> MicroBatchCosts(batch_s=0.1).batch_s
    0.1
    """

    batch_s: float = 0.024
    stage_s: float = 0.025
    task_s: float = 0.0012
    tuple_s: float = 0.0
    between_s: float = 0.0
    interval_s: float = 0.0
    noise: float = 0.03
    straggler_ratio: float = 0.0
    straggler_factor: float = 3.0
    tasks_per_core: int = 1
    background_ratio: float = 0.0
    reconfigure_s: float = 0.1
    move_s: float = 0.2
    restart_s: float = 0.0
    start_s: float = 0.0
    batch_noise: float = 0.0

    def __post_init__(self) -> None:
        rules: dict[str, Any] = {own.name: (getattr(self, own.name), number(least=0)) for own in fields(self)}
        rules["tasks_per_core"] = (self.tasks_per_core, whole(1))
        rules["straggler_factor"] = (self.straggler_factor, number(least=1))
        rules["straggler_ratio"] = (self.straggler_ratio, RATIO)
        rules["background_ratio"] = (self.background_ratio, _BACKGROUND)
        check_arguments("twin.MicroBatchCosts", **rules)

    def fixed_s(self, elements: int) -> float:
        """Of a micro-batch without tuples, but for its tasks."""
        return self.batch_s + elements * self.stage_s
