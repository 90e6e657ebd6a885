"""What an application may take of the machines it runs on: the user's limits, and the grid of settings within them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.pacing import cap_ladder
from penstock.control.setting import Grid


@dataclass(frozen=True, slots=True)
class Limits:
    """None: as much as the master has when the application starts.  `frequencies_ghz`: none, and cores are left alone.

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

    def problems(self) -> tuple[str, ...]:
        """What is wrong with them, a sentence each."""
        found = []
        for name in ("min_replicas", "max_replicas", "max_executors", "max_micro_batch_tuples"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                found.append(f"{name} of the limits is a whole number of at least 1; got {value!r}")
        if not found and self.max_replicas is not None and self.max_replicas < self.min_replicas:
            found.append(
                f"max_replicas of the limits is at least min_replicas, {self.min_replicas}; got {self.max_replicas}"
            )
        if list(self.frequencies_ghz) != sorted(set(self.frequencies_ghz)) or any(f <= 0 for f in self.frequencies_ghz):
            listed = ", ".join(f"{f:g}" for f in self.frequencies_ghz)
            found.append(f"frequencies_ghz of the limits ascend and are above 0; got {listed}")
        return tuple(found)


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
    return Grid(tuple(range(lowest, highest + 1)), frequencies_ghz or (None,), cap_ladder(cap))
