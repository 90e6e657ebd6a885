"""How one batch runs, and the file that says so: written before it runs, and used again if it runs again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.plan.configuration import Configuration, configuration_from_json, configuration_to_json
from penstock.plan.placement.placement import Placement


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How one batch runs; `previous` is the newest batch before it whose state counts.

    `target` is the Configuration that waits for slots to come to other hosts.  Replicas of `deferring` elements put off
    the tuples of slots whose state is not there; the splitter holds those of `held` slots, and sends on first what it
    held for `released` elements.  `own_cap_tuples`: the cap of micro-batches without control, where control has chosen
    the one in the Configuration.  `task_result_bytes`: what a task may send to the driver (None: all); the rest goes
    through files.  `planned_s` is the time at which the batch was planned first, later than that of any
    batch before it.  `idle` has the partitions, by source, that delivered nothing for longer than their source may, and
    `partitions` how many partitions sources that may have several were seen to have before the batch.  `ends`: all
    sources have ended, and windows fire what they hold.
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
    task_result_bytes: int | None = None
    planned_s: float = 0.0
    idle: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    ends: bool = False


def plan_to_bytes(plan: BatchPlan) -> bytes:
    """A line of JSON, and one with its checksum."""
    body = {
        "batch": plan.batch,
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
        "task_result_bytes": plan.task_result_bytes,
        "planned_s": plan.planned_s,
        "idle": plan.idle,
        "partitions": plan.partitions,
        "ends": plan.ends,
    }
    text = json.dumps(body).encode()
    return b"%s\n%08x\n" % (text, zlib.crc32(text))


def plan_from_bytes(batch: int, data: bytes) -> BatchPlan:
    """The plan that `plan_to_bytes` wrote; ValueError and others where it is torn."""
    body = _body(data)
    if body.get("batch", batch) != batch:
        raise ValueError(f"it is that of batch {body['batch']}")
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
        learned, body.get("own_cap_tuples"), body.get("task_result_bytes"), body.get("planned_s", float(batch)),
        {name: tuple(own) for name, own in body.get("idle", {}).items()}, body.get("partitions", {}),
        body.get("ends", False),
    )  # fmt: skip


def _body(data: bytes) -> dict[str, Any]:
    """ValueError where a plan is not what was written; those of earlier versions have no checksum."""
    text, _, checksum = data.partition(b"\n")
    if checksum and checksum != b"%08x\n" % zlib.crc32(text):
        raise ValueError("the checksum differs")
    body: dict[str, Any] = json.loads(text)
    return body
