"""What an application may take of the machines it runs on: the user's limits, and the grid of settings within them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.arguments import checked_calls, is_number, is_whole
from penstock.control.routes.rebalance import DEFAULT_IMBALANCE
from penstock.control.rules.batch_cap import cap_ladder
from penstock.control.setting import Grid


@checked_calls("Limits")
@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what control may use; None: what the master has when the application starts.

    Without `frequencies_ghz` the frequency of cores is not changed.  `max_imbalance`: how far the load of the busiest
    replica may exceed the mean before slots are assigned anew (record 0032).  `frequency_dry_run`: log the frequencies
    that would be set, and set none.

    >>> Limits(max_replicas=8).problems()
    ()
    >>> Limits(min_replicas=4, max_replicas=2).problems()
    ('max_replicas of the limits is at least min_replicas, 4; got 2',)
    """

    min_replicas: int = 1
    max_replicas: int | None = None
    max_executors: int | None = None
    max_micro_batch_tuples: int | None = None
    frequencies_ghz: tuple[float, ...] = ()
    max_imbalance: float = DEFAULT_IMBALANCE
    frequency_dry_run: bool = False

    def problems(self) -> tuple[str, ...]:
        """What is wrong with them, a sentence each."""
        found = []
        for name in ("min_replicas", "max_replicas", "max_executors", "max_micro_batch_tuples"):
            value = getattr(self, name)
            if not is_whole(value, 1) and (value is not None or name == "min_replicas"):
                found.append(f"{name} of the limits is a whole number of at least 1; got {value!r}")
        if not found and self.max_replicas is not None and self.max_replicas < self.min_replicas:
            found.append(
                f"max_replicas of the limits is at least min_replicas, {self.min_replicas}; got {self.max_replicas}"
            )
        if not _ascends(self.frequencies_ghz):
            found.append(
                "frequencies_ghz of the limits are numbers above 0 that ascend, such as (1.2, 2.0); "
                f"got {self.frequencies_ghz!r}"
            )
        if not _is_share(self.max_imbalance):
            found.append(
                f"max_imbalance of the limits is a number above 0 and at most 1, such as {DEFAULT_IMBALANCE:g}; "
                f"got {self.max_imbalance!r}"
            )
        if not isinstance(self.frequency_dry_run, bool):
            found.append(f"frequency_dry_run of the limits is True or False; got {self.frequency_dry_run!r}")
        elif self.frequency_dry_run and not self.frequencies_ghz:
            found.append("frequency_dry_run of the limits needs frequencies_ghz to choose from; got none")
        return tuple(found)


def _is_share(value: object) -> bool:
    return is_number(value) and 0 < value <= 1


def _ascends(values: object) -> bool:
    if not isinstance(values, tuple | list) or not all(is_number(value) and value > 0 for value in values):
        return False
    return list(values) == sorted(set(values))


def grid_within(
    limits: Limits, highest_replicas: int, micro_batch_tuples: int, frequencies_ghz: tuple[float, ...] = ()
) -> Grid:
    """All settings that a policy may choose from.

    `frequencies_ghz` are those of the limits that the machine can be set to.  Rivals leave the cap as it is.

    >>> grid_within(Limits(max_micro_batch_tuples=4096), 2, 8_000_000).caps_tuples
    (256, 1024, 4096)
    """
    highest = max(min(limits.max_replicas or highest_replicas, highest_replicas), 1)
    lowest = min(limits.min_replicas, highest)
    cap = min(limits.max_micro_batch_tuples or micro_batch_tuples, micro_batch_tuples)
    return Grid(tuple(range(lowest, highest + 1)), tuple(frequencies_ghz) or (None,), cap_ladder(cap))
