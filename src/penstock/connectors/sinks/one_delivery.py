"""The results of a finite input, delivered to a sink as the one batch of a run of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.block.block import block_of
from penstock.connectors.port import BatchId, new_run_id
from penstock.connectors.sinks.sink_port import Delivered, Delivery, Part, SinkPort
from penstock.host.paths.file_names import file_name


def deliver_once(name: str, sink: SinkPort, table: pa.Table, session: Any = None) -> Delivered:
    """Stages and publishes a table; files are named after the sink."""
    if sink.promise.delivery == "this run":  # the caller has the table
        return Delivered()
    batch = BatchId(0, new_run_id())
    with tempfile.TemporaryDirectory() as folder:
        part = Part(name, table.schema, batch, folder=Path(folder), label=file_name(name))
        opened = sink.open(part)
        sink.write(opened, block_of(table, table.schema))
        delivery = Delivery(name, table.schema, batch, (opened.close(),), folder=part.folder, session=session)
        return sink.publish(delivery) or Delivered()
