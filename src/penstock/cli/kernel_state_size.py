"""What the kernels of count windows keep per group: asked of the kernels themselves."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.app.operators import Aggregate


def kernel_bytes(graph: Graph) -> dict[str, int]:
    """Bytes per group of every aggregate that a count window's kernel serves alone."""
    aggregates = [o for o in graph.operators if isinstance(o, Aggregate) and o.window.measure == "count"]
    sizes = {operator.name: _bytes_per_group(graph, operator) for operator in aggregates}
    return {name: size for name, size in sizes.items() if size is not None}


def _bytes_per_group(graph: Graph, operator: Aggregate) -> int | None:
    from penstock.block.dead_letters import DeadLetters
    from penstock.operators.windows.aggregate import RunningAggregate

    running = RunningAggregate(operator, graph.producer(operator.inputs[0]).schema, DeadLetters())
    if running.counts is None or running.held is not None:
        return None
    return running.counts.bytes_per_group
