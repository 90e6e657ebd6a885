"""Micro-batches of a recorded run as samples: one for each rate and fusion that the run had."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.app.graph import Graph
from penstock.errors import InputError
from penstock.measure.observation import Observation
from penstock.model.costs.learning.learned_profile import Measured
from penstock.model.costs.learning.samples import samples_of
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.fusion.groups import Fused

_SETTLING = 3  # micro-batches at the beginning of a fusion that still compile and rebuild
_RATES = 24  # into which the micro-batches of a fusion are put together, by their tuples


def measured_of(graph: Graph, batches: Iterable[tuple[Observation, Configuration]]) -> list[Measured]:
    """The samples of micro-batches, with the operators of their elements.

    InputError where elements of the run are not those of the application: it has changed since.
    """
    by_fusion: dict[Fused, list[Observation]] = {}
    for seen, configuration in batches:
        by_fusion.setdefault(configuration.fused, []).append(seen)
    found: list[Measured] = []
    for fused, own in by_fusion.items():
        elements = {element.name: element.operators for element in pipeline_of(graph, fused).elements}
        settled = [o for o in own[_SETTLING:] if o.tuples_in]
        strangers = sorted({name for o in settled for name in o.replicas_by_element} - set(elements))
        if strangers:
            raise InputError(
                f"the run has an element '{strangers[0]}', which application '{graph.name}' has not; "
                f"it has: {', '.join(elements)}; give the application that ran"
            )
        found += [(sample, elements) for part in _by_size(settled) for sample in samples_of(part)[-1:]]
    return found


def _by_size(seen: list[Observation]) -> list[list[Observation]]:
    """Micro-batches of about one size together; few of many sizes stay apart."""
    if len(seen) <= _RATES:
        return [[o] for o in seen]
    ordered = sorted(seen, key=lambda o: o.tuples_in)
    low, high = ordered[0].tuples_in, ordered[-1].tuples_in
    width = max((high - low) / _RATES, 1.0)
    parts: dict[int, list[Observation]] = {}
    for o in ordered:
        parts.setdefault(int((o.tuples_in - low) / width), []).append(o)
    return list(parts.values())
