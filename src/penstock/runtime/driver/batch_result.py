"""What comes back from the tasks of one batch, message by message."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.envelope import unseal
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.migration.waiting_tuples import Waiting
from penstock.runtime.replica.arrivals import Arrivals, arrivals_of
from penstock.runtime.replica.result_spool import spooled
from penstock.state.checkpoint.entries import ENTRY, Entries


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came back from the tasks of one batch."""

    entries: dict[str, Entries] = field(default_factory=dict)
    blocks: dict[str, list[tuple[int, Block]]] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)  # by sink, what was staged for it
    letters: list[pa.Table] = field(default_factory=list)
    held: dict[str, list[Waiting]] = field(default_factory=dict)  # by element, what the splitter holds of the batch
    waiting_tuples: list[int] = field(default_factory=list)  # that were put off, by task
    resumed_tuples: list[int] = field(default_factory=list)  # that were put off before, and go on
    reports: list[tuple[str, bytes]] = field(default_factory=list)  # element, report as it came
    read_tuples: list[int] = field(default_factory=list)  # from sources, by task
    learned: list[tuple[str, int, str]] = field(default_factory=list)  # element, replica, what it has found
    spooled: list[str] = field(default_factory=list)  # files of the checkpoint that results came through
    arrived: dict[str, list[Arrivals]] = field(default_factory=dict)  # by source, what each task took
    warnings: set[str] = field(default_factory=set)

    def add(self, m: Message, graph: Graph, spool: Path) -> None:
        """Takes one message over; results of `SPOOLED` ones are in files of the folder `spool`."""
        payload = memoryview(m.payload)
        if m.kind == message.STATE:
            own = np.frombuffer(payload, ENTRY)
            self.entries[m.name] = np.concatenate([self.entries[m.name], own]) if m.name in self.entries else own
        elif m.kind == message.SINK:
            schema = graph.operator(m.name).schema
            self.blocks.setdefault(m.name, []).append((m.sequence, unseal(m.payload, schema)))
        elif m.kind == message.PART:
            self.parts.setdefault(m.name, []).append(bytes(payload).decode())
        elif m.kind == message.LETTERS:
            self.letters.append(pa.ipc.open_stream(m.payload).read_all())
        elif m.kind == message.HELD:
            self.held.setdefault(m.name, []).append(pickle.loads(payload))
        elif m.kind == message.DEFERRED:
            put_off, resumed = (int(x) for x in np.frombuffer(payload, np.int64))
            self.waiting_tuples.append(put_off)
            self.resumed_tuples.append(resumed)
        elif m.kind == message.MEASURE:
            self.reports.append((m.name, bytes(payload)))
            self.read_tuples.append(m.sequence)
        elif m.kind == message.SPOOLED:
            self.spooled.append(m.name)
            for written in spooled(spool, m.name):
                self.add(written, graph, spool)
        elif m.kind == message.ARRIVED:
            self.arrived.setdefault(m.name, []).append(arrivals_of(payload))
        elif m.kind == message.LEARNED:
            self.learned.append((m.name, m.sequence, bytes(payload).decode()))
        elif m.kind == message.WARNING:
            self.warnings.add(bytes(payload).decode())
