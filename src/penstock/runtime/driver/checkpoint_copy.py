"""Copies of checkpoints that live next to the original: with an id and sinks of their own, at a batch that is done."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.arguments import PATH, check_arguments, checked_call, dict_of, or_none
from penstock.connectors.port import new_run_id
from penstock.errors import CorruptStateError, InputError, StateError, StateFileError, did_you_mean
from penstock.host.atomic_file import sync
from penstock.host.paths.file_names import file_name
from penstock.host.paths.local_path import local_path
from penstock.runtime.driver.recovery import SparkLog
from penstock.state.checkpoint.checkpoint import VERSION_KEY, VERSIONS, Checkpoint
from penstock.state.checkpoint.entries import token_of
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.checkpoint.place import APPLICATION, header_line, header_of, is_whole

_TRIES = 10
_SINKS = dict_of("a dict of folders by sink", str, Path)


@dataclass(frozen=True, slots=True)
class CheckpointCopy:
    """What a copy is: its run id, the batch after which it goes on (None: before the first), its sinks' folders."""

    directory: str
    run_id: str
    batch: int | None
    sinks: Mapping[str, str]


@checked_call("ps.copy_checkpoint")
def copy_checkpoint(
    source: str | Path, target: str | Path, *, sinks: Mapping[str, str | Path] | None = None
) -> CheckpointCopy:
    """Copies a checkpoint, running or stopped, to another directory; the application can go on from the copy, too.

    The copy begins after the newest micro-batch that is done.  It has its own run id, and its own folders for sinks
    that write files: those in `sinks`, by name, else `TARGET-sinks/NAME`.  It writes there whatever path the program
    gives.  Functions of sinks recognise the copy by `batch_id.run_id`.

    >>> copied = copy_checkpoint("checkpoint", "staging", sinks={"out": "staging-out"})  # doctest: +SKIP
    >>> copied.batch, copied.sinks  # doctest: +SKIP
    (41, {'out': 'staging-out'})
    """
    check_arguments("ps.copy_checkpoint", source=(source, PATH), target=(target, PATH), sinks=(sinks, or_none(_SINKS)))
    original, directory = Checkpoint(source), Path(local_path(target, "the copy")).absolute()
    header = _checked_header(original)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"the copy goes to a new directory; got '{directory}', which is there; take another one")
    folders = _folders(header, directory, sinks or {})
    copied: CheckpointCopy | None = None
    for _ in range(_TRIES):
        draft = directory.with_name(f".{directory.name}.{uuid.uuid4().hex[:8]}")
        try:
            copied = _copied(original, draft, directory, folders)
        except (FileNotFoundError, StateFileError, CorruptStateError):  # deleted by its driver meanwhile, or torn
            continue
        finally:
            if copied is None:
                shutil.rmtree(draft, ignore_errors=True)
        return copied
    raise StateError(f"the checkpoint '{original.directory}' cannot be copied: files of it are torn, or vanish faster "
                     "than they are copied; stop its driver, start it once if it was not running, and copy it then"
                     )  # fmt: skip


def _checked_header(original: Checkpoint) -> dict[str, Any]:
    header = header_of(original.directory / APPLICATION)
    if header is None:
        raise InputError(f"'{original.directory}' has no checkpoint to copy; a checkpoint has a file '{APPLICATION}'")
    if header.get(VERSION_KEY) not in VERSIONS or not {"id", "sinks"} <= header.keys():
        raise InputError(f"the checkpoint '{original.directory}' is of another version, which does not say where its "
                         "sinks write; start it once with this one, and copy it then")  # fmt: skip
    if not is_whole(header):
        raise InputError(f"the file '{original.directory / APPLICATION}' is torn: its checksum differs; restore it "
                         "from a backup, and copy it then")  # fmt: skip
    return header


def _folders(header: Mapping[str, Any], directory: Path, given: Mapping[str, str | Path]) -> dict[str, str]:
    """The folder of each sink that writes files; none is the original's."""
    before: dict[str, str] = header["sinks"]
    for name in given:
        if name not in before:
            hint = did_you_mean(name, before)
            known = f"it has: {', '.join(before)}" if before else "it has none"
            raise InputError(f"the checkpoint has no sink '{name}' that writes files; {known}"
                             + (f"; {hint}" if hint else ""))  # fmt: skip
    defaults = {name: f"{directory}-sinks/{file_name(name)}" for name in before}
    chosen = {name: local_path(path, f"the folder of sink '{name}'") for name, path in given.items()}
    folders = {name: str(Path(path).absolute()) for name, path in (defaults | chosen).items()}
    taken = {os.path.realpath(path): name for name, path in before.items()}
    for name, path in folders.items():
        if os.path.realpath(path) in taken:
            raise InputError(f"sink '{name}' of the copy would write to '{path}', where the original's sink "
                             f"'{taken[os.path.realpath(path)]}' writes; give it another folder")  # fmt: skip
    return folders


def _copied(original: Checkpoint, draft: Path, directory: Path, folders: dict[str, str]) -> CheckpointCopy:
    """One try: all of it in a draft that gets its name at the end."""
    application = (original.directory / APPLICATION).read_bytes()
    batch = _newest_done(original)
    draft.mkdir(mode=0o700, parents=True)
    copy = Checkpoint(draft)
    if batch is not None:
        _copy_state(original, copy, batch)
        _copy_spark(Path(original.spark), Path(copy.spark), batch)
    for name in ("tables", "files"):
        if (original.directory / name).is_dir():
            shutil.copytree(original.directory / name, draft / name, ignore=shutil.ignore_patterns("*.draft"))
    if (original.directory / "clock").is_file():
        shutil.copyfile(original.directory / "clock", draft / "clock")
    if (original.directory / APPLICATION).read_bytes() != application:
        raise FileNotFoundError("a driver has started meanwhile")
    run_id = new_run_id()
    line, _, body = application.partition(b"\n")
    header = json.loads(line)
    header |= {"id": run_id, "directory": os.path.realpath(directory), "sinks": folders, "copy_of": header["id"]}
    (draft / APPLICATION).write_bytes(header_line(header) + body)
    (draft / "id").write_text(run_id + "\n")
    os.sync()
    try:
        draft.rename(directory)
    except OSError as error:
        raise InputError(f"the copy cannot be put at '{directory}': {error.strerror or error}") from error
    sync(str(directory.parent))
    return CheckpointCopy(str(directory), run_id, batch, folders)


def _newest_done(original: Checkpoint) -> int | None:
    """The newest batch that counts and that Spark has noted as done; None before the first."""
    commits = SparkLog(original, "commits")
    done = {batch for batch in commits.batches() if commits.is_whole(batch)}
    batches = Manifests(original.manifests).batches()
    if batches and not done & set(batches) and batches != [0]:
        raise StateError(f"the checkpoint '{original.directory}' cannot be copied: no micro-batch whose state is "
                            "there is noted as done; start it once, and copy it then")  # fmt: skip
    return max(done & set(batches), default=None)


def _copy_state(original: Checkpoint, copy: Checkpoint, batch: int) -> None:
    """Logs, the manifest and the plan of a batch; the manifest is a full one, so that it needs no other."""
    before = Manifests(original.manifests)
    epoch, ledgers = before.read(batch).epoch, before.ledgers(batch)
    for name, ledger in ledgers.items():
        logs, own = Logs(original.logs(name)), Logs(copy.logs(name))
        Path(own.directory).mkdir(parents=True, exist_ok=True)
        for token in {token_of(entry) for entry in ledger.entries}:
            shutil.copyfile(logs.path(token), own.path(token))
    Manifests(copy.manifests).publish(batch, epoch, ledgers, {}, previous=None, parts={})
    plan = original.plan(batch)
    if plan is None:
        raise FileNotFoundError(f"the plan of batch {batch}")
    copy.write_plan(plan)


def _copy_spark(original: Path, copy: Path, batch: int) -> None:
    """Spark's log up to a batch, under another id: one session runs a query of an id once."""
    for name in ("offsets", "commits"):
        (copy / name).mkdir(parents=True)
        for number in (batch - 1, batch):
            for file in (str(number), f".{number}.crc"):
                if (original / name / file).is_file():
                    shutil.copyfile(original / name / file, copy / name / file)
    if not (copy / "offsets" / str(batch)).is_file():
        raise FileNotFoundError(f"the offsets of batch {batch}")
    if (original / "sources").is_dir():
        shutil.copytree(original / "sources", copy / "sources")
    (copy / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
