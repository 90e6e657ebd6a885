"""Requested partitions -> elements: operators fused together, on a host, with data flowing between elements one way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.app.graph import Graph, Request
from penstock.app.operators import Operator


@dataclass(frozen=True, slots=True)
class Element:
    """Operators that run as one; `partition` is what the user asked for, None where nothing was asked."""

    name: str
    operators: tuple[str, ...]
    partition: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Fusion:
    """All elements in the order of the program, and a sentence for each request that could not be kept as it was."""

    elements: tuple[Element, ...]
    notes: tuple[str, ...] = ()

    def element_of(self, operator: str) -> Element:
        return next(element for element in self.elements if operator in element.operators)


@dataclass(frozen=True, slots=True)
class _Part:
    """A growing element: the operators placed so far, and the partition and host they share."""

    partition: str | None
    host: str | None
    operators: tuple[str, ...]


def fuse(graph: Graph) -> Fusion:
    """Elements as requested; an operator without a request is an element of its own.

    A partition is split where a path leaves it and comes back, since an element passes its tuples on only when it is
    done with them; and where its operators ask for different hosts.  Parts stay on the host that was asked for.
    """
    last_requests = _last_requests(graph)
    parts: list[_Part] = []
    for operator in graph.operators:
        request = last_requests.get(operator.name, Request(operator.name))
        before = _parts_before(graph, operator, parts)
        candidates = (
            i
            for i, part in enumerate(parts)
            if _is_asked_for(part, request) and not _reaches(graph, parts, i, before - {i})
        )
        place = next(candidates, None)
        if place is None:
            parts.append(_Part(request.partition, request.host, (operator.name,)))
        else:
            old = parts[place]
            parts[place] = _Part(old.partition, old.host, (*old.operators, operator.name))
    return Fusion(tuple(_elements(parts)), tuple(_notes(graph, last_requests, parts)))


def is_convex(graph: Graph, operators: Iterable[str]) -> bool:
    """Whether no path leaves the operators and comes back to them."""
    return path_back(graph, set(operators)) is None


def _last_requests(graph: Graph) -> dict[str, Request]:
    """The last request of each operator; where a partition has one host, all of its operators are on it."""
    last_requests = {request.operator: request for request in graph.requests}
    hosts: dict[str, set[str]] = {}
    for request in last_requests.values():
        if request.partition is not None and request.host is not None:
            hosts.setdefault(request.partition, set()).add(request.host)
    for name, request in last_requests.items():
        shared = hosts.get(request.partition, set()) if request.partition is not None else set()
        if request.host is None and len(shared) == 1:
            last_requests[name] = Request(name, request.partition, next(iter(shared)))
    return last_requests


def _is_asked_for(part: _Part, request: Request) -> bool:
    return part.partition is not None and (part.partition, part.host) == (request.partition, request.host)


def _parts_before(graph: Graph, operator: Operator, parts: Sequence[_Part]) -> set[int]:
    """The parts whose operators feed this one directly."""
    feeding = {graph.producer(stream).name for stream in operator.inputs}
    return {i for i, part in enumerate(parts) if feeding & set(part.operators)}


def _reaches(graph: Graph, parts: Sequence[_Part], start: int, goals: set[int]) -> bool:
    """Whether data of one part flows, through any others, into one of the goals."""
    seen, waiting = {start}, [start]
    while waiting and goals:
        part = parts[waiting.pop()]
        readers = {reader.name for name in part.operators for reader in graph.consumers(graph.operator(name))}
        following = {i for i, other in enumerate(parts) if readers & set(other.operators)} - seen
        if following & goals:
            return True
        seen |= following
        waiting += sorted(following)
    return False


def _elements(parts: Sequence[_Part]) -> Iterable[Element]:
    """Parts with names: the partition's where it is whole, else numbered."""
    total = {part.partition: sum(other.partition == part.partition for other in parts) for part in parts}
    number: dict[str, int] = {}
    for part in parts:
        if part.partition is None:
            yield Element(part.operators[0], part.operators, None, part.host)
            continue
        number[part.partition] = number.get(part.partition, 0) + 1
        name = part.partition if total[part.partition] == 1 else f"{part.partition}.{number[part.partition]}"
        yield Element(name, part.operators, part.partition, part.host)


def _notes(graph: Graph, last_requests: dict[str, Request], parts: Sequence[_Part]) -> Iterable[str]:
    known = {operator.name for operator in graph.operators}
    for request in last_requests.values():
        if request.operator not in known:
            yield f"a request names the operator '{request.operator}', which application '{graph.name}' does not have"
    elements = list(_elements(parts))
    for partition in dict.fromkeys(part.partition for part in parts if part.partition is not None):
        own = [element for element in elements if element.partition == partition]
        if len(own) > 1:
            yield f"partition '{partition}' is split into {_listed(own)}: {_reason(graph, own)}"


def _listed(elements: Sequence[Element]) -> str:
    texts = [f"{element.name} ({', '.join(element.operators)})" for element in elements]
    return ", ".join(texts[:-1]) + f" and {texts[-1]}"


def _reason(graph: Graph, elements: Sequence[Element]) -> str:
    hosts = tuple(dict.fromkeys(element.host for element in elements))
    where = (
        f"; both stay on {hosts[0]}"
        if hosts[0] and len(elements) == 2
        else f"; all stay on {hosts[0]}"
        if hosts[0]
        else ""
    )
    path = path_back(graph, {name for element in elements for name in element.operators})
    if len(hosts) > 1:
        return f"its operators ask for different hosts ({', '.join(host or 'any' for host in hosts)})"
    if path is None:
        return "data would flow between it and another partition both ways" + where
    return f"the path {' -> '.join(path)} leaves it and comes back" + where


def path_back(graph: Graph, members: set[str]) -> tuple[str, ...] | None:
    """The first shortest path that starts and ends in the members and is outside in between."""
    for operator in graph.operators:
        if operator.name not in members:
            continue
        waiting: list[tuple[str, ...]] = [
            (operator.name, reader.name) for reader in graph.consumers(operator) if reader.name not in members
        ]
        seen: set[str] = set()
        while waiting:
            path = waiting.pop(0)
            for reader in graph.consumers(graph.operator(path[-1])):
                if reader.name in members:
                    return (*path, reader.name)
                if reader.name not in seen:
                    seen.add(reader.name)
                    waiting.append((*path, reader.name))
    return None
