"""What the engines need of a connector, as small protocols."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from penstock.block.block import Block

FILES_PER_BATCH = 64


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


class OffsetSource(Protocol):
    """What a source of an application gives for its offsets."""

    @property
    def total(self) -> int | None:
        """How many tuples there are; None where there is no end."""
        ...

    def arrived_by(self, time_s: float) -> int | None:
        """How many tuples are there at a moment; None where any number is."""
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
