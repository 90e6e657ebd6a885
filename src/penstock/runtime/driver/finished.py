"""Whether a finite application has anything left to do, by its checkpoint alone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from penstock.app.graph import Graph
from penstock.connectors.offsets import offset_source
from penstock.errors import CorruptStateError
from penstock.runtime.migration.waiting_tuples import has_waiting
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.checkpoint.progress import Progress, taken_by


def is_finished(
    graph: Graph, checkpoint: Checkpoint, reset: Collection[str] = (), *, fires_at_end: bool = False
) -> bool:
    """Whether all tuples were taken and none waits; InputError where the checkpoint is another application's.

    `fires_at_end`: whether the windows have fired what they held, too.
    """
    stored = checkpoint.stored(graph, reset)
    if stored is None:
        return False
    if fires_at_end:
        return has_fired(checkpoint)
    total, newest = total_tuples(stored.graph), newest_batch(checkpoint)
    if total is None or newest is None or not is_committed(checkpoint, newest):
        return False
    try:
        return progress_of(checkpoint, stored.graph, newest).tuples >= total and not has_waiting(checkpoint)
    except CorruptStateError:  # a start says what is wrong, or does without
        return False


def has_fired(checkpoint: Checkpoint) -> bool:
    """Whether the newest batch fired what windows held at the end of all sources, and is done."""
    plan = checkpoint.newest_plan()
    return plan is not None and plan.ends and is_committed(checkpoint, plan.batch)


def newest_batch(checkpoint: Checkpoint) -> int | None:
    """The newest batch that counts, None before the first."""
    return max(Manifests(checkpoint.manifests).batches(), default=None)


def progress_of(checkpoint: Checkpoint, graph: Graph, newest: int | None) -> Progress:
    """How far an application has come; the tuples of one that never ends are not counted."""
    sources = [source.name for source in graph.sources]
    spark, is_finite = Path(checkpoint.spark), total_tuples(graph) is not None
    return Progress(newest, lambda batch: taken_by(spark, batch, sources) if is_finite else 0)


def is_committed(checkpoint: Checkpoint, batch: int | None) -> bool:
    """Whether Spark has noted that a batch is done; there is nothing to note before the first."""
    return batch is None or (Path(checkpoint.spark) / "commits" / str(batch)).is_file()


def total_tuples(graph: Graph) -> int | None:
    """Tuples of all sources, None where one of them never ends."""
    sources = [offset_source(source, 0) for source in graph.sources]
    totals = [None if source is None else source.total for source in sources]
    return None if any(t is None for t in totals) else sum(t for t in totals if t is not None)
