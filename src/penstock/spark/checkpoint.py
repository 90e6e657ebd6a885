"""The checkpoint directory: what is where, and the files that driver and tasks share.

spark/            Spark's own offsets and commits
application       the application, the elements, and what is fixed for its life (pickled)
plans/<batch>     Configuration and driver epoch of a batch, written before it runs and used again if it runs again
manifests/        what counts of each batch's state
logs/<operator>/  change logs of state
lease             the one driver at a time, and its epoch
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.app.graph import Graph
from penstock.app.serialise import graph_to_json
from penstock.control.configuration import Configuration, configuration_from_json, configuration_to_json
from penstock.element.state.slot_functions import SlotFunction
from penstock.errors import InputError
from penstock.spark.pickling import dumps_for_workers

VERSION = 2


@dataclass(frozen=True, slots=True)
class Fixed:
    """What stays the same for the life of a checkpoint."""

    checkpoint_id: str
    graph: Graph
    slots: int
    started_at_s: float
    durable: bool = False
    on_error: str = "dead_letter"
    slot_functions: Mapping[str, SlotFunction] = field(default_factory=dict)  # by operator, where not by hash


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How one batch runs; `previous` is the newest batch before it whose state counts."""

    batch: int
    epoch: int
    previous: int | None
    configuration: Configuration


class Checkpoint:
    """Paths and shared files of one checkpoint."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

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
        slots: int,
        now_s: float,
        durable: bool = False,
        on_error: str = "dead_letter",
        slot_functions: Mapping[str, SlotFunction] | None = None,
    ) -> Fixed:
        """Takes a new checkpoint for an application, or checks that an old one is of the same application."""
        path = self.directory / "application"
        if path.is_file():
            return self._check(path, graph)
        fixed = Fixed(uuid.uuid4().hex[:16], graph, slots, now_s, durable, on_error, dict(slot_functions or {}))
        _write(path, dumps_for_workers((VERSION, _digest(graph), fixed), f"application '{graph.name}'"))
        return fixed

    def fixed(self) -> Fixed:
        with open(self.directory / "application", "rb") as file:
            _, _, fixed = pickle.load(file)
        assert isinstance(fixed, Fixed)
        return fixed

    def plan(self, batch: int) -> BatchPlan | None:
        """The plan of a batch, if one was written."""
        try:
            body = json.loads((self.directory / "plans" / f"{batch:012d}").read_bytes())
        except FileNotFoundError:
            return None
        return BatchPlan(batch, body["epoch"], body["previous"], configuration_from_json(body["configuration"]))

    def write_plan(self, plan: BatchPlan) -> None:
        body = {
            "epoch": plan.epoch,
            "previous": plan.previous,
            "configuration": configuration_to_json(plan.configuration),
        }
        _write(self.directory / "plans" / f"{plan.batch:012d}", json.dumps(body).encode())

    def forget_plans(self, before: int) -> None:
        """Deletes the plans of batches that cannot run again."""
        for path in (self.directory / "plans").glob("0*"):
            if path.name.isdigit() and int(path.name) < before:
                path.unlink(missing_ok=True)

    def _check(self, path: Path, graph: Graph) -> Fixed:
        try:
            version, digest, fixed = pickle.loads(path.read_bytes())
        except Exception as error:
            raise InputError(f"the checkpoint '{self.directory}' cannot be read: {error}; take another one") from error
        if version != VERSION:
            raise InputError(
                f"the checkpoint '{self.directory}' is of version {version}, not {VERSION}; take another one"
            )
        if digest != _digest(graph):
            raise InputError(f"the checkpoint '{self.directory}' belongs to another application or version of it "
                             f"('{fixed.graph.name}'); take another one")  # fmt: skip
        assert isinstance(fixed, Fixed)
        return fixed


def _digest(graph: Graph) -> str:
    try:
        text = graph_to_json(graph)
    except InputError:  # functions that have no name: their code is not compared
        text = str(graph)
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_bytes(data)
    draft.replace(path)
