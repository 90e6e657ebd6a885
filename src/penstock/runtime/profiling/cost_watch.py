"""Compares a running application with what the store knows of it: tells drift, and refines the store at the end."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from penstock.app.graph import Graph
from penstock.errors import InputError
from penstock.measure.observation import Observation
from penstock.model.costs.learning.drift import Drift, DriftWatch, is_whole
from penstock.model.costs.learning.journal_samples import measured_of
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.refinement import refined
from penstock.model.costs.node_speed import is_normal
from penstock.model.costs.profile import Profile
from penstock.model.costs.store import CostStore, node_class
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.fusion.groups import Fused

_log = logging.getLogger(__name__)
_NEWEST = 512  # micro-batches, the newest, that the store is refined with
_ENOUGH = 30  # fewer say less than a profile
Made = tuple[Observation, Configuration]


class CostWatch:
    """Does nothing where the store has no functions for all operators of an application."""

    def __init__(self, graph: Graph, store: CostStore | None = None, node: str | None = None) -> None:
        self._graph, self._facts = graph, facts_of(graph)
        self._store, self._node = store or CostStore(), node or node_class()
        self._profile = self._known()
        self._watch: DriftWatch | None = None
        self._fused: Fused | None = None
        self._seen: deque[Made] = deque(maxlen=_NEWEST)
        self._has_drifted = False

    def _known(self) -> Profile | None:
        try:
            return self._store.profile(self._facts, self._node) if self._store.path.exists() else None
        except InputError as error:  # an older version's functions, or a store that cannot be read
            _log.info("costs are not watched: %s", error)
            return None

    def after(self, made: Sequence[Made]) -> list[Drift]:
        """What has drifted with some micro-batches; of those the newest that is known whole is looked at."""
        if self._profile is None:
            return []
        whole = [own for own in made if own[0].tuples_in and is_whole(own[0])]
        self._seen.extend((seen.without_slots(), configuration) for seen, configuration in whole[-1:])
        found: list[Drift] = []
        for seen, configuration in whole[-1:]:
            self._watch, drifts = self._watch_of(self._profile, configuration).after(seen)
            found += drifts
        self._has_drifted |= bool(found)
        return found

    def _watch_of(self, profile: Profile, configuration: Configuration) -> DriftWatch:
        if self._watch is None or configuration.fused != self._fused:
            self._fused = configuration.fused
            elements = {e.name: e.operators for e in pipeline_of(self._graph, configuration.fused).elements}
            self._watch = DriftWatch(profile, elements, self._facts)
        return self._watch

    def end(self) -> None:
        """Refines the store with what ran, unless something has drifted: then it has to be learned again."""
        if self._profile is None or self._has_drifted or len(self._seen) < _ENOUGH or not is_normal(self._profile):
            return
        try:
            measured = measured_of(self._graph, self._seen)
            self._store.keep(refined(self._profile, self._facts, measured), self._node)
        except InputError as error:
            _log.info("costs are not refined: %s", error)
