"""The stages of an element, wired to those that read them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.element.element import Element, Stage
from penstock.element.threads.shards import ShardedOperator
from penstock.element.threads.stage import ThreadedStage
from penstock.operators.watermark.source_ticks import TICKS
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.punctuated_streams import punctuated


@dataclass(frozen=True, slots=True)
class Wiring:
    """Stages in program order; `roots` read sources only; `missing` is how many producers stages with several have."""

    stages: tuple[ThreadedStage, ...]
    roots: tuple[ThreadedStage, ...]
    empty: list[Block]
    missing: dict[int, int]


def is_ordered(operator: ops.Operator, graph: Graph) -> bool:
    """Whether steps must pass an operator one at a time and in order, since it remembers something."""
    match operator:
        case ops.Load() | ops.Map() | ops.Split() | ops.Sink():
            return False
        case ops.Functor():
            return partitioning_of(operator).scope != "none"
        case ops.Union():
            return operator.name in punctuated(graph).hearing  # it counts the copies of punctuations
        case _:
            return True


def wire(element: Element, graph: Graph, application: Graph | None = None) -> Wiring:
    """The stages of an element; a sharded operator becomes one that deals, one per shard, and one that merges.

    `application` is the whole graph where the element has only a part of it: punctuations may come from elsewhere.
    """
    stages: list[ThreadedStage] = []
    empty = list(element.empty)
    for stage in element.stages:
        stages += _stages_of(stage, application or graph, empty)
    sources = {element.number[source.name] for source in graph.sources}
    sources |= {element.number[TICKS]} if TICKS in element.number else set()
    return wired(stages, sources, {stream for _, stream in element.wanted}, empty)


def wired(stages: list[ThreadedStage], sources: set[int], wanted: set[int], empty: list[Block]) -> Wiring:
    """Stages in program order that know who reads them."""
    for number, made in enumerate(stages):
        made.number = number
    _connect(stages, sources)
    _let_go(stages, wanted)
    for made in reversed(stages):
        made.needs_visits = made.always or made.is_ordered or len(made.inputs) > 1
        made.needs_visits |= any(reader.needs_visits for reader in made.readers)
    roots = tuple(made for made in stages if made.producers == 0)
    missing = {made.number: made.producers for made in stages if made.producers > 1}
    return Wiring(tuple(stages), roots, empty, missing)


def _stages_of(stage: Stage, graph: Graph, empty: list[Block]) -> list[ThreadedStage]:
    runtime, operator = stage.runtime, stage.operator
    if not isinstance(runtime, ShardedOperator):
        made = ThreadedStage(operator, runtime.process, stage.inputs, stage.outputs)
        made.always, made.places, made.is_ordered = stage.always, stage.places, is_ordered(operator, graph)
        return [made]
    dealt = tuple(range(len(empty), len(empty) + len(runtime.shards)))
    done = tuple(range(len(empty) + len(dealt), len(empty) + 2 * len(dealt)))
    empty += [empty[stage.inputs[0]]] * len(dealt) + [empty[stage.outputs[0]]] * len(done)
    deal = ThreadedStage(operator, runtime.deal, stage.inputs, dealt)
    shards = [
        ThreadedStage(operator, shard.process, (i,), (o,))
        for shard, i, o in zip(runtime.shards, dealt, done, strict=True)
    ]
    deal.places = None
    for shard in shards:
        shard.is_ordered, shard.places = True, None
    merge = ThreadedStage(operator, runtime.merge, (*stage.inputs, *done), stage.outputs)
    merge.places, merge.can_queue = stage.places, False
    return [deal, *shards, merge]


def _connect(stages: list[ThreadedStage], sources: set[int]) -> None:
    producer = {stream: stage for stage in stages for stream in stage.outputs}
    readers: dict[int, list[ThreadedStage]] = {stage.number: [] for stage in stages}
    for stage in stages:
        before = {producer[i].number for i in stage.inputs if i not in sources}
        stage.producers = len(before)
        for number in before:
            readers[number].append(stage)
    for stage in stages:
        stage.readers = tuple(reversed(readers[stage.number]))  # a stack gives the first one back first


def _let_go(stages: list[ThreadedStage], wanted: set[int]) -> None:
    reading: dict[int, int] = {}
    for stage in stages:
        for i in set(stage.inputs):
            reading[i] = reading.get(i, 0) + 1
    for stage in stages:
        stage.frees = tuple(i for i in set(stage.inputs) if reading[i] == 1 and i not in wanted)
