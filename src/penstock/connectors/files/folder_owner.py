"""Folders that files are written to, each of one run alone: files of two runs would overwrite or join each other."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError, file_error
from penstock.host.atomic_file import sync, write_whole

_OWNER = "_penstock"  # names with this beginning are no data for Spark and Arrow
_BATCH = re.compile(r"batch-(\d+)(?:-replica-\d+)?\.[a-z]+")
_BEFORE_ALL = "before-all.parquet"
_OF_BEFORE = re.compile("[0-9a-f]{16}")  # what an owner's file had in versions of before: the id alone


@dataclass(frozen=True, slots=True)
class Run:
    """Who writes: the checkpoint's id and directory, and the newest batch it began (-1: none); None where it is new."""

    checkpoint_id: str
    checkpoint: str
    newest_batch: int | None = None


def check_free(whose: str, folder: str | Path, run: Run) -> None:
    """InputError where a folder has the files of another run; `whose` begins the sentence."""
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{whose} would go to the folder '{folder}', which is a file; take another folder")
    owner = _owner_of(Path(folder))
    if owner is not None and owner.checkpoint_id == run.checkpoint_id:
        return
    batches = list(_batches_in(Path(folder)))
    if owner is None:
        # A run of a version that did not claim its folders may have written here up to its newest batch.
        if all(run.newest_batch is not None and batch <= run.newest_batch for batch in batches):
            return
        raise InputError(f"{whose} would go to the folder '{folder}', which has the files of another run; empty it or "
                         "take another folder")  # fmt: skip
    goes_on = not owner.checkpoint or (Path(owner.checkpoint) / "application").is_file()
    if not batches and not goes_on:
        return  # that start failed, or left nothing behind
    which = f"checkpoint '{owner.checkpoint}'" if owner.checkpoint else "that run's checkpoint"
    hint = f"empty it, take another folder, or go on with {which}" if goes_on else "empty it or take another folder"
    raise InputError(f"{whose} would go to the folder '{folder}', which has the files of another run; {hint}")


def claim(whose: str, folder: str | Path, run: Run) -> None:
    """Takes a folder for a run; InputError where it is another's."""
    check_free(whose, folder, run)
    path, own = Path(folder) / _OWNER, Run(run.checkpoint_id, run.checkpoint)
    if _owner_of(path.parent) == own:
        return
    data = f"{own.checkpoint_id}\n{own.checkpoint}\n".encode(errors="surrogateescape")
    draft = path.with_name(f"{_OWNER}.{run.checkpoint_id}")
    if not _written_new(path, draft, data):
        check_free(whose, folder, run)  # another start may have been faster
        write_whole("claiming the folder by", str(path), data, durable=True)


def _written_new(path: Path, draft: Path, data: bytes) -> bool:
    """Writes a file that is not there; False where it has come to be meanwhile, or links cannot be made here."""
    write_whole("claiming the folder by", str(draft), data, durable=True)
    try:
        os.link(draft, path)
        sync(str(path.parent))
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return True


def _owner_of(folder: Path) -> Run | None:
    """Whose a folder is; nobody's where the file is not whole, as when the disk was full."""
    try:
        text = (folder / _OWNER).read_bytes().decode(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_error("reading the owner of the folder", str(folder / _OWNER), error) from error
    name, line_ends, rest = text.partition("\n")
    if line_ends and rest.endswith("\n"):
        return Run(name, rest.removesuffix("\n"))
    return Run(name, "") if _OF_BEFORE.fullmatch(text) else None


def _batches_in(folder: Path) -> Iterator[int]:
    """The batches that have files there; -1 for what was written before the first."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if name == _BEFORE_ALL:
            yield -1
        elif found := _BATCH.fullmatch(name):
            yield int(found[1])
