"""What a graph says of its operators that a profile needs: streams, class, scope, widths, and a key for the store."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.plan.elements.keys import Scope, partitioning_of
from penstock.plan.elements.merged_sources import needs_intake
from penstock.plan.elements.pipeline import with_files_recorded
from penstock.plan.fusion.needs import needs_of

_TEXT_BYTES = 16  # of a tuple's text, where nobody measured it
CODE_VERSION = 1  # of how operators work: functions learned with another one are not used
_LEARNED_KEY = re.compile(r"\w+-[0-9a-f]{12}-v(?P<version>\d+)")


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """An operator as a profile names it; `key` changes with its parameters and with Penstock's code."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operator_class: str
    scope: Scope
    by: tuple[str, ...]
    key: str
    bytes_per_tuple: float

    @property
    def is_source(self) -> bool:
        return not self.inputs

    @property
    def is_sink(self) -> bool:
        return self.operator_class == "sink"


def facts_of(graph: Graph) -> dict[str, OperatorFacts]:
    """By name, in program order."""
    recorded = with_files_recorded(graph)
    return {own.name: _facts(recorded, own) for own in graph.operators}


def _facts(graph: Graph, own: ops.Operator) -> OperatorFacts:
    partitioning = partitioning_of(own)
    by = partitioning.keys[0] if partitioning.keys else ()
    outputs = () if isinstance(own, ops.Sink) else own.outputs
    return OperatorFacts(
        own.name, own.inputs, outputs, type(own).__name__.lower(), _scope(graph, own), by, key_of(own),
        schema_bytes(own.schema),
    )  # fmt: skip


def _scope(graph: Graph, own: ops.Operator) -> Scope:
    """What an operator asks of its element, as the planner has it; sources and sinks divide as what they run with."""
    if isinstance(own, ops.Source):
        return "stream" if needs_intake(graph) else "none"
    return "none" if isinstance(own, ops.Sink) else needs_of(graph, own)[0]


def key_of(operator: ops.Operator) -> str:
    """Class, parameters and code version: a different parameter is a different operator (MODEL, 3.3.1).

    Names of operators and streams do not count, nor what a source reads.
    """
    skipped = {"name", "inputs", "place", "connector"}
    parts = [type(operator).__name__.lower()]
    parts += [f"{own.name}={_text(getattr(operator, own.name))}" for own in fields(operator) if own.name not in skipped]
    digest = hashlib.sha256(";".join(parts).encode()).hexdigest()[:12]
    return f"{parts[0]}-{digest}-v{CODE_VERSION}"


def is_learned_key(key: str) -> bool:
    """Whether Penstock made it, not a person."""
    return _LEARNED_KEY.fullmatch(key) is not None


def other_version_problem(operator: str, key: str) -> str | None:
    """A sentence where a key that Penstock made is of another code version; keys that people write say nothing."""
    learned = _LEARNED_KEY.fullmatch(key)
    if learned is None or int(learned["version"]) == CODE_VERSION:
        return None
    return (
        f"the function of operator '{operator}' was learned with version {learned['version']} of its code, and this is "
        f"version {CODE_VERSION}; learn it again with penstock profile"
    )


def _text(value: Any) -> str:
    """A value as text that is the same in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = ",".join(
            f"{own.name}={_text(getattr(value, own.name))}" for own in fields(value) if own.name != "place"
        )
        return f"{type(value).__name__}({inner})"
    if isinstance(value, tuple | list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, pa.Schema):
        return ",".join(f"{own.name}:{own.type}" for own in value)
    code = getattr(value, "__code__", None)
    if code is not None:
        return (
            f"{getattr(value, '__qualname__', '')}:{hashlib.sha256(code.co_code).hexdigest()[:12]}:{code.co_consts!r}"
        )
    if isinstance(value, str | int | float | bool | type(None) | frozenset | pa.DataType):
        return str(value)
    return f"{type(value).__qualname__}:{sorted(map(str, getattr(value, '__dict__', {}).items()))}"


def schema_bytes(schema: pa.Schema) -> float:
    """About how many bytes a tuple has: the width of its numbers, and a few for each text."""
    return float(sum(_width(own.type) for own in schema)) or 1.0


def _width(own: pa.DataType) -> float:
    if pa.types.is_dictionary(own):
        return 4.0
    try:
        return float(own.bit_width) / 8
    except ValueError:
        return _TEXT_BYTES
