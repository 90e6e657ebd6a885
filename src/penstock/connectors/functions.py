"""Sinks that call the user's function or print: the same in every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.connectors.console import ConsoleSink, console_text
from penstock.errors import InputError, OperatorError


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """Tuples given to `function(table, batch_id)` in the driver; a stored application has no function."""

    function: Callable[[pa.Table, int], object] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return CallbackSink, ()


@dataclass(frozen=True, slots=True)
class ForeachBatchSink:
    """Tuples given to `function(dataframe, batch_id)` in the driver; a stored application has no function."""

    function: Callable[[Any, int], object] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return ForeachBatchSink, ()


def call_sink(name: str, connector: CallbackSink | ForeachBatchSink, given: Any, batch: int) -> None:
    """Gives a batch's tuples to the sink's function; what that raises is told with the sink's name."""
    if connector.function is None:
        raise InputError(f"sink '{name}' has lost its function on the way through a file; build the application anew")
    try:
        connector.function(given, batch)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise OperatorError(f"the function of sink '{name}' failed at batch {batch}: {reason}") from error


def deliver_to_user(name: str, connector: object, table: pa.Table, batch: int) -> None:
    """Calls back or prints, where the sink does so."""
    if isinstance(connector, CallbackSink):
        call_sink(name, connector, table, batch)
    elif isinstance(connector, ConsoleSink):
        print(console_text(name, table, batch, connector.rows), flush=True)
