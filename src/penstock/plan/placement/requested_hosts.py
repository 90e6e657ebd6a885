"""The hosts that an application asks for, element by element, among those that have executors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.app.graph import Graph
from penstock.plan.fusion.pipeline_element import Pipeline

_POOL_NODE = re.compile(r".+\[(\d+)\]")  # a node of a pool without hosts: any host, the same for the same number


@dataclass(frozen=True, slots=True)
class RequestedHosts:
    """Hosts by element, and a sentence for each request that cannot be kept."""

    by_element: dict[str, str] = field(default_factory=dict)
    warnings: frozenset[str] = frozenset()


def requested_hosts(graph: Graph, pipeline: Pipeline, known: Sequence[str]) -> RequestedHosts:
    """What `app.request(..., host=...)` and SPADE's `node` ask for; `known` are the hosts that have executors."""
    wanted = {request.operator: request.host for request in graph.requests if request.host is not None}
    found: dict[str, str] = {}
    warnings: set[str] = set()
    for element in pipeline.elements:
        asked = list(dict.fromkeys(wanted[name] for name in element.operators if name in wanted))
        if not asked:
            continue
        host = _among(asked[0], known)
        if host is None:
            warnings.add(f"element '{element.name}' asks for host '{asked[0]}', which has no executor; there are: "
                         f"{', '.join(known)}; it runs on any of them")  # fmt: skip
        else:
            found[element.name] = host
        if len(asked) > 1:
            warnings.add(f"the operators of element '{element.name}' ask for the hosts {', '.join(asked)}; an element "
                         f"is on one of them, '{asked[0]}'")  # fmt: skip
    return RequestedHosts(found, frozenset(warnings))


def _among(asked: str, known: Sequence[str]) -> str | None:
    """The host that a name means: itself, the one whose name begins with it, or any for a node of a pool."""
    if asked in known:
        return asked
    numbered = _POOL_NODE.fullmatch(asked)
    if numbered and known:
        return sorted(known)[int(numbered[1]) % len(known)]
    short = asked.split(".", maxsplit=1)[0]
    return next((host for host in known if host.startswith(f"{short}.") and not short.isdigit()), None)
