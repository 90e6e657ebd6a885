"""Which streams tell, by the numbers of their blocks, what offsets of a source triggered them."""

from __future__ import annotations

from penstock.app.graph import Graph
from penstock.plan.elements.layout import keeps_sequence
from penstock.plan.elements.order import sources_of
from penstock.plan.elements.pipeline import Pipeline, PipelineElement


def source_places(graph: Graph, pipeline: Pipeline, element: PipelineElement) -> dict[str, int]:
    """The place of the source whose offsets number the blocks, for each input of an element that has them so."""
    found = {}
    for stream in element.inputs:
        sources = sources_of(graph, stream)
        sender = next((e for e in pipeline.elements if graph.producer(stream).name in e.operators), None)
        if len(sources) == 1 and sender is not None and keeps_sequence(graph, pipeline, sender):
            found[stream] = [source.name for source in graph.sources].index(sources.pop())
    return found
