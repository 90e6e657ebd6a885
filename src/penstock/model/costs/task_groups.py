"""The tasks of an element: equal replicas, or those of each source where it reads several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.model.costs.flows import Flows
from penstock.model.costs.profile import Profile


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Equal tasks of an element: how many, and what share of each operator's tuples they have together."""

    tasks: int
    shares: Mapping[str, float]


def task_groups(profile: Profile, flows: Flows, inside: Sequence[str], replicas: int) -> tuple[TaskGroup, ...]:
    """One group of `replicas` tasks; of the first element one for each of the application's sources.

    Spark reads a source in partitions of its own, in proportion to its tuples and at least one, and the operators of
    the first element run where they are read, unless they need the whole stream.  Rows of a source that another element
    reads are sent on by a task of the first one.
    """
    sources = [own.name for own in profile.operators if _reads_outside(flows, own.name)]
    if len(sources) < 2 or sources[0] not in inside or not _is_first(flows, inside):
        return (_all(inside, replicas),)
    if scope_of(profile, inside) == "stream":
        return (_all(inside, replicas),)
    shares = _shares(profile, flows, inside)
    rates = {name: flows.ports(name)[0] for name in sources}
    total = sum(rates.values()) or 1.0
    return tuple(
        TaskGroup(
            max(1, round(replicas * rates[source] / total)),
            {name: own[source] for name, own in shares.items() if source in own},
        )
        for source in sources
    )


def tasks_of(groups: Sequence[TaskGroup], operator: str, replicas: int) -> int:
    """Among how many tasks an operator's tuples are dealt out evenly; of one that several sources reach, about."""
    own = [group.tasks for group in groups if operator in group.shares]
    return own[0] if len(own) == 1 else replicas


def replicas_of(profile: Profile, flows: Flows, inside: Sequence[str], tasks: int) -> int:
    """The replicas of an element that had so many tasks."""
    for replicas in range(1, tasks):
        if sum(own.tasks for own in task_groups(profile, flows, inside, replicas)) >= tasks:
            return replicas
    return tasks


def scope_of(profile: Profile, group: Sequence[str]) -> str:
    """How an element's tuples may be divided: by the strictest of its operators; two different keys divide nothing.

    Sources together with operators by key are read in one task.
    """
    own = [profile.operator(name) for name in group]
    scopes = {cost.scope for cost in own}
    keys = {cost.by for cost in own if cost.scope == "key"}
    reads = any(cost.inputs == () for cost in own)
    if "stream" in scopes or len(keys) > 1 or (reads and "key" in scopes):
        return "stream"
    return "key" if "key" in scopes else "none"


def _all(inside: Sequence[str], replicas: int) -> TaskGroup:
    return TaskGroup(replicas, dict.fromkeys(inside, 1.0))


def _reads_outside(flows: Flows, operator: str) -> bool:
    return flows.inputs[operator] == (f"@{operator}",)


def _is_first(flows: Flows, inside: Sequence[str]) -> bool:
    """Whether nothing comes in but sources' tuples; the first source's element then runs before all others."""
    own = set(inside)
    streams = [stream for name in inside if not _reads_outside(flows, name) for stream in flows.inputs[name]]
    return all(flows.producer.get(stream) in own for stream in streams)


def _shares(profile: Profile, flows: Flows, inside: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each operator inside, what share of its tuples comes from each source."""
    found: dict[str, dict[str, float]] = {}
    for name in (own for own in profile.names if own in inside):
        if _reads_outside(flows, name):
            found[name] = {name: 1.0}
            continue
        streams = flows.inputs[name]
        weights = [flows.rates[stream] for stream in streams]
        weights = weights if sum(weights) else [1.0] * len(streams)
        own = found[name] = {}
        for stream, weight in zip(streams, weights, strict=True):
            for source, share in found[flows.producer[stream]].items():
                own[source] = own.get(source, 0.0) + share * weight / sum(weights)
    return found
