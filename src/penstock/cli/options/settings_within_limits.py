"""`--set` together with `--goal`: settings within the limits that control keeps to, and the cap as one of them."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.graph import Graph
from penstock.cli.options.settings import RequestedConfiguration
from penstock.control.goals.limits import Limits
from penstock.plan.elements.pipeline import pipeline_of

_CAP = "micro_batch_tuples"


def limit_problems(settings: RequestedConfiguration, limits: Limits, graph: Graph) -> list[str]:
    """What of the settings is outside the limits, a sentence each."""
    free = {element.name for element in pipeline_of(graph, settings.fused(graph)).elements if element.scope != "stream"}
    lowest, highest = limits.min_replicas, limits.max_replicas
    found = []
    for element, replicas in settings.replicas.items():
        if element in free and replicas < lowest:
            found.append(f"--set {element}.replicas is at least min_replicas of the limits, {lowest}; got {replicas}")
        if highest is not None and replicas > highest:
            found.append(f"--set {element}.replicas is at most max_replicas of the limits, {highest}; got {replicas}")
    cap, most = settings.sizes.get(_CAP), limits.max_micro_batch_tuples
    if cap is not None and most is not None and cap > most:
        found.append(f"--set {_CAP} is at most max_{_CAP} of the limits, {most}; got {cap}")
    return found


def as_highest_cap(
    settings: RequestedConfiguration, limits: Limits | None
) -> tuple[RequestedConfiguration, Limits | None]:
    """A cap that was set is the highest one of the limits, below which control chooses, and no setting any more."""
    cap = settings.sizes.get(_CAP)
    if cap is None:
        return settings, limits
    sizes = {name: size for name, size in settings.sizes.items() if name != _CAP}
    return replace(settings, sizes=sizes), replace(limits or Limits(), max_micro_batch_tuples=cap)
