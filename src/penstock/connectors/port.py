"""What the engines need of a connector, as small protocols, and what they tell a sink of a delivery."""

from __future__ import annotations

import uuid
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.arriving.arrival import Arrival

FILES_PER_BATCH = 64


class BatchId(int):
    """Which delivery to a sink this is: the number of a micro-batch, an int in every way, and the id of its run.

    A delivery that comes again has the same two, and no other has: the batches of another checkpoint begin at 0 again,
    with a run id of their own.

    >>> batch_id = BatchId(7, "4f0c")
    >>> batch_id == 7, f"{batch_id.run_id}-{batch_id:03d}"
    (True, '4f0c-007')
    """

    run_id: str

    def __new__(cls, batch: int, run_id: str) -> BatchId:
        own = super().__new__(cls, batch)
        own.run_id = run_id
        return own

    def __reduce__(self) -> tuple[object, ...]:
        return BatchId, (int(self), self.run_id)


def new_run_id() -> str:
    """An id that no other run has."""
    return uuid.uuid4().hex[:16]


class SourceSpec(Protocol):
    """What a connector must know of the source that it serves; `app.operators.Source` is one."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def connector(self) -> object: ...

    @property
    def stamp(self) -> str | None: ...

    @property
    def rate_tuples_s(self) -> float | None: ...

    @property
    def arrival(self) -> Arrival: ...


class OffsetSource(Protocol):
    """What a source of an application gives for its offsets."""

    @property
    def total(self) -> int | None:
        """How many tuples there are; None where there is no end."""
        ...

    @property
    def has_schedule(self) -> bool:
        """Whether its tuples arrive one after the other, at moments that are known."""
        ...

    def arrived_by(self, time_s: float) -> int | None:
        """How many tuples are there at a moment; None where any number is."""
        ...

    def arrival_s(self, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """When the tuples at some offsets arrive, in seconds since the stream opened; of a schedule alone."""
        ...

    def block(self, start: int, stop: int, *, positioned: bool) -> Block:
        """The tuples of some offsets."""
        ...

    def stamp(self, offset: int) -> float:
        """Where the tuple at an offset stands among those of other sources; ascending."""
        ...

    def count(self, stamp: float, *, inclusive: bool) -> int:
        """How many tuples stand before a stamp, or at it too."""
        ...


class SourceBacklog(Protocol):
    """What one source has that was not taken.

    `arrives`: tuples come one after the other, and are not all there from the beginning.
    """

    arrives: bool

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        """Tuples, after a micro-batch that took so many between two offsets of Spark's log; None: that is not known."""
        ...
