"""The checkpoint directory: what is where, and the files that driver and tasks share.

spark/            Spark's own offsets and commits
application       a line of JSON with the version and a digest by operator, then what is fixed for its life (pickled)
plans/<batch>     Configuration and driver epoch of a batch, written before it runs and used again if it runs again
manifests/        what counts of each batch's state
logs/<operator>/  change logs of state
lease             the one driver at a time, and its epoch
"""

from __future__ import annotations

import json
import os
import pickle
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.app.graph import Graph
from penstock.app.operators import Sink, Source
from penstock.errors import InputError, did_you_mean
from penstock.host.atomic_file import write_whole
from penstock.plan.configuration import SLOTS, Configuration, configuration_from_json, configuration_to_json
from penstock.plan.placement.placement import Placement
from penstock.state.checkpoint.essence import differing, operator_digests
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.slots.slot_functions import SlotFunction

VERSION = 3
_VERSION = "penstock_checkpoint"
_HEADER_BYTES = 1 << 24
Dumps = Callable[[Any, str], bytes]  # pickles a value; the text says what it is, for the error where it cannot be


@dataclass(frozen=True, slots=True)
class Fixed:
    """What stays the same for the life of a checkpoint."""

    checkpoint_id: str
    graph: Graph
    slots: int
    started_at_s: float
    durable: bool = False
    slot_functions: Mapping[str, SlotFunction] = field(default_factory=dict)  # by operator, where not by hash


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How one batch runs; `previous` is the newest batch before it whose state counts.

    `target` is the Configuration that waits for slots to come to other hosts.  Replicas of `deferring` elements put off
    the tuples of slots whose state is not there; the splitter holds those of `held` slots, and sends on first what it
    held for `released` elements.  `own_cap_tuples`: the cap of micro-batches without control, where control has chosen
    the one in the Configuration.
    """

    batch: int
    epoch: int
    previous: int | None
    configuration: Configuration
    placements: Mapping[str, Placement] = field(default_factory=dict)
    target: Configuration | None = None
    deferring: tuple[str, ...] = ()
    held: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    learned: Mapping[str, Mapping[int, str]] = field(default_factory=dict)  # by element and replica, about threads
    own_cap_tuples: int | None = None


class Checkpoint:
    """Paths and shared files of one checkpoint."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory).absolute()  # workers may have another working directory

    @property
    def spark(self) -> str:
        return str(self.directory / "spark")

    @property
    def manifests(self) -> str:
        return str(self.directory / "manifests")

    def logs(self, operator: str) -> str:
        return str(self.directory / "logs" / operator)

    def fix(
        self,
        graph: Graph,
        *,
        slots: int | None,
        now_s: float,
        dumps: Dumps,
        durable: bool = False,
        slot_functions: Mapping[str, SlotFunction] | None = None,
        reset: Collection[str] = (),
        prepare: Callable[[Graph], Graph] = lambda graph: graph,
    ) -> Fixed:
        """Takes a new checkpoint for an application, or checks that an old one is of the same application.

        `prepare` gives the graph as it runs; it is called for a new checkpoint alone.  Operators to `reset` may have
        changed, and start empty.  A checkpoint that was `durable` once stays so.
        """
        path = self.directory / "application"
        _check_names(graph, reset)
        if path.is_file():
            fixed = self._check(path, graph, reset)
            _check_same("slots", slots, fixed.slots)
            _check_same("slot_functions", slot_functions, fixed.slot_functions)
            if durable and not fixed.durable:
                os.sync()  # what was written before
            fixed = replace(fixed, graph=_with_new_functions(fixed.graph, graph), durable=durable or fixed.durable)
            if reset:
                Manifests(self.manifests).forget(reset, durable=fixed.durable)
        else:
            functions = dict(slot_functions or {})
            fixed = Fixed(uuid.uuid4().hex[:16], prepare(graph), slots or SLOTS, now_s, durable, functions)
        header = json.dumps({_VERSION: VERSION, "name": graph.name, "operators": operator_digests(graph)})
        data = header.encode() + b"\n" + dumps(fixed, f"application '{graph.name}'")
        write_whole("writing the checkpoint's application", str(path), data, durable=fixed.durable)
        return fixed

    def stored(self, graph: Graph, reset: Collection[str] = ()) -> Fixed | None:
        """What was fixed for an application, None where nothing was; InputError where it is another one's."""
        path = self.directory / "application"
        return self._check(path, graph, reset) if path.is_file() else None

    def sweep(self) -> None:
        """Deletes files that drivers before this one did not finish."""
        for folder in (self.directory, self.directory / "plans", Path(self.manifests)):
            for draft in folder.glob("*.draft"):
                draft.unlink(missing_ok=True)

    def fixed(self) -> Fixed:
        return self._read(self.directory / "application")[1]

    def plan(self, batch: int) -> BatchPlan | None:
        """The plan of a batch, if one was written."""
        try:
            body = json.loads((self.directory / "plans" / f"{batch:012d}").read_bytes())
        except FileNotFoundError:
            return None
        configuration = configuration_from_json(body["configuration"])
        placements = {
            name: Placement(tuple(homes), tuple(hosts), configuration.element(name).route)
            for name, (homes, hosts) in body["placements"].items()
        }
        learned = {
            name: {int(replica): text for replica, text in own.items()} for name, own in body.get("learned", {}).items()
        }
        target = body.get("target")
        return BatchPlan(
            batch, body["epoch"], body["previous"], configuration, placements,
            None if target is None else configuration_from_json(target), tuple(body.get("deferring", ())),
            {name: tuple(slots) for name, slots in body.get("held", {}).items()}, tuple(body.get("released", ())),
            learned, body.get("own_cap_tuples"),
        )  # fmt: skip

    def newest_plan(self) -> BatchPlan | None:
        """The plan of the newest batch that was begun."""
        batches = [int(path.name) for path in (self.directory / "plans").glob("0*") if path.name.isdigit()]
        return self.plan(max(batches)) if batches else None

    def newest_configuration(self) -> Configuration | None:
        """What a start goes on with: that of the newest batch that was begun, with the cap it has without control."""
        plan = self.newest_plan()
        if plan is None:
            return None
        wanted = plan.target or plan.configuration
        return replace(wanted, micro_batch_tuples=plan.own_cap_tuples or wanted.micro_batch_tuples)

    def write_plan(self, plan: BatchPlan, *, durable: bool = False) -> None:
        body = {
            "epoch": plan.epoch,
            "previous": plan.previous,
            "configuration": configuration_to_json(plan.configuration),
            "placements": {name: [own.homes, own.hosts] for name, own in plan.placements.items()},
            "target": None if plan.target is None else configuration_to_json(plan.target),
            "deferring": plan.deferring,
            "held": plan.held,
            "released": plan.released,
            "learned": plan.learned,
            "own_cap_tuples": plan.own_cap_tuples,
        }
        path = str(self.directory / "plans" / f"{plan.batch:012d}")
        write_whole("writing the plan", path, json.dumps(body).encode(), durable=durable)

    def forget_plans(self, before: int) -> None:
        """Deletes the plans of batches that cannot run again."""
        for path in (self.directory / "plans").glob("0*"):
            if path.name.isdigit() and int(path.name) < before:
                path.unlink(missing_ok=True)

    def _check(self, path: Path, graph: Graph, reset: Collection[str] = ()) -> Fixed:
        header, fixed = self._read(path)
        changed = differing(header["operators"], operator_digests(graph))
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
        return fixed

    def _read(self, path: Path) -> tuple[dict[str, Any], Fixed]:
        """The header and what is fixed; the version is checked before anything is unpickled."""
        with path.open("rb") as file:
            header = _header_of(file.readline(_HEADER_BYTES))
            if header is None:
                raise InputError(f"the checkpoint '{self.directory}' is older than version {VERSION}, the oldest that "
                                 "can be read; start with a new checkpoint directory")  # fmt: skip
            if header[_VERSION] != VERSION:
                raise InputError(f"the checkpoint '{self.directory}' has version {header[_VERSION]}, and this Penstock "
                                 f"reads version {VERSION}; upgrade it, or take another checkpoint")  # fmt: skip
            try:
                _ = header["name"], header["operators"].items()
                fixed = pickle.load(file)
            except Exception as error:
                raise InputError(
                    f"the checkpoint '{self.directory}' cannot be read: {error}; take another one"
                ) from error
        assert isinstance(fixed, Fixed)
        return header, fixed


def _header_of(line: bytes) -> dict[str, Any] | None:
    """The first line of an application's file, None where it is not such a line."""
    try:
        header = json.loads(line)
    except ValueError:
        return None
    return header if isinstance(header, dict) and isinstance(header.get(_VERSION), int) else None


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
    operators = tuple(
        old if isinstance(old, Source | Sink) else new
        for old, new in zip(stored.operators, given.operators, strict=True)
    )
    return replace(given, operators=operators)
