"""Files of a sink: written under a name of their own, and renamed when their batch counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.files.folder_owner import check_free
from penstock.connectors.files.folder_owner import claim as claim_for
from penstock.connectors.files.writers import ROW_GROUP_ROWS, sweep_drafts
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, Sweep
from penstock.errors import CorruptStateError, InputError, system_reason
from penstock.host.atomic_file import make_folder, sync

STAGE = ".penstock"


class StagedFile:
    """A part in a file, in groups of about a million rows; a task that runs again writes another file.

    `make_writer` gets the file's path and gives an object with `write_table` and `close`; it is called once.
    """

    def __init__(self, folder: str, part: Part, make_writer: Callable[[Path], Any]) -> None:
        self._part, self._path = part, Path(folder) / STAGE / part.name
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        try:
            make_folder(str(self._path.parent), durable=part.durable)
            self._writer = make_writer(self._path)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, block: Block) -> None:
        self._waiting.append(block.to_arrow())
        self._rows += block.rows
        if self._rows >= ROW_GROUP_ROWS:
            self._write_waiting()

    def write_table(self, table: pa.Table) -> None:
        try:
            self._writer.write_table(table, max(table.num_rows, 1))
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> str:
        """Ends the file and gives its name."""
        if self._waiting:
            self._write_waiting()
        try:
            self._writer.close()
            if self._part.durable:
                sync(str(self._path))
                sync(str(self._path.parent))
        except OSError as error:
            raise self._failed(error) from error
        return self._part.name

    def _write_waiting(self) -> None:
        table = pa.Table.from_batches(self._waiting).unify_dictionaries()
        self._waiting, self._rows = [], 0
        self.write_table(table)

    def _failed(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self._path}: {system_reason(error)}")


def claim_folder(path: str, claim: Claim) -> None:
    """Takes a sink's folder for a run alone; InputError where it has the files of another."""
    (check_free if claim.only_checks else claim_for)(f"the files of sink '{claim.sink}'", path, claim.run)


def publish_files(path: str, suffix: str, delivery: Delivery) -> tuple[Path, ...]:
    """Gives a batch's staged files their final names, and gives those; a batch that comes again replaces its files."""
    folder = Path(path)
    staged = {f"{name.partition('@')[0]}{suffix}": name for name in delivery.parts}
    delivery.fence()
    removed = _remove_earlier(folder, suffix, delivery, staged)
    for final, name in staged.items():
        publish_file(folder, name, folder / final, delivery)
    if delivery.durable and (staged or removed):
        sync(str(folder))
    return tuple(folder / final for final in staged)


def _remove_earlier(folder: Path, suffix: str, delivery: Delivery, staged: dict[str, str]) -> list[Path]:
    """Deletes files of a batch that ran again because its manifest was lost, and came out in fewer parts.

    Only where that can be: to look for them lists a folder that may have millions of files.
    """
    label = f"batch-{delivery.batch:012d}"
    if not delivery.may_replace or any(
        not name.startswith(label) for name in staged
    ):  # a finite evaluation's, which has one batch
        return []
    earlier = [folder / f"{label}{suffix}", *folder.glob(f"{label}-replica-*{suffix}")]
    found = [path for path in earlier if path.name not in staged and path.exists()]
    for path in found:
        path.unlink(missing_ok=True)
    return found


def publish_file(folder: Path, part: str, final: Path, delivery: Delivery) -> None:
    """Gives one staged file its final name; it may have it already, from an earlier attempt at the delivery."""
    draft = folder / STAGE / part
    try:
        os.replace(draft, final)
    except FileNotFoundError as error:
        delivery.fence()
        if not final.exists():
            raise CorruptStateError(
                f"the results of sink '{delivery.sink}' in '{draft}', which the manifest of micro-batch "
                f"{delivery.batch} names, are gone: they cannot be delivered; take another checkpoint"
            ) from error
    except OSError as error:
        raise InputError(f"cannot write {final}: {system_reason(error)}") from error


def sweep_staged(path: str, sweep: Sweep) -> None:
    """Deletes what was staged in a folder and nobody needs any more."""
    for staged in (Path(path) / STAGE).glob("batch-*@*"):
        if sweep.is_stale(staged.name):
            staged.unlink(missing_ok=True)
    if sweep.before_epoch:
        sweep_drafts(Path(path))
