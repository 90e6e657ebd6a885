"""How far an application has come: tuples taken up to the newest batch, as Spark's log of offsets has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path

from penstock.errors import CorruptStateError


class Progress:
    """Tuples of all batches up to the newest one that counts (None is before the first); `taken` looks them up."""

    def __init__(self, batch: int | None, taken: Callable[[int], int]) -> None:
        self.batch, self._taken = batch, taken
        self.tuples = 0 if batch is None else taken(batch)

    def add(self, batch: int, tuples: int) -> None:
        """Counts a batch; one that runs again counts once."""
        is_again = self.batch is not None and batch <= self.batch
        self.tuples = self._taken(batch) if is_again else self.tuples + tuples
        self.batch = batch


def taken_by(spark: Path, batch: int, sources: Collection[str]) -> int:
    """Tuples that sources known by offsets have given up to a batch; they come first in a line of Spark's log."""
    path = spark / "offsets" / str(batch)
    try:
        body = json.loads(path.read_text().split("\n")[2])
        return sum(int(body[name]) for name in sources)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorruptStateError(f"Spark's log of offsets '{path}' cannot be read, so that nobody knows what was taken; "
                                "restore it, or take another checkpoint") from error  # fmt: skip
