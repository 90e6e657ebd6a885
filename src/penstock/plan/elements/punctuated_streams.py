"""Which streams carry window punctuations, and whose."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.app.operators import Barrier, Join, Punctor
from penstock.plan.elements.watermarks import watermarks


def punctors_by_stream(graph: Graph) -> dict[str, frozenset[int]]:
    """The numbers of the punctors whose marks each stream carries; they end at joins, barriers and watermarks."""
    carried: dict[str, frozenset[int]] = {}
    waiting = watermarks(graph)
    for number, operator in enumerate(graph.operators):
        marks = frozenset[int]().union(*(carried[stream] for stream in operator.inputs))
        if isinstance(operator, Punctor):
            marks |= {number}
        if isinstance(operator, Join | Barrier) or operator.name in waiting:
            marks = frozenset()
        carried |= dict.fromkeys(operator.outputs, marks)
    return carried
