"""An element: operators fused into function calls, run once per step in the order of the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from penstock.app.graph import Graph
from penstock.app.operators import Delay, Operator, Source, Throttle
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import ABSENT, Frontier, source_position
from penstock.operators.factory import make_operator
from penstock.operators.failures import failure_of
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.watermark.source_ticks import TICKS, no_ticks
from penstock.plan.elements.position_depth import depth_by_stream
from penstock.plan.elements.watermarks import element_positions, watermarks

MakeOperator = Callable[[Operator, Graph, DeadLetters], OperatorRuntime]


class Stage:
    """One operator at its place: which streams it reads and emits, by number."""

    __slots__ = ("always", "inputs", "operator", "outputs", "places", "runtime")

    def __init__(
        self, operator: Operator, runtime: OperatorRuntime, number: Mapping[str, int], places: list[bool]
    ) -> None:
        self.operator, self.runtime = operator, runtime
        self.inputs = tuple(number[stream] for stream in operator.inputs)
        self.outputs = tuple(number[stream] for stream in operator.outputs)
        self.places = any(places[stream] for stream in self.outputs)  # whether what it emits needs positions
        self.always = isinstance(operator, Delay | Throttle)  # these act when time passes, too


class Element:
    """Operators of a graph with their state; a step takes one block per source and gives the blocks asked for.

    `positioned` are the streams whose tuples must know their positions (by default those that are merged with others);
    `make` gives the running operator of each operator.  Where the graph is part of another, `depths` are those of
    positions.  `ticked` are the operators that read ticks behind their inputs (by default those with watermarks).
    """

    def __init__(
        self,
        graph: Graph,
        letters: DeadLetters,
        wanted: Mapping[str, str],
        *,
        positioned: frozenset[str] | None = None,
        make: MakeOperator = make_operator,
        depths: Mapping[str, int] | None = None,
        ticked: Collection[str] | None = None,
    ) -> None:
        names = [stream for operator in graph.operators for stream in operator.outputs]
        self.number = {name: i for i, name in enumerate(names)}
        self._depths = depth_by_stream(graph) if depths is None else depths
        positioned = element_positions(graph) if positioned is None else positioned
        ticked = watermarks(graph) if ticked is None else ticked
        if ticked:
            names.append(TICKS)
            self.number[TICKS] = len(self.number)
        self._placed = [name in positioned for name in names]
        self.wanted = tuple((name, self.number[stream]) for name, stream in wanted.items())
        self.runtimes: dict[str, OperatorRuntime] = {}
        self.stages: list[Stage] = []
        for operator in graph.operators:
            if not isinstance(operator, Source):
                self.runtimes[operator.name] = make(operator, graph, letters)
                stage = Stage(operator, self.runtimes[operator.name], self.number, self._placed)
                if operator.name in ticked:
                    stage.inputs = (*stage.inputs, self.number[TICKS])
                self.stages.append(stage)
        self.empty = [self._empty_stream(name, graph) for name in names]

    def step(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        """Calls every operator that has something to do; gives what was asked for, as far as there is any."""
        streams = self.empty.copy()
        for name, block in blocks.items():
            streams[self.number[name]] = block
        for stage in self.stages:
            inputs = [streams[i] for i in stage.inputs]
            if not (stage.always or has_work(inputs)):
                continue
            try:
                outputs = stage.runtime.process(inputs, frontier)
            except Exception as error:
                named = failure_of(stage.operator, error)
                raise named from named.__cause__
            for i, block in zip(stage.outputs, outputs, strict=True):
                streams[i] = self.at_depth(i, block) if stage.places or block.position is not None else block
        return {name: streams[i] for name, i in self.wanted if has_work((streams[i],))}

    def at_depth(self, stream: int, block: Block) -> Block:
        """The block with positions of the stream's depth where it needs them, and without where it does not."""
        empty = self.empty[stream].position
        position = None
        if empty is not None:
            position = (empty if block.position is None else block.position).pad(len(empty.levels), ABSENT)
        return Block(block.schema, block.columns, block.rows, position, block.punctuations)

    def _empty_stream(self, stream: str, graph: Graph) -> Block:
        if stream == TICKS:
            return no_ticks()
        block = empty_block(graph.producer(stream).schema)
        if self._placed[self.number[stream]]:
            block.position = source_position(np.empty(0), 0, 0).pad(self._depths[stream], ABSENT)
        return block


def has_work(inputs: Sequence[Block]) -> bool:
    """Whether there are tuples or punctuations."""
    return any(block.rows or block.punctuations is not None for block in inputs)
