"""What must hold of a sink's connector; what does not is noted with the operator's other mistakes."""

from __future__ import annotations

import inspect

import pyarrow as pa

from penstock.app.workbook import Entry
from penstock.arguments import shown
from penstock.connectors.sinks.sink_port import SinkPort

_MEMBERS = ("promise", "claim", "open", "write", "publish", "sweep")


def check_sink(entry: Entry, sink: object, schema: pa.Schema) -> None:
    """Notes what is no sink, and what a sink finds wrong: about itself (`problems()`), or about its input.

    For the latter it has a method `schema_problems(schema)`; both may be missing.
    """
    if sink is None:
        return
    lacking = [name for name in _MEMBERS if not hasattr(sink, name)]
    if isinstance(sink, type) or len(lacking) == len(_MEMBERS):
        hint = None
        if inspect.isfunction(sink) and sink.__module__ == "penstock.sinks":
            hint = f"call it: ps.sinks.{sink.__name__}(...)"
        entry.problem(f"needs a sink such as ps.sinks.parquet('directory'); got {shown(sink)}", hint)
    elif lacking:
        names = ", ".join(f"'{name}'" for name in lacking)
        entry.problem(f"needs a sink with all of ps.sinks.SinkPort; {type(sink).__name__} lacks {names}")
    elif isinstance(sink, SinkPort):
        own, of_schema = getattr(sink, "problems", tuple), getattr(sink, "schema_problems", lambda schema: ())
        for problem in (*own(), *of_schema(schema)):
            entry.problem(problem.sentence, problem.hint)
