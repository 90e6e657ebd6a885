"""What sinks write to: taken for a run alone, and swept of parts that nobody needs any more."""

from __future__ import annotations

from pathlib import Path

from penstock.app.graph import Graph
from penstock.connectors.files.folder_owner import Run, check_free, claim
from penstock.connectors.files.staged_file import sweep_staged
from penstock.connectors.sinks.sink_port import Claim, Sweep
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.manifests import Manifests


def run_of(checkpoint: Checkpoint, checkpoint_id: str, *, is_new: bool) -> Run:
    """The run of a checkpoint, as its sinks know it."""
    newest = checkpoint.newest_batch()
    return Run(checkpoint_id, str(checkpoint.directory), None if is_new else -1 if newest is None else newest)


def claim_folders(graph: Graph, dead_letters: Path | None, run: Run) -> None:
    """Takes the targets of a run's sinks for it alone: all of them, or none where one is another run's."""
    for only_checks in (True, False):
        for sink in graph.sinks:
            sink.connector.claim(Claim(sink.name, run, only_checks, sink.schema))
        if dead_letters is not None:
            (check_free if only_checks else claim)("the dead letters", dead_letters, run)


def sweep_batches(graph: Graph, checkpoint: Checkpoint, oldest: int) -> None:
    """Deletes what was staged for batches before the oldest that may come again."""
    _sweep(graph, checkpoint, None, Sweep(before_batch=oldest))


def sweep_sinks(graph: Graph, checkpoint: Checkpoint, epoch: int, dead_letters: Path | None = None) -> None:
    """Deletes what drivers before an epoch staged, but for the parts of the newest batch that counts."""
    _sweep(graph, checkpoint, dead_letters, Sweep(before_epoch=epoch, excluded=newest_parts(checkpoint)))


def newest_parts(checkpoint: Checkpoint) -> frozenset[str]:
    """The parts that the newest manifest names; they may not be delivered yet."""
    manifests = Manifests(checkpoint.manifests)
    batches = manifests.batches()
    parts = manifests.read(batches[-1]).parts if batches else None
    return frozenset(name for own in (parts or {}).values() for name in own)


def _sweep(graph: Graph, checkpoint: Checkpoint, dead_letters: Path | None, sweep: Sweep) -> None:
    for sink in graph.sinks:
        sink.connector.sweep(sweep)
    if dead_letters is not None:
        sweep_staged(str(dead_letters), sweep)
    for path in checkpoint.staged.glob("batch-*@*"):
        if sweep.is_stale(path.name):
            path.unlink(missing_ok=True)
