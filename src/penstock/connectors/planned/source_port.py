"""The port of sources: what the engines need to know of one, and what they give to it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.dead_letters import DeadLetters
from penstock.connectors.arriving.arrival import Arrived, LatencyFrom
from penstock.connectors.port import SourceSpec

Offset = Any  # what JSON has; None before the first micro-batch
MEMBERS = ("schema", "problems", "latest", "splits", "read", "backlog", "arrivals", "promise")
_OTHER_WAYS = ("streaming_frame", "by_offset")  # Spark brings its rows, or they are known by their offsets
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Split:
    """Some tuples of a partition of a source, read by one task.

    `part` says which tuples they are, in the source's own terms and in types that JSON has.  `tuples` is their number,
    or an estimate; tasks get about equal shares.  `first` is the number of the first tuple within its `partition`:
    numbers grow from split to split and from batch to batch, and no two tuples share one.  Partitions count from 0; the
    tuples of a partition stay in order, and each partition has its own watermark.

    >>> Split.from_json(Split({"path": "/in/a"}, first=0, tuples=3).to_json())
    Split(part={'path': '/in/a'}, first=0, tuples=3, partition=0)
    """

    part: Any
    first: int
    tuples: int
    partition: int = 0

    def to_json(self) -> bytes:
        return json.dumps([self.part, self.first, self.tuples, self.partition]).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Split:
        return cls(*json.loads(text))


@dataclass(frozen=True, slots=True)
class Planning:
    """The arguments with which a source plans a micro-batch, in the driver.

    `path`: a place in the checkpoint for a file or folder of the source's own.  `most_tuples`: the most that this
    source may take, its share of the cap.  `time_s`: seconds since the checkpoint was made.

    >>> Planning(Path("own"), most_tuples=1000, time_s=2.0).most_tuples
    1000
    """

    path: Path
    most_tuples: int
    time_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The arguments with which a source reads a split, in a task.

    `source` has the name and the schema that the application gave.  No operator reads the attributes in `unused`: their
    columns must exist, with any values.

    >>> from types import SimpleNamespace
    >>> reading = Reading(SimpleNamespace(name="trades"), DeadLetters())
    >>> reading.reject("has no price", {"ticker": "A"})
    >>> len(reading.letters)
    1
    """

    source: SourceSpec
    letters: DeadLetters
    unused: frozenset[str] = frozenset()
    moments: list[Arrived] = field(default_factory=list, repr=False)  # of the batch that is given next

    def arrived(
        self, moments_s: float | npt.NDArray[np.float64] | Sequence[float], latency_from: LatencyFrom = "append"
    ) -> None:
        """Sets when the rows of the next batch arrived: one moment for all rows, or one for each.

        Moments are in seconds since 1970 UTC.  Without this call the rows arrived when `arrivals` says for their split.
        """
        is_one = isinstance(moments_s, int | float)
        own = float(moments_s) if is_one else np.asarray(moments_s, np.float64)  # type: ignore[arg-type]
        self.moments[:] = [Arrived(own, latency_from)]

    def reject(self, reason: str, row: dict[str, Any]) -> None:
        """Makes a dead letter of a row that cannot be used; `reason` continues "source NAME", as in "has no price"."""
        self.letters.add(self.source.name, reason, row)


class SourcePort(Protocol):
    """A source of your own: an object with these members, which can be pickled.

    The driver calls `latest` before each micro-batch and `splits` for the batch between two offsets; Spark's log keeps
    the offsets.  A batch that runs again has the same offsets and must get the same tuples: `splits` and `read` may
    depend only on their arguments and on data that never changes.

    docs/how-to/write-a-source.md has a whole one.

    >>> lacking(object())[:3]
    ['schema', 'problems', 'latest']
    """

    @property
    def schema(self) -> pa.Schema | None:
        """Names and types of its tuples; None where the application must give them."""
        ...

    @property
    def promise(self) -> str:
        """One sentence on delivery: what comes again after a failure, and what does not."""
        ...

    def problems(self, source: SourceSpec) -> Sequence[str]:
        """What is wrong with its settings for a source of this schema, each as the end of a sentence: 'needs ...'."""
        ...

    def latest(self, start: Offset, planning: Planning) -> Offset:
        """The offset where a micro-batch that begins at `start` ends; `start` itself if nothing new is there."""
        ...

    def splits(self, start: Offset, end: Offset, path: Path) -> Sequence[Split]:
        """The splits between two offsets, in order; `path` as in `Planning`."""
        ...

    def read(self, split: Split, reading: Reading) -> Iterable[pa.RecordBatch | pa.Table]:
        """The tuples of a split, in order.  Rows that do not fit the schema become dead letters.

        An InputError makes one dead letter of the rest of the split; other exceptions stop the application.
        """
        ...

    def backlog(self, after: Offset, path: Path) -> float | None:
        """How many tuples wait after an offset; None if that is not known."""
        ...

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        """When each split arrived, in seconds since 1970 UTC; None if that is not known.

        `read` may report it for single tuples with `Reading.arrived`.  Without either, tuples arrive when their
        micro-batch is planned.
        """
        ...


def lacking(connector: object) -> list[str]:
    """The members of the port that an object has not got."""
    return [name for name in MEMBERS if inspect.getattr_static(connector, name, _ABSENT) is _ABSENT]


def source_port(connector: object) -> SourcePort | None:
    """The connector by its port; None where it is no source, or the class of one."""
    if connector is None or isinstance(connector, type) or lacking(connector):
        return None
    return connector  # type: ignore[return-value]


def planned_source(connector: object) -> SourcePort | None:
    """The connector by its port, where the driver plans its splits and tasks read them; else None."""
    return None if any(hasattr(connector, way) for way in _OTHER_WAYS) else source_port(connector)
