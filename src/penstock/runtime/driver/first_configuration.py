"""The Configuration that an application begins with where nobody gave one."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.configuration import Configuration, ElementConfiguration, default_configuration, even_route
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.slots.state_slots import slot_function
from penstock.state.checkpoint.checkpoint import Fixed


def first_configuration(fixed: Fixed, replicas: int, block_rows: int | None) -> Configuration:
    """Every element on as many replicas as there are task slots, its slots dealt out evenly."""
    pipeline = pipeline_of(fixed.graph)
    configuration = default_configuration(pipeline, replicas, fixed.slots)
    if block_rows is not None:
        configuration = replace(configuration, block_rows=block_rows)
    for element in pipeline.elements:
        if element.scope == "key":
            route = even_route(replicas, slot_function(fixed, element).slots)
            configuration = configuration.with_element(ElementConfiguration(element.name, replicas, route))
    return configuration
