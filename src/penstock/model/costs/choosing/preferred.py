"""The fusion that an application runs with where nobody asked for one: the chooser's, where functions are known."""

from __future__ import annotations

import logging

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.connectors.source_kinds import replayable
from penstock.errors import InputError
from penstock.model.costs.choosing.choice import rates_of
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.profile import Profile
from penstock.model.costs.store import CostStore, node_class
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of, with_files_recorded
from penstock.plan.fusion.groups import Fused, Groups, complete_groups
from penstock.plan.plan import Plan
from penstock.plan.plan import plan_of as planned

_log = logging.getLogger(__name__)
_SHARE = 0.5  # of the highest rate of the default fusion: what is sustained where no source declares a rate


def plan_of(app: Application | Graph, configuration: Configuration | None = None) -> Plan:
    """What runs of an application with a Configuration; by default what `ps.run` begins with where no goal is given.

    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> [(element.name, element.operators) for element in plan_of(app).elements]
    [('half', ('numbers', 'half', 'out'))]
    """
    graph = graph_of(app, "ps.plan_of")
    return planned(graph, preferred_configuration(graph) if configuration is None else configuration)


def preferred_configuration(graph: Graph) -> Configuration | None:
    """The default Configuration with the chosen fusion; None where the default fusion stays."""
    fusion = preferred_fusion(graph)
    return None if fusion is None else Configuration.of(graph).with_fusion(graph, fusion)


def preferred_fusion(graph: Graph, store: CostStore | None = None, node: str | None = None) -> Groups | None:
    """The cheapest fusion that sustains the sources' rates on this machine.

    None, for the fusion that the application asks for or else the default one, where a user has named partitions, where
    a function is not known, and where no fusion sustains the rate.
    """
    if any(request.partition is not None for request in graph.requests):
        return None
    own = store or CostStore()
    try:
        profile = own.profile(facts_of(graph), node or node_class()) if own.path.exists() else None
        if profile is None:
            return None
        recorded = with_files_recorded(graph)
        choice = profile.choose(_rates(graph, recorded, profile))
        groups = complete_groups(recorded, choice.elements)
        elements = {element.operators for element in pipeline_of(recorded, Fused((), groups)).elements}
        default = {element.operators for element in pipeline_of(recorded).elements}
    except InputError as error:
        _log.info("the fusion of %s is the default, and not chosen by costs: %s", graph.name, error)
        return None
    return None if elements == default else groups


def _rates(graph: Graph, recorded: Graph, profile: Profile) -> dict[str, float]:
    """What sources declare, else a share of what the default fusion sustains."""
    declared = {own.name: _declared(own.connector) or own.rate_tuples_s for own in graph.sources}
    known = {name: float(rate) for name, rate in declared.items() if rate}
    if len(known) == len(declared):
        return known
    rates = rates_of(profile, 1.0)
    default = [list(element.operators) for element in pipeline_of(recorded).elements if element.operators]
    highest = profile.predict(rates, fusion=default).max_rate_tuples_s
    return {name: rate * _SHARE * highest for name, rate in rates.items()}


def _declared(connector: object) -> float | None:
    trace = replayable(connector)
    return trace.rate_tuples_s if trace is not None and trace.has_schedule else None
