"""How much an operator keeps, from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import Window
from penstock.expressions.check import aggregate_calls
from penstock.expressions.tree import Attribute, attributes
from penstock.plan.elements.keys import Scope, partitioning_of

STRING_BYTES = 16  # a guess, named wherever it is used: an offset and a dozen letters
POINTER_BYTES = 8
_OF_ROWS = {"collect", "count_distinct"}
_OF_WINDOW = ("mcnt", "window_start", "window_end")


@dataclass(frozen=True, slots=True)
class GroupBytes:
    """What a kernel keeps of a group whose window is full; `own`: before any tuple, where memory comes with tuples.

    Then `entry` bytes are kept of `every` tuples together, with up to a quarter more, and at least `least` of them.
    """

    full: int
    own: int | None = None
    entry: int = 0
    every: int = 1
    least: int = 0

    def __str__(self) -> str:
        if self.own is None:
            return "in its compiled kernel"
        tuples = "tuple" if self.every == 1 else f"{self.every:,} tuples"
        return (f"{self.own:,} for a key, and {self.entry:,} to {1.25 * self.entry:g} for each {tuples} that it holds, "
                f"at least {self.least} of these; {self.full:,} once its window is full")  # fmt: skip


@dataclass(frozen=True, slots=True)
class State:
    """Bytes kept per key (or in all, where `scope` is the stream); None where that depends on the stream."""

    scope: Scope
    size_bytes: int | None
    because: str

    def __str__(self) -> str:
        if self.scope == "none" or self.size_bytes == 0:
            return "none"
        amount = "depends on the stream" if self.size_bytes is None else f"{self.size_bytes:,} bytes"
        return amount if self.size_bytes is None else f"{amount} {'per key' if self.scope == 'key' else 'in all'}"


def state_of(graph: Graph, operator: ops.Operator, kernel_bytes: Mapping[str, GroupBytes] | None = None) -> State:
    """What an operator keeps; `kernel_bytes` has the bytes per group of those operators whose kernel was asked."""
    scope = partitioning_of(operator).scope
    schemas = [graph.producer(stream).schema for stream in operator.inputs]
    asked = (kernel_bytes or {}).get(operator.name)
    match operator:
        case ops.Aggregate() if asked is not None:
            return State(scope, asked.full, str(asked))
        case ops.Aggregate():
            return _of_aggregate(operator, schemas[0], scope)
        case ops.Join():
            return _of_join(operator, schemas, scope)
        case ops.Sort():
            return _of_rows(operator.window, schemas[0], scope)
        case ops.Functor() if scope == "stream":
            return State(scope, POINTER_BYTES, "one counter")
        case ops.Throttle() | ops.Delay():
            return State("stream", None, f"{row_text(schemas[0])} that waits")
        case ops.Barrier():
            return State("stream", None, "every tuple that waits for its partners")
        case ops.Custom():
            return State(scope, None, "depends on its state()")
        case _:
            return State("none", 0, "no state")


def row_bytes(schema: pa.Schema) -> int:
    """Bytes of one tuple; strings and lists are guessed as `STRING_BYTES`."""
    return sum(_width(field.type) for field in schema)


def row_text(schema: pa.Schema) -> str:
    """`24 bytes a tuple`, with the guess named where one was made."""
    guessed = any(not _is_fixed(field.type) for field in schema)
    return f"{row_bytes(schema)} bytes a tuple" + (f" (strings guessed at {STRING_BYTES})" if guessed else "")


def _of_aggregate(operator: ops.Aggregate, schema: pa.Schema, scope: Scope) -> State:
    read = {name for emit in operator.emit for _, name in attributes(emit.expression)} - set(operator.by)
    held = pa.schema([field for field in schema if field.name in read])
    window = operator.window
    if window.measure == "time" and not operator.functions and not _needs_rows(operator, held):
        panes = int(window.size // window.every) + (1 if window.kind == "sliding" else 0)
        calls = _calls(operator)
        size = panes * (calls + 2) * POINTER_BYTES
        words = f"{_counted(panes, 'pane')} x ({_counted(calls, 'aggregate')} + 2) x {POINTER_BYTES} bytes"
        return State(scope, size, f"about {words}")
    return _of_rows(window, held, scope)


def _needs_rows(operator: ops.Aggregate, held: pa.Schema) -> bool:
    """Whether the tuples themselves are kept: text and lists are, and what no running value can say."""
    calls = {call.function for emit in operator.emit for call in aggregate_calls(emit.expression, {})}
    return bool(calls & _OF_ROWS) or not all(pa.types.is_primitive(field.type) for field in held)


def _of_join(operator: ops.Join, schemas: list[pa.Schema], scope: Scope) -> State:
    sides = [_of_rows(w, s, scope) for w, s in zip((operator.left_window, operator.right_window), schemas, strict=True)]
    sizes = [side.size_bytes for side in sides]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return State(
        scope, total, "; ".join(f"{name}: {side.because}" for name, side in zip(("left", "right"), sides, strict=True))
    )


def _of_rows(window: Window, schema: pa.Schema, scope: Scope) -> State:
    """Tuples held as they are, each with a pointer to the next."""
    width = row_bytes(schema) + POINTER_BYTES
    text = row_text(schema)
    if window.measure == "count":
        return State(scope, int(window.size) * width, f"{int(window.size):,} tuples x ({text} + {POINTER_BYTES})")
    return State(scope, None, f"the tuples of its window ({window}) x ({text} + {POINTER_BYTES})")


def _calls(operator: ops.Aggregate) -> int:
    """Distinct aggregates that are kept per pane; a window's bounds and the key's own attributes are known anyway."""
    calls = {call for emit in operator.emit for call in aggregate_calls(emit.expression, {})}
    of_key = {Attribute(name) for name in operator.by}
    return sum(c.function not in _OF_WINDOW and not (c.arguments and c.arguments[0] in of_key) for c in calls)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _is_fixed(type_: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(type_) or pa.types.is_boolean(type_) or pa.types.is_dictionary(type_))


def _width(type_: pa.DataType) -> int:
    if pa.types.is_dictionary(type_):
        return 4
    if pa.types.is_boolean(type_):
        return 1
    return type_.bit_width // 8 if _is_fixed(type_) else STRING_BYTES
