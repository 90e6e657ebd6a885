"""Checks of a window against the stream it is put on."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from penstock.app.windows import Window
from penstock.app.workbook import Entry
from penstock.arguments import shown
from penstock.block.schema import word_of
from penstock.expressions.tree import Call, Expression, walk


def check_window(entry: Entry, window: object, schema: pa.Schema, *, has_groups: bool, joins: bool = False) -> None:
    """Notes what does not fit between a window and its stream."""
    if not isinstance(window, Window):
        entry.problem(f"needs a window such as ps.sliding(count=4); got {shown(window)}")
        return
    if window.mistake is not None:
        entry.problem(f"has a wrong window: {window.mistake}")
        return
    if window.on is not None and entry.has_attribute(window.on, schema, "the window's on"):
        kind = schema.field(window.on).type
        if not (
            pa.types.is_timestamp(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_null(kind)
        ):
            entry.problem(f"has a {window.measure} window on '{window.on}', which must be a timestamp or a number; "
                          f"got {word_of(kind)}")  # fmt: skip
    if window.per_group and not has_groups:
        entry.problem("has a window per group but no groups", "add on=..." if joins else "add by=...")
    if joins and (window.kind != "sliding" or window.measure == "punctuation"):
        entry.problem(f"joins sliding windows by count, time or delta; got {window}")


def check_bounds(entry: Entry, window: object, expressions: Iterable[Expression]) -> None:
    """Notes calls of window_start and window_end over windows that have no bounds in time."""
    calls = {node.function for e in expressions for node in walk(e) if isinstance(node, Call)}
    for function in sorted(calls & {"window_start", "window_end"}):
        if isinstance(window, Window) and window.measure != "time" and window.mistake is None:
            entry.problem(f"calls {function}, which only a time window has; got {window}")


def check_sort_window(entry: Entry, window: object, schema: pa.Schema) -> None:
    """Sort takes tumbling windows, or a sliding count window."""
    check_window(entry, window, schema, has_groups=False)
    if not isinstance(window, Window) or window.mistake is not None:
        return
    if window.kind == "sliding" and (window.measure != "count" or window.every != 1):
        entry.problem(f"sorts in a tumbling window or in sliding(count=n); got {window}")
