"""The run-time operator behind each operator of a graph."""

from __future__ import annotations

from collections import Counter

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.python_functions import CustomRuntime, MapRuntime
from penstock.operators.stateless.functor import FunctorRuntime
from penstock.operators.stateless.load import LoadRuntime
from penstock.operators.stateless.pacing import DelayRuntime, ThrottleRuntime
from penstock.operators.stateless.punctor import PunctorRuntime
from penstock.operators.stateless.routing import SinkRuntime, SplitRuntime, UnionRuntime
from penstock.operators.windows.aggregate import AggregateRuntime
from penstock.operators.windows.barrier import BarrierRuntime
from penstock.operators.windows.join import JoinRuntime
from penstock.operators.windows.sort import SortRuntime
from penstock.plan.elements.order import is_paced, streams_with_positions
from penstock.plan.elements.punctuated_streams import punctors_by_stream


def make_operator(
    operator: ops.Operator, graph: Graph, letters: DeadLetters, positioned: frozenset[str] | None = None
) -> OperatorRuntime:
    """An operator at work, with fresh state; `positioned` are the streams of the graph that need positions."""
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    match operator:
        case ops.Functor():
            return FunctorRuntime(operator, schemas[0])
        case ops.Aggregate():
            return AggregateRuntime(operator, schemas[0], letters)
        case ops.Join():
            named = operator.name in (streams_with_positions(graph) if positioned is None else positioned)
            return JoinRuntime(operator, (schemas[0], schemas[1]), letters, positioned=named)
        case ops.Split():
            return SplitRuntime(operator)
        case ops.Union():
            return UnionRuntime(_copies_by_punctor(operator, graph))
        case ops.Sort():
            return SortRuntime(operator, letters)
        case ops.Punctor():
            return PunctorRuntime(operator, graph.operators.index(operator))
        case ops.Barrier():
            return BarrierRuntime(operator)
        case ops.Delay() if is_paced(graph, operator):
            return DelayRuntime(operator)
        case ops.Throttle() if is_paced(graph, operator):
            return ThrottleRuntime(operator)
        case ops.Load():
            return LoadRuntime(operator)
        case ops.Map():
            return MapRuntime(operator, letters)
        case ops.Custom():
            return CustomRuntime(operator, letters)
        case _:
            return SinkRuntime()  # passes all on


def _copies_by_punctor(operator: ops.Union, graph: Graph) -> Counter[int]:
    """On how many inputs a copy of each punctor's marks arrives."""
    carried = punctors_by_stream(graph)
    return Counter(punctor for stream in operator.inputs for punctor in carried[stream])
