"""The version of a slot: which task attempt of which batch, under which driver, wrote it last."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Token:
    """Unique for each task attempt.

    `epoch` counts the drivers of a checkpoint from 1; `attempt` is Spark's task attempt id, which never repeats within
    one driver (its attempt number does).  Within an epoch a higher attempt is a newer one.
    """

    epoch: int
    batch: int
    attempt: int

    def __post_init__(self) -> None:
        if self.epoch < 1 or self.batch < 0 or self.attempt < 0:
            raise InputError(f"a token needs an epoch from 1, a batch and an attempt from 0; got {self}")

    @property
    def rank(self) -> tuple[int, int]:
        """What says which of two attempts is newer."""
        return self.epoch, self.attempt

    def __str__(self) -> str:
        return f"batch {self.batch}, epoch {self.epoch}, attempt {self.attempt}"
