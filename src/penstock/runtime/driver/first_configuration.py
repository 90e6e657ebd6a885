"""The Configuration that an application begins with where nobody gave one."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.costs.choosing.preferred import preferred_fusion
from penstock.plan.configuration import Configuration, ElementConfiguration, default_configuration, even_route
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.fusion.groups import Fused
from penstock.plan.fusion.requested import requested_fusion
from penstock.runtime.slots.state_forms import slot_function
from penstock.state.checkpoint.checkpoint import Fixed


def first_configuration(fixed: Fixed, replicas: int, block_rows: int | None, *, chooses: bool = False) -> Configuration:
    """Elements as the application asks for, on as many replicas as there are task slots, with even routes.

    `chooses`: where it asks for none and functions are known, the cheapest fusion that sustains its rate.
    """
    preferred = preferred_fusion(fixed.graph) if chooses else None
    fused = requested_fusion(fixed.graph) if preferred is None else Fused((), preferred)
    pipeline = pipeline_of(fixed.graph, fused)
    configuration = replace(default_configuration(pipeline, replicas, fixed.slots), fusion=fused.groups)
    if block_rows is not None:
        configuration = replace(configuration, block_rows=block_rows)
    for element in pipeline.elements:
        if element.scope == "key":
            route = even_route(replicas, slot_function(fixed, element).slots)
            configuration = configuration.with_element(ElementConfiguration(element.name, replicas, route))
    return configuration
