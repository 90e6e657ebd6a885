"""Drift: an element whose CPU has been outside its predicted band for a minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.measure.observation import Observation
from penstock.model.costs.composition import Composition
from penstock.model.costs.flows import flows_of
from penstock.model.costs.learning.operator_facts import OperatorFacts
from penstock.model.costs.learning.refinement import source_rates
from penstock.model.costs.learning.samples import Sample, samples_of
from penstock.model.costs.node_speed import speed_on
from penstock.model.costs.profile import Profile
from penstock.model.costs.task_groups import replicas_of

PATIENCE_S = 60.0
_LEAST_CORES = 0.03  # fixed parts of a micro-batch differ by that
_LEAST_BAND = 0.1  # of the prediction: what two runs of the same code may differ by


@dataclass(frozen=True, slots=True)
class Drift:
    """An element that no longer costs what its profile says."""

    element: str
    measured_cores: float
    predicted_cores: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"element '{self.element}' uses {self.measured_cores:.3g} cores, where its profile says "
            f"{self.predicted_cores:.3g} ({self.low:.3g} to {self.high:.3g}), for a minute; "
            "learn it again with penstock profile"
        )


def is_whole(observation: Observation) -> bool:
    """Whether all CPU of its tasks is known: that of their threads in the JVM is asked for now and then."""
    replicas = [r for own in observation.replicas_by_element.values() for r in own]
    return bool(replicas) and all(r.jvm_cpu_s is not None for r in replicas)


@dataclass(frozen=True, slots=True)
class DriftWatch:
    """Follows micro-batches whose CPU is known: `after` gives the watch that goes on, and what has drifted just now."""

    profile: Profile
    elements: Mapping[str, tuple[str, ...]]
    facts: Mapping[str, OperatorFacts]
    outside_since_s: Mapping[str, float] = field(default_factory=dict)
    reported: frozenset[str] = frozenset()

    def after(self, observation: Observation) -> tuple[DriftWatch, tuple[Drift, ...]]:
        """Each drift is reported once, until the element is back within its band."""
        samples = samples_of([observation]) if is_whole(observation) else []
        if not samples:
            return self, ()
        since, reported, found = dict(self.outside_since_s), set(self.reported), []
        for name, drift in self._outside(samples[0]).items():
            if drift is None:
                since.pop(name, None)
                reported.discard(name)
                continue
            begin = since.setdefault(name, observation.started_at_s)
            if observation.started_at_s - begin >= PATIENCE_S and name not in reported:
                reported.add(name)
                found.append(drift)
        return replace(self, outside_since_s=since, reported=frozenset(reported)), tuple(found)

    def _outside(self, sample: Sample) -> dict[str, Drift | None]:
        """For each element what is outside its band, None where it is within."""
        flows = flows_of(self.profile, source_rates(sample, self.facts))
        composition = Composition(self.profile, flows, speed_on(self.profile, None))
        found: dict[str, Drift | None] = {}
        for name, element in sample.elements.items():
            if not self.elements.get(name):
                continue
            inside = self.elements[name]
            own = composition.element(inside, replicas_of(self.profile, flows, inside, element.tasks))
            margin = max(_LEAST_BAND * own.cpu_cores, _LEAST_CORES)
            low, high = min(own.low, own.cpu_cores - margin), max(own.high, own.cpu_cores + margin)
            is_inside = low <= element.cpu_s <= high
            found[name] = None if is_inside else Drift(name, element.cpu_s, own.cpu_cores, low, high)
        return found
