"""The demonstration's results against those of the in-process engine over the same tuples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.app.application import Application
from penstock.connectors.source_kinds import replayable

_PIECE_ROWS = 262_144
_BLOCK_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class Counted:
    """How many results, and a checksum over all of them that does not depend on their order."""

    results: int
    checksum: int


def counted_in_process(app: Application, tuples: int, advance: Callable[[int, int], None]) -> Counted:
    """What the in-process engine gives for the first tuples of the application's trace."""
    from penstock.block.block import block_of
    from penstock.element.engine import Engine
    from penstock.kernels.keys.row_checksum import add_checksums, checksum_of

    graph = app.graph
    source, sink = graph.sources[0], graph.sinks[0]
    connector = replayable(source.connector)
    assert connector is not None
    trace, engine, results, checksum = connector.open(), Engine(graph, block_rows=_BLOCK_ROWS), 0, 0
    for start in range(0, tuples, _PIECE_ROWS):
        stop = min(start + _PIECE_ROWS, tuples)
        for batch in engine.feed({source.name: trace.batch(start, stop)})[sink.name]:
            results += batch.num_rows
            checksum = add_checksums(checksum, checksum_of(block_of(batch, sink.schema)))
        advance(stop, tuples)
    return Counted(results, checksum)
