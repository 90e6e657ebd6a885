"""The figures of a threaded element as the ElementObservation that policies read."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.measure.element_observation import ElementObservation
from penstock.measure.thread_figures import ThreadFigures


def observation_of(figures: ThreadFigures, graph: Graph) -> ElementObservation:
    """What the figures say about the operators of a graph; only busy time counts."""
    costs = {o.name: figures.samples.get(o.name, 0.0) for o in graph.operators if not isinstance(o, Source)}
    feeds: dict[str, list[str]] = {operator.name: [] for operator in graph.operators}
    for producer, _, reader in graph.edges():
        feeds[producer].append(reader)
    return ElementObservation(
        period_s=figures.busy_s,
        tuples=figures.tuples,
        throughput_tuples_s=figures.rate_tuples_s,
        level=figures.threads,
        max_level=figures.max_threads,
        operator_costs=costs,
        queued=figures.queued,
        feeds={name: tuple(dict.fromkeys(readers)) for name, readers in feeds.items()},
    )
