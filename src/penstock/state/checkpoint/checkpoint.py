"""The checkpoint directory: what is where, and the files that driver and tasks share.

spark/            Spark's own offsets and commits
id                of the checkpoint, from before it has an application
application       a line of JSON with the version, digests, paths; then what is fixed for its life (pickled)
plans/<batch>     Configuration and driver epoch of a batch, written before it runs and used again if it runs again
manifests/        what counts of each batch's state
logs/<operator>/  change logs of state
results/          what tasks have for the driver beyond what Spark may bring there, until the batch is delivered
staged/           parts of sinks that have no better place, until their batch is done
ended             the epoch of the last driver that ended by itself
lease             the one driver at a time, and its epoch
clock             when the stream opened, by which traces go; older checkpoints have it in `application` alone
warm-up/          the checkpoint of a start's warm-up, while it runs
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from penstock.app.absolute_paths import paths_by_operator, with_absolute_paths
from penstock.app.graph import Graph
from penstock.app.operators import Operator, Sink, Source
from penstock.connectors.files.paths import with_paths
from penstock.connectors.port import new_run_id
from penstock.connectors.source_kinds import recorded_path, recorded_source
from penstock.errors import CorruptStateError, InputError, did_you_mean
from penstock.host.atomic_file import DRAFT, Fence, make_folder, no_fence, write_whole
from penstock.host.paths.file_names import file_name
from penstock.host.paths.local_path import local_path
from penstock.plan.configuration import SLOTS, Configuration
from penstock.state.checkpoint.batch_plan import BatchPlan, plan_from_bytes, plan_to_bytes
from penstock.state.checkpoint.essence import differing, operator_digests
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.checkpoint.place import (
    APPLICATION,
    HEADER_BYTES,
    check_place,
    header_line,
    header_of,
    is_whole,
)
from penstock.state.slots.slot_functions import SlotFunction

VERSION, OLDEST_VERSION = 4, 3  # 4: long windows have sections of their own in logs
VERSIONS = range(OLDEST_VERSION, VERSION + 1)  # that are read
VERSION_KEY = "penstock_checkpoint"
WARM_UP = "warm-up"
Dumps = Callable[[Any, str], bytes]  # pickles a value; the text says what it is, for the error where it cannot be


@dataclass(frozen=True, slots=True)
class Fixed:
    """What stays the same for the life of a checkpoint; `started_at_s` is when its stream opened, once it has."""

    checkpoint_id: str
    graph: Graph
    slots: int
    started_at_s: float
    durable: bool = False
    slot_functions: Mapping[str, SlotFunction] = field(default_factory=dict)  # by operator, where not by hash
    state_directory: str | None = None  # on each host, of this start


class Checkpoint:
    """Paths and shared files of one checkpoint."""

    def __init__(self, directory: str | Path) -> None:
        if not str(directory):
            raise InputError("a checkpoint is a directory; got ''; name one")
        # workers may have another working directory
        self.directory = Path(local_path(directory, "the checkpoint")).absolute()

    @property
    def spark(self) -> str:
        return str(self.directory / "spark")

    @property
    def manifests(self) -> str:
        return str(self.directory / "manifests")

    @property
    def results(self) -> Path:
        return self.directory / "results"

    @property
    def staged(self) -> Path:
        return self.directory / "staged"

    def logs(self, operator: str) -> str:
        """The folder of an operator's logs; older checkpoints have it under the plain name, if that is below `logs`."""
        logs, name = str(self.directory / "logs"), file_name(operator)
        as_it_is = os.path.normpath(os.path.join(logs, operator))
        was_below = name != operator and as_it_is.startswith(logs + os.sep) and os.path.isdir(as_it_is)
        return as_it_is if was_below else os.path.join(logs, name)

    def fix(
        self,
        graph: Graph,
        *,
        slots: int | None,
        now_s: float,
        dumps: Dumps,
        durable: bool = False,
        slot_functions: Mapping[str, SlotFunction] | None = None,
        state_directory: str | None = None,
        reset: Collection[str] = (),
        prepare: Callable[[Graph, str], Graph] = lambda graph, checkpoint_id: graph,
        fence: Fence = no_fence,
    ) -> Fixed:
        """Takes a new checkpoint for an application, or checks that an old one is of the same application.

        `prepare` gets the graph with absolute paths and the checkpoint's id, and gives the graph as it runs; it is
        called for a new checkpoint alone.  Operators to `reset` may have
        changed, and start empty.  A checkpoint that was `durable` once stays so.
        """
        path = self.directory / APPLICATION
        _check_names(graph, reset)
        make_folder(self.spark)  # Spark would make one that others can read
        before: dict[str, Any] = {}
        if path.is_file():
            fixed = self._check(path, graph, reset)
            before = header_of(path) or {}
            check_place(self.directory, before.get("directory"), fixed.checkpoint_id)
            _check_same("slots", slots, fixed.slots)
            _check_same("slot_functions", slot_functions, fixed.slot_functions)
            if durable and not fixed.durable:
                os.sync()  # what was written before
            stored, durable = with_absolute_paths(_with_new_functions(fixed.graph, graph)), durable or fixed.durable
            fixed = replace(fixed, graph=stored, durable=durable, state_directory=state_directory)
            if reset:
                Manifests(self.manifests).forget(reset, durable=fixed.durable)
        else:
            functions = dict(slot_functions or {})
            checkpoint_id, located = self._new_id(durable), with_absolute_paths(graph)
            fixed = Fixed(
                checkpoint_id, prepare(located, checkpoint_id), slots or SLOTS, now_s, durable, functions,
                state_directory,
            )  # fmt: skip
        header = {
            VERSION_KEY: VERSION, "id": fixed.checkpoint_id, "name": graph.name, "operators": operator_digests(graph),
            "paths": paths_by_operator(with_absolute_paths(graph)), "directory": os.path.realpath(self.directory),
            "sinks": _sink_folders(fixed.graph), "copy_of": before.get("copy_of"),
        }  # fmt: skip
        body = dumps(fixed, f"application '{graph.name}'")
        data = header_line(header | {"checksum": zlib.crc32(body)}) + body
        write_whole("writing the checkpoint's application", str(path), data, durable=fixed.durable, fence=fence)
        return fixed

    def stored(self, graph: Graph, reset: Collection[str] = ()) -> Fixed | None:
        """What was fixed for an application, None where nothing was; InputError where it is another one's."""
        path = self.directory / APPLICATION
        return self._check(path, graph, reset) if path.is_file() else None

    def sweep(self) -> None:
        """Deletes files that drivers before this one did not finish; one that is still at work cannot publish them."""
        for folder in (self.directory, self.directory / "plans", Path(self.manifests)):
            for draft in folder.glob(f"*{DRAFT}"):
                draft.unlink(missing_ok=True)
        for path in self.results.glob("*"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.directory / WARM_UP, ignore_errors=True)

    def open_clock(self, fixed: Fixed, now_s: float, fence: Fence = no_fence) -> Fixed:
        """Sets the clock of traces when the stream opens for the first time; later, an outage counts."""
        if self._clock_s() is not None or self.plans() or any(Path(self.spark, "offsets").glob("[0-9]*")):
            return fixed
        data = json.dumps({"started_at_s": now_s}).encode()
        path = str(self.directory / "clock")
        write_whole("writing the checkpoint's clock", path, data, durable=fixed.durable, fence=fence)
        return replace(fixed, started_at_s=now_s)

    def _clock_s(self) -> float | None:
        """When the stream opened; None where that was not noted, or is torn."""
        try:
            return float(json.loads((self.directory / "clock").read_bytes())["started_at_s"])
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def highest_epoch(self) -> int:
        """The highest epoch of a driver that has left anything, for a lease that cannot be read; 0 where none has."""
        logs = (path.name.split("-") for path in (self.directory / "logs").rglob("*.log"))
        epochs = [int(parts[1]) for parts in logs if len(parts) == 3 and parts[1].isdigit()]
        newest = self.newest_plan()
        return max([*epochs, 0 if newest is None else newest.epoch])

    def end(self, epoch: int) -> None:
        """Notes that a driver has ended, so that workers of its session let go what they keep for it."""
        write_whole("writing the end of a run", str(self.directory / "ended"), str(epoch).encode())

    def has_ended(self, epoch: int) -> bool:
        """Whether a driver has ended; what it left may still be there, or not."""
        try:
            return int((self.directory / "ended").read_bytes() or 0) >= epoch
        except FileNotFoundError:
            return not self.directory.is_dir()
        except ValueError:  # torn: another run's end is written anew
            return False

    def fixed(self) -> Fixed:
        return self._read(self.directory / APPLICATION)[1]

    def plan(self, batch: int) -> BatchPlan | None:
        """The plan of a batch, if one was written; CorruptStateError where it is torn."""
        path = self.directory / "plans" / f"{batch:012d}"
        try:
            return plan_from_bytes(batch, path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CorruptStateError(f"the plan '{path}' is torn: it is not what was written") from error

    def plans(self) -> list[int]:
        """All batches that have a plan, ascending."""
        return sorted(int(path.name) for path in (self.directory / "plans").glob("0*") if path.name.isdigit())

    def newest_plan(self) -> BatchPlan | None:
        """The plan of the newest batch that was begun, of those that are whole."""
        for batch in reversed(self.plans()):
            with contextlib.suppress(CorruptStateError):
                return self.plan(batch)
        return None

    def newest_batch(self) -> int | None:
        """The newest batch that was begun."""
        return max(self.plans(), default=None)

    def newest_configuration(self) -> Configuration | None:
        """What a start goes on with: that of the newest batch that was begun, with the cap it has without control."""
        plan = self.newest_plan()
        if plan is None:
            return None
        wanted = plan.target or plan.configuration
        return replace(wanted, micro_batch_tuples=plan.own_cap_tuples or wanted.micro_batch_tuples)

    def write_plan(self, plan: BatchPlan, *, durable: bool = False, fence: Fence = no_fence) -> None:
        path = str(self.directory / "plans" / f"{plan.batch:012d}")
        write_whole("writing the plan", path, plan_to_bytes(plan), durable=durable, fence=fence)

    def forget_plans(self, before: int) -> None:
        """Deletes the plans of batches that cannot run again."""
        for batch in self.plans():
            if batch < before:
                self.forget_plan(batch)

    def forget_plan(self, batch: int) -> None:
        (self.directory / "plans" / f"{batch:012d}").unlink(missing_ok=True)

    def _check(self, path: Path, graph: Graph, reset: Collection[str] = ()) -> Fixed:
        header, fixed = self._read(path)
        now = operator_digests(
            graph, has_paths="paths" not in header, of_attributes=header[VERSION_KEY] == OLDEST_VERSION
        )
        changed = differing(header["operators"], now)
        if header["name"] != graph.name or set(header["operators"]) != {o.name for o in graph.operators}:
            raise InputError(f"the checkpoint '{self.directory}' belongs to another application or version of it "
                             f"('{header['name']}'); take another one")  # fmt: skip
        refused = [name for name in changed if name not in reset]
        if refused:
            names = ", ".join(f"'{name}'" for name in refused)
            hint = "" if set(refused) - set(_with_state(graph)) else (
                f"start changed operators empty with --reset-state {refused[0]} (reset_state= in Python), or "
            )  # fmt: skip
            raise InputError(f"the checkpoint '{self.directory}' belongs to another version of application "
                             f"'{graph.name}': {names} changed; {hint}take another checkpoint")  # fmt: skip
        paths = header.get("paths") or paths_by_operator(fixed.graph)
        is_copy = header.get("copy_of") is not None  # its sinks have folders of their own, whatever the program says
        self._check_paths(
            {n: own for n, own in paths.items() if not is_copy or n not in header.get("sinks", {})}, graph
        )
        return fixed

    def _check_paths(self, stored: Mapping[str, Sequence[str]], graph: Graph) -> None:
        """InputError for a source or sink whose files are not where they were; relative ones were of any directory."""
        for name, paths in paths_by_operator(with_absolute_paths(graph)).items():
            for before, now in zip(stored.get(name, ()), paths, strict=False):
                if os.path.isabs(before) and before != now and os.path.realpath(before) != os.path.realpath(now):
                    raise InputError(
                        f"operator '{name}' of application '{graph.name}' has the path '{now}', and in the checkpoint "
                        f"'{self.directory}' it has '{before}'; start in the directory of before, give that path, or "
                        "take another checkpoint"
                    )

    def _new_id(self, durable: bool) -> str:
        """The id of a checkpoint that has no application yet; a start that failed has left it for the next."""
        path = self.directory / "id"
        known = path.read_text() if path.is_file() else ""
        if not re.fullmatch("[0-9a-f]{16}\n", known):
            known = new_run_id() + "\n"
            write_whole("writing the checkpoint's id", str(path), known.encode(), durable=durable)
        return known.strip()

    def _read(self, path: Path) -> tuple[dict[str, Any], Fixed]:
        """The header and what is fixed; the version is checked before anything is unpickled."""
        with path.open("rb") as file:
            file.readline(HEADER_BYTES)
            header = header_of(path)
            if header is None or not isinstance(header.get(VERSION_KEY), int):
                raise InputError(
                    f"the checkpoint '{self.directory}' is older than version {OLDEST_VERSION}, the oldest that can be "
                    "read, or its file 'application' is torn; restore that file from a backup, or start with a new "
                    "checkpoint directory"
                )
            if header[VERSION_KEY] not in VERSIONS:
                found = header[VERSION_KEY]
                raise InputError(f"the checkpoint '{self.directory}' has version {found}, and this Penstock reads "
                                 f"versions {OLDEST_VERSION} to {VERSION}; upgrade it, or take another checkpoint"
                                 )  # fmt: skip
            try:
                _ = header["name"], header["operators"].items()
                body = file.read()
                if header.get("checksum", zlib.crc32(body)) != zlib.crc32(body) or not is_whole(header):
                    raise ValueError("it is not what was written, its checksum differs")
                fixed = pickle.loads(body)
            except Exception as error:
                raise InputError(
                    f"the checkpoint '{self.directory}' cannot be read: {error}; take another one"
                ) from error
        assert isinstance(fixed, Fixed)
        return header, self._located(_completed(fixed), header)

    def _located(self, fixed: Fixed, header: Mapping[str, Any]) -> Fixed:
        """What was fixed, as of this directory: a copy has an id and sinks of its own, and tables move along."""
        folders = header.get("sinks", {})
        operators = tuple(self._own(operator, folders.get(operator.name)) for operator in fixed.graph.operators)
        checkpoint_id, clock_s = header.get("id", fixed.checkpoint_id), self._clock_s()
        graph = replace(fixed.graph, operators=operators)
        started_at_s = fixed.started_at_s if clock_s is None else clock_s
        return replace(fixed, checkpoint_id=checkpoint_id, graph=graph, started_at_s=started_at_s)

    def _own(self, operator: Operator, folder: str | None) -> Operator:
        if isinstance(operator, Source) and (path := recorded_path(operator.connector)) is not None:
            moved = self.directory / "tables" / Path(path).name
            return replace(operator, connector=recorded_source(str(moved))) if moved.is_file() else operator
        if isinstance(operator, Sink) and folder is not None:
            return replace(operator, connector=with_paths(operator.connector, lambda path: folder))
        return operator


def _completed(stored: Fixed) -> Fixed:
    """What an earlier version stored, with the defaults of fields that it did not have.

    Its state of windows by punctuation is in one part, and stays so.
    """
    completed = Fixed(**{own.name: getattr(stored, own.name) for own in fields(Fixed) if hasattr(stored, own.name)})
    if hasattr(stored.graph, "punctuates_by_key"):
        return completed
    graph = Graph(stored.graph.name, stored.graph.operators, stored.graph.requests, punctuates_by_key=False)
    return replace(completed, graph=graph)


def _sink_folders(graph: Graph) -> dict[str, str]:
    """The folders of the sinks that write files."""
    found = paths_by_operator(graph)
    return {sink.name: found[sink.name][0] for sink in graph.sinks if sink.name in found}


def _with_state(graph: Graph) -> list[str]:
    """The operators that may be reset."""
    return [operator.name for operator in graph.operators if not isinstance(operator, Source | Sink)]


def _check_names(graph: Graph, reset: Collection[str]) -> None:
    known = _with_state(graph)
    for name in reset:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"application '{graph.name}' has no operator '{name}' whose state could be reset; it has: "
                             f"{', '.join(known)}" + (f"; {hint}" if hint else ""))  # fmt: skip


def _check_same(name: str, given: object, fixed: object) -> None:
    if given is not None and given != fixed:
        raise InputError(f"{name} stay as they are for the life of a checkpoint: {fixed}; got {given}; leave it out, "
                         "or take another checkpoint")  # fmt: skip


def _with_new_functions(stored: Graph, given: Graph) -> Graph:
    """The graph as it runs with the functions of a new driver; sources and sinks stay what they were."""
    pairs = zip(stored.operators, given.operators, strict=True)
    operators = tuple(_renewed(old, new) for old, new in pairs)
    return replace(given, operators=operators, punctuates_by_key=stored.punctuates_by_key)


def _renewed(old: Operator, new: Operator) -> Operator:
    if isinstance(old, Source) and isinstance(new, Source):
        return replace(old, idle_timeout_s=new.idle_timeout_s)
    return old if isinstance(old, Sink) else new
