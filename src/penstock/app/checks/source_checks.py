"""What must hold of a source's connector and schema; what does not is noted with the operator's other mistakes."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pyarrow as pa

from penstock.app.operators import DEFAULT_MAX_AHEAD_S, Source
from penstock.app.workbook import Entry
from penstock.arguments import shown
from penstock.block.schema import word_of
from penstock.connectors.arriving.arrival import INTAKE, Arrival, ArrivalColumn
from penstock.connectors.frames import has_frame
from penstock.connectors.planned.source_port import MEMBERS, lacking, source_port
from penstock.errors import InputError


def schema_of_source(entry: Entry, connector: object, given: object) -> pa.Schema:
    """The schema that was given, else the connector's own."""
    if given is not None or not _has_schema(connector):
        return entry.schema(given)
    try:
        schema = connector.schema  # type: ignore[attr-defined]
        return schema if has_frame(connector) and not schema.names else entry.schema(schema)  # `problems` says why
    except InputError as error:
        entry.problem(f"cannot read its source: {error}")
        return pa.schema([])


def _has_schema(connector: object) -> bool:
    """Whether a connector knows the schema of its tuples; what is wrong with it is said when it is asked again."""
    try:
        return getattr(connector, "schema", None) is not None
    except InputError:
        return True


def check_stamp(entry: Entry, stamp: str | None, schema: pa.Schema) -> None:
    _check_time(entry, stamp, schema, "stamp")


def checked_arrival(entry: Entry, arrival: object, schema: pa.Schema) -> Arrival:
    """What latency counts from; notes what is something else."""
    if isinstance(arrival, ArrivalColumn):
        _check_time(entry, arrival.name, schema, "arrival")
        return arrival
    if arrival is not None and arrival != INTAKE:
        hint = f"use ps.sources.column({arrival!r})" if arrival in schema.names else None
        entry.problem(f'needs arrival as ps.sources.column("name"), "intake" or None; got {shown(arrival)}', hint)
    return INTAKE if arrival == INTAKE else None


def checked_event_time(entry: Entry, source: Source) -> Source:
    """The source with numbers as floats; notes what does not fit, and puts the default in its place."""
    _check_time(entry, source.event_time, source.schema, "event_time")
    if source.late not in ("dead_letter", "drop"):
        entry.problem(f"needs late as 'dead_letter' or 'drop'; got {shown(source.late)}")
        source = replace(source, late="dead_letter")
    _check_alone(entry, source)
    return replace(
        source,
        out_of_order_s=_seconds(entry, source.out_of_order_s, "out_of_order_s", at_least_0=True),
        max_ahead_s=_seconds(entry, source.max_ahead_s, "max_ahead_s"),
        idle_timeout_s=_seconds(entry, source.idle_timeout_s, "idle_timeout_s"),
    )


def _check_alone(entry: Entry, source: Source) -> None:
    """Notes settings that need another one, which is missing."""
    hint = "add event_time='attribute'"
    if source.event_time is None and source.out_of_order_s is not None:
        entry.problem(f"has out_of_order_s={shown(source.out_of_order_s)} but no event time", hint)
    if source.event_time is None and source.max_ahead_s != DEFAULT_MAX_AHEAD_S:
        entry.problem(f"has max_ahead_s={shown(source.max_ahead_s)} but no event time", hint)
    if source.late == "drop" and source.out_of_order_s is None:
        entry.problem("has late='drop' but no bound from which on a tuple is late", "add out_of_order_s=...")


def _seconds(entry: Entry, given: float | None, what: str, *, at_least_0: bool = False) -> float | None:
    return None if given is None else entry.number(given, what, at_least_0=at_least_0)


def _check_time(entry: Entry, name: str | None, schema: pa.Schema, what: str) -> None:
    if name is not None and entry.has_attribute(name, schema, what):
        kind = schema.field(name).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            entry.problem(
                f"has the {what.replace('_', ' ')} '{name}', which must be a timestamp or a number; got {word_of(kind)}"
            )


def check_connector(entry: Entry, connector: object, schema: pa.Schema) -> None:
    port = source_port(connector)
    if port is not None:
        for problem in port.problems(Source(entry.name, (), schema)):
            entry.problem(problem)
    elif connector is not None:
        missing = lacking(connector)
        hint = f"a source of your own lacks {', '.join(missing)}" if len(missing) < len(MEMBERS) - 1 else None
        if isinstance(connector, type) and not missing:
            hint = f"it is a class: give an object of it, {connector.__name__}(...)"
        if inspect.isfunction(connector) and connector.__module__ == "penstock.sources":
            hint = f"call it: ps.sources.{connector.__name__}(...)"
        entry.problem(f"needs a source such as ps.sources.csv('file.csv'); got {shown(connector)}", hint)
