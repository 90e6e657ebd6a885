"""Sinks that call the user's function: with a table, or with a DataFrame of the session that they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.block.block import Block
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.arrow_part import ArrowPart
from penstock.connectors.sinks.frame_part import FramePart, frame_of
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.errors import InputError, OperatorError, Problem


@dataclass(frozen=True, slots=True)
class _FunctionSink:
    """What both have in common; a stored application has no function."""

    function: Callable[[Any, int], object] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), ()

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("at least once", "replicas")

    def problems(self) -> Iterator[Problem]:
        if not callable(self.function):
            yield Problem("", f"needs a function of a batch's tuples and its id; got {self.function!r}")

    def claim(self, claim: Claim) -> None:
        """Functions belong to their driver."""

    def open(self, part: Part) -> ArrowPart | FramePart:
        return part.stage()

    def write(self, opened: ArrowPart | FramePart, tuples: Block) -> None:
        opened.write(tuples)

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""


@dataclass(frozen=True, slots=True)
class CallbackSink(_FunctionSink):
    """Tuples given to `function(table, BatchId)` in the driver; a stored application has no function."""

    def publish(self, delivery: Delivery) -> None:
        if delivery.parts:
            delivery.fence()
            _call(delivery.sink, self.function, delivery.table(), delivery.batch)


@dataclass(frozen=True, slots=True)
class ForeachBatchSink(_FunctionSink):
    """Tuples given to `function(dataframe, BatchId)` in the driver; a stored application has no function."""

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("at least once", "replicas", needs_spark=True)

    def open(self, part: Part) -> FramePart:
        return FramePart(part)

    def publish(self, delivery: Delivery) -> None:
        if delivery.parts:
            delivery.fence()
            _call(delivery.sink, self.function, frame_of(delivery), delivery.batch)


def _call(name: str, function: Callable[[Any, int], object] | None, given: Any, batch: BatchId) -> None:
    """Gives a batch's tuples to the sink's function; its exceptions get the sink's name."""
    if function is None:
        raise InputError(f"sink '{name}' lost its function when the application was stored as text; "
                         "build the application again in Python")  # fmt: skip
    try:
        function(given, batch)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise OperatorError(f"the function of sink '{name}' failed at batch {batch}: {reason}") from error
