"""The ElementObservation: what one control period inside an element looked like, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ElementObservation:
    """A period of an element, real or simulated, at one thread level and queue placement.

    `tuples` left the element in `period_s`; `level` scheduler threads were awake of at most `max_level`, besides the
    source's own thread, which is not counted. `operator_costs` names every operator that can have a queue: how often a
    thread was seen in it (only ratios mean anything; 0 for one never seen). `settled` is false where the last setting
    took effect within the period, so that its throughput belongs to no setting. `feeds` is the graph, sources
    included, each operator before those it feeds; where it is empty, operators are taken to be a pipeline in the order
    of `operator_costs`. `idle_cores` of the host were used by nobody; None where that is not known.
    """

    period_s: float
    tuples: int
    throughput_tuples_s: float
    level: int
    max_level: int
    operator_costs: Mapping[str, float]
    queued: frozenset[str] = frozenset()
    settled: bool = True
    feeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    idle_cores: float | None = None
