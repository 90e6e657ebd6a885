"""The pipeline of a micro-batch as a value: elements one after the other, with an exchange in front of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.app.graph import Graph
from penstock.plan.elements.keys import Scope

INTAKE = "@intake"


@dataclass(frozen=True, slots=True)
class PipelineElement:
    """Operators that run fused in one replica's task.

    `scope` says how its tuples may be divided over replicas: not at all ('stream': one replica), by key, or freely.
    `inputs` are the streams that come to it through exchanges, `keys` the attributes that route each of them.
    `slot_operators` are the operators among which a chosen slot function is looked for, its own where it is empty.
    `because`: why it has one replica, where operators of it could have more in other elements.
    """

    name: str
    operators: tuple[str, ...]
    scope: Scope
    inputs: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    slot_operators: tuple[str, ...] = ()
    because: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Elements in the order in which they run; a stream may skip elements that do not read it.

    `has_intake`: the first element only reads, and the second puts the tuples of all sources in order.
    """

    elements: tuple[PipelineElement, ...]
    has_intake: bool = False

    def element_of(self, operator: str) -> PipelineElement:
        return next(e for e in self.elements if operator in e.operators)

    def outputs_of(self, element: PipelineElement, graph: Graph) -> tuple[str, ...]:
        """The streams that leave an element for another one."""
        own = {s for name in element.operators for s in graph.operator(name).outputs}
        return tuple(dict.fromkeys(s for e in self.elements if e is not element for s in e.inputs if s in own))
