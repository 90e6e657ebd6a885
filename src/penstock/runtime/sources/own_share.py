"""Which share of a micro-batch a task reads: the one whose partitions its process has read before.

Spark gives a task to any worker process, and what a source has fetched ahead in a partition is of use in that process
alone.  So each task gets the splits of all shares, and takes a share that no other task has.  It acts as the replica of
that number in everything: the results are the same whoever reads what.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.errors import StaleAttemptError, file_error
from penstock.runtime.replica.source_rows import SCHEMA, SHARES, SPLIT

Partitions = frozenset[tuple[str, int]]  # of sources, by name and number


@dataclass(slots=True)
class PartitionsRead:
    """The partitions that this process read in its newest micro-batch."""

    batch: int = -1
    partitions: Partitions = field(default_factory=frozenset)

    def note(self, batch: int, partitions: Partitions) -> None:
        """A task of a micro-batch reads them."""
        self.partitions = self.partitions | partitions if batch == self.batch else partitions
        self.batch = batch


@functools.lru_cache(maxsize=8)
def partitions_read(checkpoint: str) -> PartitionsRead:
    """Those of an application, by its checkpoint."""
    return PartitionsRead()


def own_share(
    batches: Iterator[pa.RecordBatch], task: int, folder: str | None, read: PartitionsRead, batch: int
) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The number of the share that a task reads, and its rows; the task's own number and all rows without a choice.

    `folder`: one for all tasks of this run of the micro-batch; without one each task has the share of its number.
    """
    first = next(batches, None)
    if first is None or not _has_shares(first):
        return task, itertools.chain([] if first is None else [first], batches)
    found = [first, *batches]
    shares = _partitions_of(found)
    share = task if folder is None else _claimed(folder, task, ranked(shares, read.partitions, task))
    read.note(batch, shares[share])
    return share, (own.filter(pa.array([stop == share for stop in own.column("stop").to_pylist()])) for own in found)


def each_once(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of all tasks in one that reads alone: it gets the splits of all shares from each."""
    choices = 0
    for batch in batches:
        if batch.schema.names != SCHEMA.names:
            yield batch
            continue
        keep = []
        for start, stop in zip(batch.column("start").to_pylist(), batch.column("stop").to_pylist(), strict=True):
            choices += start == SHARES
            keep.append(start != SHARES and (start != SPLIT or stop == SPLIT or choices == 1))
        yield batch if all(keep) else batch.filter(pa.array(keep))


def ranked(shares: Sequence[Partitions], read: Partitions, task: int) -> list[int]:
    """The shares by how many of their partitions were read here; among equals first the one of the task's number.

    >>> ranked([frozenset({("s", 0)}), frozenset({("s", 1)}), frozenset({("s", 2)})], frozenset({("s", 2)}), 1)
    [2, 1, 0]
    """
    return sorted(range(len(shares)), key=lambda share: (-len(shares[share] & read), share != task, share))


def _claimed(folder: str, task: int, order: Sequence[int]) -> int:
    """The first share that no other task has claimed; a task that runs again has the one that it had."""
    names = {share: os.path.join(folder, f"share-{share}") for share in order}
    for share, name in names.items():
        if os.path.islink(name) and os.readlink(name) == str(task):
            return share
    for share, name in names.items():
        try:
            os.symlink(str(task), name)  # made and named in one, if it is not there yet
        except FileExistsError:
            continue
        except OSError as error:  # a full disk: others may have the share of this task's number
            raise file_error("claiming splits in", name, error) from error
        return share
    raise StaleAttemptError(f"task {task} came too late: other tasks have claimed all {len(order)} shares")


def _has_shares(batch: pa.RecordBatch) -> bool:
    return batch.schema.names == SCHEMA.names and batch.num_rows > 0 and bool(batch["start"][0].as_py() == SHARES)


def _partitions_of(batches: Iterable[pa.RecordBatch]) -> list[Partitions]:
    """The partitions of each share; the first row says how many shares there are."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    found: list[set[tuple[str, int]]] = [set() for _ in range(rows[0]["stop"])]
    for row in rows[1:]:
        found[row["stop"]].add((row["source"], json.loads(row["payload"])[3]))
    return [frozenset(own) for own in found]
