"""A requested fusion: which operators are to run together, checked and made complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.errors import InputError, did_you_mean
from penstock.plan.elements.fusion import path_back
from penstock.plan.elements.merged_sources import needs_intake

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Fused:
    """How operators become elements: by default but for `unfused` ones, or in `groups` where those are given."""

    unfused: tuple[str, ...] = ()
    groups: Groups | None = None


def fused_of(given: Fused | Iterable[str]) -> Fused:
    """The value behind what a call was given: itself, or the operators that are unfused."""
    return given if isinstance(given, Fused) else Fused(tuple(given))


def complete_groups(graph: Graph, groups: Iterable[Iterable[str]]) -> Groups:
    """All operators in groups, each in program order, in an order in which data flows; InputError where there is none.

    Sources that are not named are one group, sinks that are not named join the operator they read, and any other
    operator is a group of its own.
    """
    named: list[tuple[str, ...]] = [(group,) if isinstance(group, str) else tuple(group) for group in groups]
    _check_names(graph, named)
    home = {name: number for number, group in enumerate(named) for name in group}
    count = len(named)
    for operator in graph.operators:
        if operator.name in home:
            continue
        if isinstance(operator, ops.Source):
            home[operator.name] = -1
        elif isinstance(operator, ops.Sink):
            home[operator.name] = home[graph.producer(operator.inputs[0]).name]
        else:
            home[operator.name], count = count, count + 1
    members: dict[int, list[str]] = {}
    for operator in graph.operators:
        members.setdefault(home[operator.name], []).append(operator.name)
    _check_intake(graph, home)
    return _in_order(graph, [tuple(own) for own in members.values()])


def _check_names(graph: Graph, groups: Sequence[tuple[str, ...]]) -> None:
    known = [operator.name for operator in graph.operators]
    names = [name for group in groups for name in group]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"fusion names the operator '{name}', which application '{graph.name}' does not have; it "
                             f"has: {', '.join(known)}" + (f"; {hint}" if hint else ""))  # fmt: skip
        if names.count(name) > 1:
            raise InputError(f"fusion names the operator '{name}' twice; an operator is in one element")


def _check_intake(graph: Graph, home: Mapping[str, int]) -> None:
    if needs_intake(graph) and len({home[source.name] for source in graph.sources}) > 1:
        names = ", ".join(f"'{source.name}'" for source in graph.sources)
        raise InputError(f"the sources {names} cannot be in different elements: the order of their tuples is known "
                         "only where all of them are; name them in one element, or in none")  # fmt: skip


def _in_order(graph: Graph, groups: Sequence[tuple[str, ...]]) -> Groups:
    """The groups so that data flows forward alone; of those that are free to go next, the first of the program."""
    for group in groups:
        path = path_back(graph, set(group))
        if path is not None:
            raise InputError(f"the operators {', '.join(group)} cannot be one element: the path {' -> '.join(path)} "
                             "leaves it and comes back")  # fmt: skip
    home = {name: number for number, group in enumerate(groups) for name in group}
    before = [{home[a] for a, _, b in graph.edges() if home[b] == number} - {number} for number in range(len(groups))]
    place = {operator.name: i for i, operator in enumerate(graph.operators)}
    left, ordered = set(range(len(groups))), list[tuple[str, ...]]()
    while left:
        free = [number for number in left if not before[number] & left]
        if not free:
            raise InputError(_crossed(groups, before, left))
        chosen = min(free, key=lambda number: place[groups[number][0]])
        ordered.append(groups[chosen])
        left -= {chosen}
    return tuple(ordered)


def _crossed(groups: Sequence[tuple[str, ...]], before: Sequence[set[int]], left: set[int]) -> str:
    """Names elements that would wait for each other, once around."""
    path = [min(left)]
    while path.count(path[-1]) < 2:
        path.append(min(before[path[-1]] & left))
    around = path[path.index(path[-1]) :][::-1]
    texts = " -> ".join("+".join(groups[number]) for number in around)
    return f"the elements of this fusion would wait for each other, since data flows around: {texts}"
