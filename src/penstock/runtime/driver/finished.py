"""Whether a finite application has anything left to do, told from its checkpoint alone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from penstock.app.graph import Graph
from penstock.connectors.offsets import offset_source
from penstock.runtime.migration.waiting_tuples import has_waiting
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.progress import Progress


def is_finished(graph: Graph, checkpoint: Checkpoint, reset: Collection[str] = ()) -> bool:
    """Whether all tuples were taken and none waits; InputError where the checkpoint is another application's."""
    stored = checkpoint.stored(graph, reset)
    if stored is None:
        return False
    total, progress = total_tuples(stored.graph), progress_of(checkpoint)
    is_taken = total is not None and progress.tuples >= total and is_committed(checkpoint, progress.batch)
    return is_taken and not has_waiting(checkpoint)


def progress_of(checkpoint: Checkpoint, *, durable: bool = False) -> Progress:
    """How far an application has come."""
    return Progress(checkpoint.directory / "progress", durable=durable)


def is_committed(checkpoint: Checkpoint, batch: int | None) -> bool:
    """Whether Spark has noted that a batch is done; there is nothing to note before the first."""
    return batch is None or (Path(checkpoint.spark) / "commits" / str(batch)).is_file()


def total_tuples(graph: Graph) -> int | None:
    """Tuples of all sources, None where one of them never ends."""
    sources = [offset_source(source, 0) for source in graph.sources]
    totals = [None if source is None else source.total for source in sources]
    return None if any(t is None for t in totals) else sum(t for t in totals if t is not None)
