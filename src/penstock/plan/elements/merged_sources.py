"""How tuples of sources that meet get one order: by stamps known beforehand, by an intake, or by micro-batch."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.source_kinds import recorded_path, replayable
from penstock.plan.elements.order import is_paced, sources_of, streams_with_positions


def needs_intake(graph: Graph) -> bool:
    """Whether tuples of sources must first be put in order in one place, since their stamps are known only from them.

    Sources whose tuples are known by their offsets (traces) have stamps that are known beforehand.
    """
    merged = [s for s in graph.sources if s.name in streams_with_positions(graph)]
    paced = any(is_paced(graph, operator) for operator in graph.operators)
    if not (len(merged) > 1 or paced) or all(has_known_stamps(source) for source in merged):
        return False
    return not goes_by_micro_batch(graph)


def has_known_stamps(source: ops.Source) -> bool:
    if recorded_path(source.connector) is not None:
        return True
    return replayable(source.connector) is not None and source.stamp is None


def goes_by_micro_batch(graph: Graph) -> bool:
    """Whether tuples stand in the order of micro-batches, then of sources in the program, then of their sequence.

    So it is on Spark where sources meet of which one has neither a stamp nor a rate: numbers of a fast and a slow
    source say nothing about which tuple came first, and waiting for the slow one would never end.  An application has
    one order, so all of its sources go by it then.  Sources that are all known by their offsets keep their stamps.
    """
    meeting = sources_that_meet(graph)
    return not all(map(has_known_stamps, meeting)) and any(map(_has_no_stamps, meeting))


def sources_that_meet(graph: Graph) -> tuple[ops.Source, ...]:
    """The sources whose tuples come together with those of another one at an operator with several inputs."""
    found: set[str] = set()
    for operator in graph.operators:
        if len(operator.inputs) > 1:
            own = set[str]().union(*(sources_of(graph, stream) for stream in operator.inputs))
            found |= own if len(own) > 1 else set()
    return tuple(source for source in graph.sources if source.name in found)


def _has_no_stamps(source: ops.Source) -> bool:
    return source.stamp is None and source.rate_tuples_s is None
