"""The paths that a user gave to sources and sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from penstock.connectors.csv import CsvSource
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.sinks.sink_port import SinkPort
from penstock.connectors.trace.source import TraceSource

Connector = TypeVar("Connector")


def paths_of(connector: object) -> tuple[str, ...]:
    """The paths that a user gave to a source or sink; none where it has none."""
    if isinstance(connector, CsvSource | ParquetSource) or _has_folder(connector):
        return (connector.path,)  # type: ignore[attr-defined]
    if isinstance(connector, TraceSource) and not isinstance(connector.rate, str):
        return connector.rate
    return ()


def with_paths(connector: Connector, changed: Callable[[str], str]) -> Connector:
    """The same source or sink with other paths."""
    if isinstance(connector, CsvSource | ParquetSource) or _has_folder(connector):
        given: Any = connector
        changed_one: Connector = replace(given, path=changed(given.path))
        return changed_one
    if isinstance(connector, TraceSource) and not isinstance(connector.rate, str):
        return replace(connector, rate=tuple(map(changed, connector.rate)))
    return connector


def _has_folder(connector: object) -> bool:
    """Whether a sink writes to a folder: it is a dataclass with a field `path`."""
    if not isinstance(connector, SinkPort) or not is_dataclass(connector):
        return False
    return any(field.name == "path" for field in fields(connector)) and isinstance(getattr(connector, "path"), str)  # noqa: B009
