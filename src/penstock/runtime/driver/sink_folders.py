"""The folders that sinks write files to: taken for one run, and swept of what was never published."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.connectors.files.staged_file import claim, sweep_before, sweep_staged
from penstock.connectors.parquet import ParquetSink
from penstock.state.checkpoint.checkpoint import Fixed


def claim_sinks(fixed: Fixed) -> None:
    """Takes the folders of a run's files for it alone."""
    for sink in fixed.graph.sinks:
        if isinstance(sink.connector, ParquetSink):
            claim(sink.connector, fixed.checkpoint_id)


def sweep_batches(graph: Graph, oldest: int) -> None:
    """Deletes what was written for batches before the oldest that may run again, and never published."""
    for sink in graph.sinks:
        if isinstance(sink.connector, ParquetSink):
            sweep_before(sink.connector, oldest)


def sweep_sinks(graph: Graph, epoch: int) -> None:
    """Deletes what drivers before an epoch wrote for sinks and never published."""
    for sink in graph.sinks:
        if isinstance(sink.connector, ParquetSink):
            sweep_staged(sink.connector, epoch)
