"""Many small files as one: those of some micro-batches wait out of sight, and are merged before anybody sees them.

`.penstock/pending` has the files that wait, `.penstock/merged-<last>` what they become, and `.penstock/merge` the last
batch that was merged.  A merge counts when that file is renamed; whoever comes next finishes one that was cut off.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from penstock.connectors.files.layout.staged_partitions import publish_partitions
from penstock.connectors.files.staged_file import STAGE
from penstock.connectors.sinks.sink_port import Delivery, Sweep
from penstock.errors import CorruptStateError, InputError, system_reason
from penstock.host.atomic_file import DRAFT, Fence, make_folder, no_fence, sync, write_whole

_BATCH = re.compile(r"batch-(\d+)")


@dataclass(frozen=True, slots=True)
class Compaction:
    """The files of one sink; `batches` of them become one file (in each partition)."""

    path: str
    batches: int
    compression: str
    partitioned: bool

    def publish(self, delivery: Delivery) -> tuple[Path, ...]:
        """Takes a batch's parts, and gives the files that are there from now on, mostly none."""
        delivery.fence()
        done = self._finish()
        if int(delivery.batch) <= done:  # an earlier attempt at this delivery has come further
            return ()
        self._take(delivery)
        if (int(delivery.batch) + 1) // self.batches == int(delivery.batch) // self.batches:
            return ()
        return self._merge(delivery.fence, durable=delivery.durable)

    def sweep(self, sweep: Sweep) -> None:
        """At the start and the end of a run: what still waits is merged, so that nothing stays out of sight."""
        if sweep.before_epoch:
            for draft in (Path(self.path) / STAGE).glob(f"*{DRAFT}"):
                draft.unlink(missing_ok=True)
            self._finish()
            self._merge(no_fence, durable=True, before=self._undelivered(sweep.excluded))

    def _undelivered(self, parts: Iterable[str]) -> int | None:
        """The first batch of which something is still staged; None where all is delivered."""
        found = (Path(self.path) / STAGE / name for name in parts)
        return min((_batch(own) for own in found if own.is_file() or any(own.rglob("*.parquet"))), default=None)

    @property
    def _pending(self) -> Path:
        return Path(self.path) / STAGE / "pending"

    def _waiting(self) -> list[Path]:
        return sorted(self._pending.rglob("*.parquet"), key=lambda file: (str(file.parent), file.name))

    def _take(self, delivery: Delivery) -> None:
        """Moves a batch's parts to those that wait."""
        if self.partitioned:
            publish_partitions(self.path, self._pending, delivery)
            return
        make_folder(str(self._pending), durable=delivery.durable)
        labels = {name.partition("@")[0] for name in delivery.parts}
        for file in self._waiting() if delivery.may_replace else ():
            if _batch(file) == delivery.batch and file.stem not in labels:  # of the batch as it ran before
                file.unlink(missing_ok=True)
        for name in delivery.parts:
            staged, final = Path(self.path) / STAGE / name, self._pending / f"{name.partition('@')[0]}.parquet"
            try:
                os.replace(staged, final)
            except FileNotFoundError as error:
                if not final.exists():  # else an earlier attempt has come as far as this
                    raise CorruptStateError(
                        f"the results of sink '{delivery.sink}' in '{staged}', which the manifest of micro-batch "
                        f"{delivery.batch} names, are gone: they cannot be delivered; take another checkpoint"
                    ) from error
        if delivery.durable:
            sync(str(self._pending))

    def _merge(self, fence: Fence, *, durable: bool, before: int | None = None) -> tuple[Path, ...]:
        """Makes one file of all that wait in each partition, of batches before one."""
        waiting = [file for file in self._waiting() if before is None or _batch(file) < before]
        if not waiting:
            return ()
        first, last = min(map(_batch, waiting)), max(map(_batch, waiting))
        merged = Path(self.path) / STAGE / f"merged-{last:012d}"
        name = f"batch-{first:012d}-to-{last:012d}.parquet"
        try:
            for folder, files in groupby(waiting, lambda file: file.parent):
                place = merged / folder.relative_to(self._pending) / name
                make_folder(str(place.parent), durable=durable)
                _write(place, files, self.compression)
                if durable:
                    sync(str(place))
                    sync(str(place.parent))
        except OSError as error:
            raise InputError(f"cannot write {merged}: {system_reason(error)}") from error
        write_whole(
            "merging files of", str(Path(self.path) / STAGE / "merge"), str(last).encode(), durable=durable, fence=fence
        )
        places = tuple(Path(self.path) / file.relative_to(merged) for file in merged.rglob("*.parquet"))
        self._finish()
        return places

    def _finish(self) -> int:
        """Brings a merge that counts to its end, and removes one that does not; the last batch that was merged."""
        stage = Path(self.path) / STAGE
        done = _number(stage / "merge")
        for merged in stage.glob("merged-*"):
            if int(merged.name.partition("-")[2]) == done:
                for file in self._waiting():
                    if _batch(file) <= done:
                        file.unlink(missing_ok=True)
                for file in sorted(merged.rglob("*.parquet")):
                    final = Path(self.path) / file.relative_to(merged)
                    make_folder(str(final.parent), durable=True)
                    os.replace(file, final)
                    sync(str(final.parent))
            shutil.rmtree(merged, ignore_errors=True)
        return done


def _batch(file: Path) -> int:
    found = _BATCH.match(file.name)
    return int(found[1]) if found else -1


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except FileNotFoundError:
        return -1
    except ValueError as error:
        raise CorruptStateError(f"'{path}' is damaged, so that the merged files are not known; restore it from a "
                                "backup, or take another checkpoint and folder") from error  # fmt: skip


def _write(path: Path, files: Iterable[Path], compression: str) -> None:
    """One file after the other into one; a row group at a time, so that no more is in memory."""
    from pyarrow import parquet

    groups: Iterator[parquet.ParquetFile] = map(parquet.ParquetFile, files)
    writer = None
    try:
        for source in groups:
            with source:
                writer = writer or parquet.ParquetWriter(path, source.schema_arrow, compression=compression)
                for number in range(source.num_row_groups):
                    table = source.read_row_group(number)
                    writer.write_table(table, max(table.num_rows, 1))
    finally:
        if writer is not None:
            writer.close()
