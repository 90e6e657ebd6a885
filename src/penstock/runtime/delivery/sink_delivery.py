"""The sinks of a run: tuples that the driver stages before a batch counts, and parts that it publishes afterwards.

A batch that counts is never computed again: a driver that finds it undelivered publishes the parts that its manifest
names.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.ordering import in_order
from penstock.connectors.memory import BoundedTuples
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.sink_port import Delivered, Delivery, Part
from penstock.host.atomic_file import Fence, no_fence

Parts = Mapping[str, Sequence[str]]  # by sink, what `close` gave of each
Blocks = Mapping[str, list[tuple[int, Block]]]  # by sink, with the sequence of each


class SinkDelivery:
    """Stages a batch's tuples for the sinks that the driver serves, and publishes the parts of all.

    `graph` is the application's own, with the functions and secrets that a stored one lacks; `folder` is the
    checkpoint's for parts.  The `fence` raises where another driver has taken over: then nothing more is delivered.
    `ran_before`: the newest batch that a driver before this one may have delivered (-1: none; None: any may have been).
    """

    def __init__(
        self,
        graph: Graph,
        session: Any = None,
        *,
        run_id: str,
        folder: Path,
        epoch: int = 0,
        durable: bool = False,
        fence: Fence = no_fence,
        ran_before: int | None = None,
    ) -> None:
        self._ran_before = ran_before
        self._session, self._run_id, self._folder, self._epoch = session, run_id, folder, epoch
        self._durable, self._fence = durable, fence
        self.at_work: str | None = None  # the sink that has a batch's tuples now
        self._sinks = {sink.name: sink for sink in graph.sinks}
        self._attempts = itertools.count()
        bounds = {sink.name: sink.connector.promise.keeps for sink in graph.sinks}
        self._in_memory = {name: BoundedTuples(name, own) for name, own in bounds.items() if own is not None}

    def stage(self, batch: int, blocks: Blocks) -> dict[str, tuple[str, ...]]:
        """Stages what came to the driver, in the total order, and gives the parts; what a run keeps is not staged."""
        return {name: (self._staged(batch, name, own),) for name, own in blocks.items() if name not in self._in_memory}

    def keep(self, blocks: Blocks) -> None:
        """Takes what the run keeps in memory of a batch that counts."""
        for name in blocks.keys() & self._in_memory.keys():
            self._in_memory[name].add(_ordered(blocks[name]).to_arrow())

    def publish(self, batch: int, parts: Parts, *, is_again: bool = False) -> dict[str, Delivered]:
        """Has each sink deliver its parts; a sink that fails is tried again by the next driver."""
        return {name: self._published(batch, name, tuple(parts.get(name, ())), is_again) for name in self._sinks}

    def may_replace(self, batch: int) -> bool:
        """Whether a batch may have been computed and delivered by a driver before this one."""
        return self._ran_before is None or batch <= self._ran_before

    def forget(self, parts: Parts) -> None:
        """Deletes parts in the checkpoint whose batch is done."""
        for name in itertools.chain.from_iterable(parts.values()):
            if "@" in name:
                (self._folder / name).unlink(missing_ok=True)

    def tables(self) -> dict[str, pa.Table]:
        """The tuples of the sinks in memory, in order."""
        return {name: stored.table(self._sinks[name].schema) for name, stored in self._in_memory.items()}

    @property
    def dropped(self) -> dict[str, int]:
        """How many tuples sinks in memory have dropped, where they have."""
        return {name: stored.dropped for name, stored in self._in_memory.items() if stored.dropped}

    def _staged(self, batch: int, name: str, blocks: list[tuple[int, Block]]) -> str:
        sink, number = self._sinks[name].connector, next(self._attempts)
        part = Part(
            name, self._sinks[name].schema, BatchId(batch, self._run_id), self._epoch, None, number, self._folder,
            self._durable,
        )  # fmt: skip
        opened = sink.open(part)
        sink.write(opened, _ordered(blocks))
        closed: str = opened.close()
        return closed

    def _published(self, batch: int, name: str, parts: tuple[str, ...], is_again: bool = False) -> Delivered:
        own = self._sinks[name]
        delivery = Delivery(
            name, own.schema, BatchId(batch, self._run_id), parts, self._epoch, self._folder, self._durable,
            self._fence, self._session, is_again, self.may_replace(batch),
        )  # fmt: skip
        self.at_work = name
        try:
            return own.connector.publish(delivery) or Delivered()
        finally:
            self.at_work = None


def _ordered(blocks: list[tuple[int, Block]]) -> Block:
    return in_order([block for _, block in sorted(blocks, key=lambda pair: pair[0])])
