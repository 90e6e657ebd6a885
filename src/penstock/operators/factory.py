"""The running operator behind each operator of a graph."""

from __future__ import annotations

from collections import Counter

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.operators.protocol import RunningOperator
from penstock.operators.python_functions import RunningCustom, RunningMap
from penstock.operators.stateless.functor import RunningFunctor
from penstock.operators.stateless.load import RunningLoad
from penstock.operators.stateless.pacing import RunningDelay, RunningThrottle
from penstock.operators.stateless.punctor import RunningPunctor
from penstock.operators.stateless.routing import RunningSink, RunningSplit, RunningUnion
from penstock.operators.windows.aggregate import RunningAggregate
from penstock.operators.windows.barrier import RunningBarrier
from penstock.operators.windows.join import RunningJoin
from penstock.operators.windows.sort import RunningSort
from penstock.plan.elements.order import is_paced, streams_with_positions
from penstock.plan.elements.punctuated_streams import punctors_by_stream


def running_operator(
    operator: ops.Operator, graph: Graph, letters: DeadLetters, positioned: frozenset[str] | None = None
) -> RunningOperator:
    """An operator at work, with fresh state; `positioned` are the streams of the graph that need positions."""
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    match operator:
        case ops.Functor():
            return RunningFunctor(operator, schemas[0])
        case ops.Aggregate():
            return RunningAggregate(operator, schemas[0], letters)
        case ops.Join():
            named = operator.name in (streams_with_positions(graph) if positioned is None else positioned)
            return RunningJoin(operator, (schemas[0], schemas[1]), letters, positioned=named)
        case ops.Split():
            return RunningSplit(operator)
        case ops.Union():
            return RunningUnion(_copies_by_punctor(operator, graph))
        case ops.Sort():
            return RunningSort(operator, letters)
        case ops.Punctor():
            return RunningPunctor(operator, graph.operators.index(operator))
        case ops.Barrier():
            return RunningBarrier(operator)
        case ops.Delay() if is_paced(graph, operator):
            return RunningDelay(operator)
        case ops.Throttle() if is_paced(graph, operator):
            return RunningThrottle(operator)
        case ops.Load():
            return RunningLoad(operator)
        case ops.Map():
            return RunningMap(operator, letters)
        case ops.Custom():
            return RunningCustom(operator, letters)
        case _:
            return RunningSink()  # passes all on


def _copies_by_punctor(operator: ops.Union, graph: Graph) -> Counter[int]:
    """On how many inputs a copy of each punctor's marks arrives."""
    carried = punctors_by_stream(graph)
    return Counter(punctor for stream in operator.inputs for punctor in carried[stream])
