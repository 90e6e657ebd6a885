"""Which sources may come in several partitions, whose tuples have no order in time among each other."""

from __future__ import annotations

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.connectors.planned.source_port import source_port
from penstock.connectors.source_kinds import makes_timestamps
from penstock.errors import InputError
from penstock.plan.elements.event_time import has_time_windows
from penstock.plan.elements.order import sources_of
from penstock.plan.elements.watermarks import bounds_s


def has_partitions(source: ops.Source) -> bool:
    """Whether it may come in several partitions; files, traces and tables are one, in their own order."""
    return source_port(source.connector) is not None and not getattr(source.connector, "in_one_partition", False)


def counts_partitions(graph: Graph, source: ops.Source) -> bool:
    """Whether its partitions must have the same numbers in every micro-batch."""
    has_watermark = source.event_time is not None and source.name in bounds_s(graph)
    return has_partitions(source) and (has_watermark or source.idle_timeout_s is not None)


def time_windows_by_source(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The operators with time windows that a source feeds, of each source that must come in one partition for them.

    A source with a bound for tuples out of order may come in any number.
    """
    found: dict[str, tuple[str, ...]] = {}
    for operator in graph.operators:
        if not _has_time_windows(operator):
            continue
        names = set[str]().union(*(sources_of(graph, stream) for stream in operator.inputs))
        for source in graph.sources:
            if source.name in names and has_partitions(source) and source.out_of_order_s is None:
                found[source.name] = (*found.get(source.name, ()), operator.name)
    return found


def check_partitions(graph: Graph, rate_partitions: int) -> None:
    """InputError where time windows are fed by a source of several partitions, as far as that is known at the start."""
    for name in time_windows_by_source(graph):
        source = graph.operator(name)
        if isinstance(source, ops.Source) and makes_timestamps(source.connector):
            check_one_partition(graph, name, rate_partitions)


def check_one_partition(graph: Graph, name: str, partitions: int) -> None:
    """InputError where a source that must come in one partition came in several."""
    fed = time_windows_by_source(graph).get(name, ())
    if partitions < 2 or not fed:
        return
    source = graph.operator(name)
    assert isinstance(source, ops.Source)
    known = source.event_time or ("timestamp" if makes_timestamps(source.connector) else "...")
    windows = ", ".join(f"'{operator}'" for operator in fed)
    raise InputError(
        f"source '{name}' has {partitions} partitions, whose tuples have no order in time, and feeds the time windows "
        f'of {windows}; give it event_time="{known}" and out_of_order_s=... (the seconds by which tuples may come late)'
    )


def watched_sources(graph: Graph) -> frozenset[str]:
    """The sources whose tuples are counted by partition: with event times, maybe idle, or of one partition alone."""
    timed = {s.name for s in graph.sources if s.event_time is not None or s.idle_timeout_s is not None}
    return frozenset(timed | set(time_windows_by_source(graph)))


def _has_time_windows(operator: ops.Operator) -> bool:
    return has_time_windows(operator) or (isinstance(operator, ops.Sort) and operator.window.measure == "time")
