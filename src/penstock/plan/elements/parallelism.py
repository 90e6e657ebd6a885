"""How many replicas an operator or an element can use, and why not more."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.graph import Graph
from penstock.app.operators import Operator, Punctor, Sink, Source
from penstock.plan.elements.fusion import Element
from penstock.plan.elements.keys import Partitioning, origin, partitioning_of
from penstock.plan.fusion.needs import needs_of
from penstock.plan.fusion.pipeline_element import PipelineElement

SLOTS = 512


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The highest number of replicas that is of use; None is no limit."""

    limit: int | None
    because: str

    def __str__(self) -> str:
        return "any number" if self.limit is None else str(self.limit)


def parallelism_of(operator: Operator) -> Parallelism:
    """The highest useful number of replicas of one operator."""
    return _parallelism(partitioning_of(operator))


def parallelism_of_element(graph: Graph, element: Element) -> Parallelism:
    """The highest useful number of replicas of operators fused together: the least of theirs.

    Tuples are dealt out to the replicas of an element once, so keyed operators in it must go by the same key.
    """
    members = [graph.operator(name) for name in element.operators]
    limits = {member.name: parallelism_of(member) for member in members}
    tightest = min(limits, key=lambda name: float("inf") if (limit := limits[name].limit) is None else limit)
    found = limits[tightest]
    if found.limit == 1 or found.limit is None:
        return found if len(members) == 1 else Parallelism(found.limit, f"{tightest}: {found.because}")
    keys = [key for member in members if (key := _key_origins(graph, member))]
    if not set.intersection(*keys):
        return Parallelism(
            1, "its operators keep state by different keys, and an element distributes its tuples by one key"
        )
    return found if len(members) == 1 else Parallelism(found.limit, f"{tightest}: {found.because}")


def planned_parallelism(graph: Graph, element: PipelineElement) -> Parallelism:
    """The highest useful number of replicas of an element of the plan, and why not more."""
    working = [o for o in map(graph.operator, element.operators) if not isinstance(o, Source | Sink)]
    if element.scope == "none":
        return Parallelism(None, "each tuple is processed independently" if working else "any replica can read a share")
    keyed = next((o for o in working if partitioning_of(o).scope == "key"), None)
    if element.scope == "key" and keyed is not None:
        found = parallelism_of(keyed)
        return found if len(working) == 1 else Parallelism(found.limit, f"{keyed.name}: {found.because}")
    whole = next((o for o in working if needs_of(graph, o)[0] == "stream"), None)
    if whole is None or element.because:
        return Parallelism(1, element.because or "it reads streams of several elements")
    partitioning = partitioning_of(whole)
    because = partitioning.because if partitioning.scope == "stream" else "its results depend on all tuples in order"
    if isinstance(whole, Punctor):
        because = "its punctuations need the order of the whole stream, or copies of them are merged"
    return Parallelism(1, because if len(working) == 1 else f"{whole.name}: {because}")


def _parallelism(partitioning: Partitioning) -> Parallelism:
    if partitioning.scope == "none":
        return Parallelism(None, partitioning.because)
    if partitioning.scope == "stream":
        return Parallelism(1, partitioning.because)
    return Parallelism(SLOTS, f"{partitioning.because}; keys are in {SLOTS} slots, and fewer keys use fewer replicas")


def _key_origins(graph: Graph, operator: Operator) -> set[frozenset[tuple[str, str]]]:
    """The keys of an operator's inputs (which a join makes equal), each as the attributes it was first computed as."""
    keys = zip(operator.inputs, partitioning_of(operator).keys, strict=False)
    return {frozenset(origin(graph, stream, attribute) for attribute in key) for stream, key in keys}
