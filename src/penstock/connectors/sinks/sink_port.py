"""The port of sinks: what engines need of one, and what they give it.

A micro-batch ends in three steps.  Its tuples are staged as parts: `open`, `write`, and `close` of what `open` gave.
The batch's manifest names the parts: from here on the batch counts, and is never computed again.  The driver publishes
the parts; after a failure it does so again, with the same parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.arrow_part import ArrowPart, read_in_order
from penstock.host.atomic_file import Fence, no_fence
from penstock.host.paths.file_names import file_name

DeliveryPromise = Literal["exactly once", "at least once", "this run"]
_NAME = re.compile(r"batch-(\d+)(?:-replica-\d+)?@(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class MemoryBounds:
    """How many tuples, and megabytes of them, are kept in the driver's memory; None is without a bound."""

    max_rows: int | None
    max_mb: float | None


@dataclass(frozen=True, slots=True)
class SinkPromise:
    """What a sink promises, and how engines serve it.

    `delivery`: `exactly once`; `at least once` (a batch may be published again, under the same id and with the same
    tuples); `this run` (a restart does not publish earlier results).  `staged_by`: `driver` for one part per batch,
    with all tuples in the total order; `replicas` for one part per replica, which never passes through the driver's
    memory.  `in_order`: tuples carry their place in the total order, so that parts of replicas can be merged.  `keeps`:
    a run holds the tuples for its caller, within these bounds.  `needs_spark`: `publish` needs a session.

    >>> SinkPromise("exactly once")
    SinkPromise(delivery='exactly once', staged_by='driver', in_order=True, keeps=None, needs_spark=False)
    """

    delivery: DeliveryPromise
    staged_by: Literal["driver", "replicas"] = "driver"
    in_order: bool = True
    keeps: MemoryBounds | None = None
    needs_spark: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that asks for a sink's target, for tuples of this schema.

    `claim` is called twice for every sink, first with `only_checks`: if one sink refuses, no target is taken.

    >>> Claim("out", Run("4f0c", "checkpoint"), only_checks=True).run_id
    '4f0c'
    """

    sink: str
    run: Run
    only_checks: bool = False
    schema: pa.Schema | None = None

    @property
    def run_id(self) -> str:
        return self.run.checkpoint_id


@dataclass(frozen=True, slots=True)
class Part:
    """What one replica (or, where `replica` is None, the driver) has of a batch's tuples for a sink.

    `label` is the same each time the batch runs; `name` is unique for the sink, since a task that runs again stages
    another part.  `folder` is a folder of the checkpoint, which all hosts see.

    >>> part = Part("out", pa.schema({"x": pa.int64()}), BatchId(7, "4f0c"), epoch=2, replica=1, attempt=5)
    >>> part.label, part.name
    ('batch-000000000007-replica-0001', 'batch-000000000007-replica-0001@2-5')
    """

    sink: str
    schema: pa.Schema
    batch: BatchId
    epoch: int = 0
    replica: int | None = None
    attempt: int = 0
    folder: Path = Path()
    durable: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            replica = "" if self.replica is None else f"-replica-{self.replica:04d}"
            object.__setattr__(self, "label", f"batch-{self.batch:012d}{replica}")

    @property
    def name(self) -> str:
        return f"{self.label}@{self.epoch}-{self.attempt}"

    def stage(self) -> ArrowPart:
        """A part in the checkpoint, which `Delivery.batches` reads: for sinks that have no better place.

        Its file has the sink's name, too: a task stages the parts of all its sinks in this one folder.
        """
        return ArrowPart(self.folder, f"{self.name}-{file_name(self.sink)}", durable=self.durable)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The parts of one batch for a sink, as their `close` named them; none if the batch had no tuples for it.

    `batch` is the number of the batch and `batch.run_id` the id of the run; no other delivery has both.  `epoch` is the
    driver's number, higher than that of any driver before.  `fence()` raises if another driver has taken over.
    `is_again`: an earlier driver may have delivered the batch, or a part of it.  `may_replace`: the batch may have been
    computed and delivered before; then files from that time under other names must be deleted.

    >>> Delivery("out", pa.schema({"x": pa.int64()}), BatchId(7, "4f0c"), parts=()).table().num_rows
    0
    """

    sink: str
    schema: pa.Schema
    batch: BatchId
    parts: tuple[str, ...]
    epoch: int = 0
    folder: Path = Path()
    durable: bool = False
    fence: Fence = no_fence
    session: Any = None
    is_again: bool = False
    may_replace: bool = True

    def batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """The tuples of parts that were staged by `Part.stage`, in the total order, at most so many at a time."""
        for block in read_in_order(self.folder, self.parts, self.schema, rows):
            yield block.to_arrow()

    def table(self) -> pa.Table:
        """All tuples of parts that were staged by `Part.stage`, in the total order."""
        return pa.Table.from_batches(list(self.batches(1 << 62)), self.schema).unify_dictionaries()


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a sink reports after a delivery: the files that it wrote, or the number of tuples and their checksum.

    >>> Delivered().files
    ()
    """

    files: tuple[Path, ...] = ()
    tuples: int | None = None
    checksum: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """Which parts are stale: of batches before `before_batch` and drivers before `before_epoch`, not `excluded`.

    >>> Sweep(before_epoch=3, excluded=frozenset({"batch-000000000007@2-5"})).is_stale("batch-000000000007@2-4")
    True
    """

    before_batch: int = 0
    before_epoch: int = 0
    excluded: frozenset[str] = frozenset()

    def is_stale(self, name: str) -> bool:
        """Whether the part of this name may be deleted; False for a name that no part has."""
        found = _NAME.match(name)
        if found is None or name in self.excluded:
            return False
        return int(found[1]) < self.before_batch or int(found[2]) < self.before_epoch


class OpenPart(Protocol):
    """A part that tuples are written to.

    >>> class Counted:
    ...     def close(self) -> str:
    ...         return "3 tuples"
    >>> opened: OpenPart = Counted()
    >>> opened.close()
    '3 tuples'
    """

    def close(self) -> str:
        """Ends the part and gives the text by which `publish` finds it; the manifest has it."""
        ...


@runtime_checkable
class SinkPort(Protocol):
    """A sink: an object with these members, which can be pickled.

    Engines call `claim` at a start, `open` and `write` where tuples are staged (mostly on other hosts), `publish` in
    the driver once the batch counts, and `sweep` from time to time.  docs/how-to/write-a-sink.md has a whole one.

    >>> isinstance(object(), SinkPort)
    False
    """

    @property
    def promise(self) -> SinkPromise:
        """What the sink promises, and how it is served."""
        ...

    def claim(self, claim: Claim) -> None:
        """Takes the target for a run; raises InputError if another run has it."""
        ...

    def open(self, part: Part) -> Any:
        """Begins a part; returns an object with a method `close` (an `OpenPart`), which `write` is called with."""
        ...

    def write(self, opened: Any, tuples: Block) -> None:
        """Adds tuples to a part; `tuples.to_arrow()` is a pyarrow.RecordBatch of them."""
        ...

    def publish(self, delivery: Delivery) -> Delivered | None:
        """Delivers a batch's parts; called again for the same batch after a failure, always with the same tuples."""
        ...

    def sweep(self, sweep: Sweep) -> None:
        """Deletes stale parts that are not in the checkpoint; those in the checkpoint are deleted already."""
        ...
