"""Whether a setting fits an element."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.errors import InputError, did_you_mean


def checked_threads(threads: int, most: int, *, least: int = 0) -> int:
    if not isinstance(threads, int) or isinstance(threads, bool) or not least <= threads <= most:
        raise InputError(f"threads is a whole number from {least} to {most}; got {threads!r}")
    return threads


def checked_queues(queued: Iterable[str], graph: Graph) -> frozenset[str]:
    """The names of operators; a source has no queue in front."""
    names = frozenset((queued,) if isinstance(queued, str) else queued)
    known = [operator.name for operator in graph.operators if not isinstance(operator, Source)]
    for name in sorted(names.difference(known)):
        hint = did_you_mean(name, known)
        raise InputError(
            f"application '{graph.name}' has no operator '{name}' to put a queue in front of; "
            f"it has: {', '.join(known)}" + (f"; {hint}" if hint else "")
        )
    return names


def readers_of_sources(graph: Graph) -> frozenset[str]:
    """The operators that read a source: queues in front of them let a source go on while others work."""
    sources = {source.name for source in graph.sources}
    return frozenset(operator.name for operator in graph.operators if sources.intersection(operator.inputs))
