"""The attributes of a source that no operator reads."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.arriving.arrival import ArrivalColumn
from penstock.expressions.tree import attributes


def unused_attributes(graph: Graph, source: ops.Source) -> frozenset[str]:
    """Attributes whose values nobody can see: only functors that say what they emit read the source's tuples.

    >>> import penstock as ps
    >>> app = ps.Application("sizes")
    >>> trades = app.source("trades", schema={"seq": "int64", "price": "float64", "volume": "float64"})
    >>> trades.functor("large", where="volume > 100", emit={"price": "price"}).sink("out")
    >>> sorted(unused_attributes(app.graph, app.graph.sources[0]))
    ['seq']
    """
    if source.stamp is not None or source.event_time is not None:  # rows with a wrong time are reported whole
        return frozenset()
    used = {source.arrival.name} if isinstance(source.arrival, ArrivalColumn) else set[str]()
    readers = [operator for operator in graph.operators if source.name in operator.inputs]
    for operator in readers:
        if not isinstance(operator, ops.Functor) or not operator.emits:
            return frozenset()
        expressions = [emit.expression for own in operator.emits for emit in own]
        expressions += [] if operator.where is None else [operator.where]
        used |= {name for expression in expressions for _, name in attributes(expression)}
    return frozenset(source.schema.names) - used if readers else frozenset()
