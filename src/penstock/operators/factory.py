"""The run-time operator behind each operator of a graph."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

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
from penstock.operators.watermark.watermarked_aggregate import WatermarkedAggregate
from penstock.operators.watermark.watermarked_join import WatermarkedJoin
from penstock.operators.watermark.watermarked_sort import WatermarkedSort
from penstock.operators.windows.aggregate import AggregateRuntime
from penstock.operators.windows.barrier import BarrierRuntime
from penstock.operators.windows.flushing import FlushingAggregate, FlushingOperator, FlushingSort, can_flush
from penstock.operators.windows.join import JoinRuntime
from penstock.operators.windows.sort import SortRuntime
from penstock.plan.elements.order import is_paced
from penstock.plan.elements.position_depth import depth_by_stream
from penstock.plan.elements.punctuated_streams import fires_at_punctuations, punctuated, stages
from penstock.plan.elements.watermarks import Watermark, element_positions, watermarks

_WINDOWED = ops.Aggregate | ops.Join | ops.Sort


def make_operator(
    operator: ops.Operator,
    graph: Graph,
    letters: DeadLetters,
    positioned: frozenset[str] | None = None,
    *,
    flushes: bool = False,
) -> OperatorRuntime:
    """An operator at work, with fresh state; `positioned` are the streams of the graph that need positions.

    `flushes`: its windows fire what they hold when a tick says that the input has ended.
    """
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    if isinstance(operator, _WINDOWED) and (watermark := watermarks(graph).get(operator.name)) is not None:
        return make_watermarked(operator, graph, letters, watermark, positioned)
    if flushes and can_flush(operator):
        return _flushing(operator, graph, letters, schemas[0])
    match operator:
        case ops.Functor():
            return FunctorRuntime(operator, schemas[0])
        case ops.Aggregate():
            return AggregateRuntime(operator, schemas[0], letters, stage=_stage(operator, graph))
        case ops.Join():
            named = operator.name in (element_positions(graph) if positioned is None else positioned)
            return JoinRuntime(operator, (schemas[0], schemas[1]), letters, positioned=named)
        case ops.Split():
            return SplitRuntime(operator)
        case ops.Union():
            return UnionRuntime(_copies_by_punctor(operator, graph))
        case ops.Sort():
            return SortRuntime(operator, letters, _stage(operator, graph))
        case ops.Punctor():
            counts = punctuated(graph).counts(operator)
            return PunctorRuntime(operator, graph.operators.index(operator), counts=counts)
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


def ticked_operators(graph: Graph, *, flushes: bool) -> frozenset[str]:
    """The operators that read ticks: those that go by watermarks, and those that fire at the end of the input."""
    return frozenset(watermarks(graph)) | {o.name for o in graph.operators if flushes and can_flush(o)}


def _flushing(operator: ops.Operator, graph: Graph, letters: DeadLetters, schema: pa.Schema) -> OperatorRuntime:
    rank, stage = graph.operators.index(operator), _stage(operator, graph)
    if isinstance(operator, ops.Sort):
        return FlushingOperator(FlushingSort(operator, letters, stage), rank)
    assert isinstance(operator, ops.Aggregate)
    return FlushingOperator(FlushingAggregate(operator, schema, letters, stage), rank)


def _stage(operator: ops.Operator, graph: Graph) -> int:
    return stages(graph)[operator.inputs[0]] if fires_at_punctuations(operator) else 0


def make_watermarked(
    operator: ops.Aggregate | ops.Join | ops.Sort,
    graph: Graph,
    letters: DeadLetters,
    watermark: Watermark,
    positioned: frozenset[str] | None = None,
) -> OperatorRuntime:
    """An operator with time windows that go by a watermark; it reads the ticks behind its inputs."""
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    ordered = operator.name in (element_positions(graph) if positioned is None else positioned)
    depth = max(depth_by_stream(graph)[stream] for stream in operator.inputs)
    match operator:
        case ops.Aggregate():
            return WatermarkedAggregate(operator, schemas[0], letters, watermark, depth=depth, ordered=ordered)
        case ops.Sort():
            return WatermarkedSort(operator, schemas[0], letters, watermark, depth=depth, ordered=ordered)
        case ops.Join():
            both = schemas[0], schemas[1]
            return WatermarkedJoin(operator, both, letters, watermark, depth=depth, positioned=ordered)


def _copies_by_punctor(operator: ops.Union, graph: Graph) -> Counter[int]:
    """On how many inputs a copy of each punctor's marks arrives, where somebody hears them."""
    marks = punctuated(graph)
    inputs = operator.inputs if operator.name in marks.hearing else ()
    return Counter(punctor for stream in inputs for punctor in marks.heard[stream])
