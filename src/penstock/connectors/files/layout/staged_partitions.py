"""The files of a partitioned sink: a part is a folder of files, each at its path below the sink."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.files.layout.partitions import PartitionKey, split
from penstock.connectors.files.staged_file import STAGE
from penstock.connectors.files.writers import ROW_GROUP_ROWS
from penstock.connectors.sinks.sink_port import Delivery, Part, Sweep
from penstock.errors import CorruptStateError, InputError, system_reason
from penstock.host.atomic_file import make_folder, sync, write_whole

_LIST = "files"  # of a part: the paths of all its files, also of those that were moved already


class StagedPartitions:
    """A part in files by partition; of about a million rows each, a file for every partition that they fall into."""

    def __init__(self, folder: str, part: Part, keys: Sequence[PartitionKey], compression: str) -> None:
        self._part, self._keys, self._compression = part, keys, compression
        self._path = Path(folder) / STAGE / part.name
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._files = 0
        self._names: list[str] = []
        try:
            make_folder(str(self._path), durable=part.durable)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, block: Block) -> None:
        self._waiting.append(block.to_arrow())
        self._rows += block.rows
        if self._rows >= ROW_GROUP_ROWS:
            self._write_waiting()

    def close(self) -> str:
        """Ends the part and gives its name."""
        if self._waiting:
            self._write_waiting()
        write_whole(
            "writing the list", str(self._path / _LIST), json.dumps(self._names).encode(), durable=self._part.durable
        )
        return self._part.name

    def _write_waiting(self) -> None:
        table = pa.Table.from_batches(self._waiting).unify_dictionaries()
        self._waiting, self._rows, self._files = [], 0, self._files + 1
        number = "" if self._files == 1 else f"-{self._files:04d}"
        for place, rows in split(table, self._keys):
            self._names.append(f"{place}/{self._part.label}{number}.parquet")
            self._write(self._path / self._names[-1], rows)

    def _write(self, path: Path, rows: pa.Table) -> None:
        from pyarrow import parquet

        try:
            make_folder(str(path.parent), durable=self._part.durable)
            parquet.write_table(rows, path, compression=self._compression, row_group_size=ROW_GROUP_ROWS)
            if self._part.durable:
                sync(str(path))
                sync(str(path.parent))
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self._path}: {system_reason(error)}")


def publish_partitions(path: str, target: Path, delivery: Delivery) -> tuple[Path, ...]:
    """Moves the files of a batch's parts below `target`, and gives them; lists of the parts stay until they are swept.

    A delivery that was cut off goes on with the files that are still staged.
    """
    delivery.fence()
    names = {name: _names(Path(path) / STAGE / name, delivery) for name in delivery.parts}
    finals = {target / own for part in names.values() for own in part}
    if delivery.may_replace:
        _remove_earlier(target, finals, delivery)
    for part, own in names.items():
        for name in own:
            _move(Path(path) / STAGE / part / name, target / name, delivery)
    return tuple(sorted(finals))


def _names(staged: Path, delivery: Delivery) -> list[str]:
    try:
        found: list[str] = json.loads((staged / _LIST).read_bytes())
    except (OSError, ValueError) as error:
        raise _gone(staged, delivery) from error
    return found


def _gone(staged: Path, delivery: Delivery) -> CorruptStateError:
    return CorruptStateError(
        f"the results of sink '{delivery.sink}' in '{staged}', which the manifest of micro-batch {delivery.batch} "
        "names, are gone: they cannot be delivered; take another checkpoint"
    )


def _remove_earlier(target: Path, finals: set[Path], delivery: Delivery) -> None:
    """Deletes files of a batch that ran again because its manifest was lost, and came out in other files."""
    for file in target.rglob(f"batch-{delivery.batch:012d}*.parquet"):
        if file not in finals and "-to-" not in file.name and STAGE not in file.relative_to(target).parts:
            file.unlink(missing_ok=True)


def _move(file: Path, final: Path, delivery: Delivery) -> None:
    try:
        make_folder(str(final.parent), durable=delivery.durable)
        os.replace(file, final)
        if delivery.durable:
            sync(str(final.parent))
    except FileNotFoundError as error:
        delivery.fence()
        if not final.exists():  # else an earlier attempt at this delivery has come as far as this
            raise _gone(file, delivery) from error
    except OSError as error:
        raise InputError(f"cannot write {final}: {system_reason(error)}") from error


def sweep_partitions(path: str, sweep: Sweep) -> None:
    """Deletes the folders of parts that nobody needs any more."""
    for staged in (Path(path) / STAGE).glob("batch-*@*"):
        if staged.is_dir() and sweep.is_stale(staged.name):
            shutil.rmtree(staged, ignore_errors=True)
