"""A driver process for the fault tests: runs an application until it is done, or until it is told to die."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather

from penstock import sinks
from penstock.app.application import Application
from penstock.errors import PenstockError
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.delivery.sink_delivery import SinkDelivery
from penstock.runtime.migration import copier, copies
from penstock.spark.driver import handle
from penstock.spark.driver.start import start
from penstock.spark.session.session import close_session, spark_session
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.manifests import Manifests
from tests.faults.applications import APPLICATIONS
from tests.faults.syncs import note_syncs


@dataclass(frozen=True, slots=True)
class Wish:
    """What a driver is to do; `die` is a point of the driver and how many batches in it dies there."""

    folder: str
    total: int = 60_000
    application: str = "prices"
    sink: str = "parquet"
    master: str = "local[2,100]"
    replicas: int = 2
    replicas_by_element: dict[str, int] = field(default_factory=dict)
    changing: bool = False
    durable: bool = False
    micro_batch_tuples: int = 2_000
    migration: str = "pre-copy"
    die: tuple[str, int] | None = None
    conf: dict[str, str] = field(default_factory=dict)

    def app(self) -> Application:
        connectors = {"parquet": sinks.parquet(f"{self.folder}/out"), "memory": sinks.memory()}
        return APPLICATIONS[self.application](connectors.get(self.sink, sinks.discard()), self.total)

    def configuration(self) -> Configuration:
        pipeline = pipeline_of(self.app().graph)
        configuration = default_configuration(pipeline, self.replicas)
        for name, replicas in self.replicas_by_element.items():
            configuration = configuration.with_replicas(name, replicas)
        return replace(configuration, block_rows=500, micro_batch_tuples=self.micro_batch_tuples)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def die_at(point: str, count: int) -> None:
    """Has this process killed when it comes to a point of the driver for the so-manieth time."""
    owner: Any
    owner, name, is_before = {
        "planned": (Checkpoint, "write_plan", False),
        "computed": (Manifests, "publish", True),
        "published": (Manifests, "publish", False),
        "staged": (handle.Handle, "_stage", False),
        "renamed": (SinkDelivery, "publish", False),
        "delivered": (handle.Handle, "_deliver", False),
        "copying": (copier.Copier, "step", True),
        "copied": (copies.Copies, "note", False),
        "switching": (copies.Copies, "is_ready", False),
    }[point]
    method, left = getattr(owner, name), iter(range(count, -1, -1))

    def dying(*arguments: Any, **named: Any) -> Any:
        is_last = next(left) == 0
        if is_last and is_before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*arguments, **named)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


def main(wish: Wish) -> None:
    note_syncs()
    copies.SMALL_BYTES = 0  # no amount of state is too small to be copied
    if wish.die is not None:
        die_at(*wish.die)
    session = spark_session(wish.master, conf=wish.conf, log_file=f"{wish.folder}/spark.log")
    app, configuration = wish.app(), wish.configuration()
    handle = start(
        app,
        session=session,
        checkpoint=f"{wish.folder}/checkpoint",
        configuration=configuration,
        durable=wish.durable,
    )
    rng, keyed = random.Random(os.getpid()), [e.name for e in configuration.elements if e.route]
    try:
        while not handle.wait(0.2 if wish.changing else None):
            for name in keyed:
                configuration = configuration.with_replicas(name, rng.randint(1, 4))
            handle.apply(configuration, migration=wish.migration)
    finally:
        result = handle.stop()
        close_session(session)
    if wish.sink == "memory":
        pa.feather.write_feather(result.tables["out"], f"{wish.folder}/table.arrow")
    rebuilt = sum(o.slots_rebuilt for o in result.observations)
    waited = sum(o.waiting_tuples for o in result.observations)
    discarded = result.discarded.get("out", (0, 0))
    said = {"batches": len(result.observations), "rebuilt": rebuilt, "waited": waited, "discarded": discarded}
    print(json.dumps(said))


if __name__ == "__main__":
    wish = json.loads(sys.argv[1])
    Path(wish["folder"]).mkdir(parents=True, exist_ok=True)
    try:
        main(Wish(**wish))
    except PenstockError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
