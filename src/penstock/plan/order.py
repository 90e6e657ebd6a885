"""Which streams must know their tuples' positions: those that are merged with others somewhere downstream."""

from __future__ import annotations

from penstock.app.graph import Graph


def streams_with_positions(graph: Graph) -> frozenset[str]:
    """Names of all streams from which an operator with several inputs can be reached."""
    needed: set[str] = set()
    for operator in reversed(graph.operators):
        merges = len(operator.inputs) > 1
        if merges or any(stream in needed for stream in operator.outputs):
            needed.update(operator.inputs)
    return frozenset(needed)
