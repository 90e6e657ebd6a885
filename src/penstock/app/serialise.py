"""Graphs as JSON text and back; functions are written as module:name."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.app import operators
from penstock.app.graph import Graph, Request
from penstock.app.place import Place
from penstock.app.windows import Window
from penstock.arguments import TEXT, check_arguments, shown
from penstock.block.schema import schema_of, type_of, word_of, words_of
from penstock.connectors.arriving.arrival import ArrivalColumn
from penstock.connectors.kinds import KIND_BY_NAME
from penstock.errors import InputError
from penstock.expressions.parser import parse, to_text
from penstock.expressions.tree import Attribute, Call, Literal

FORMAT = 1
_RULE = "an application's JSON is an object written by Application.to_json"
_KINDS: dict[str, type[Any]] = {
    **{kind.__name__: kind for kind in operators.Operator.__args__},
    **KIND_BY_NAME,
    **{
        kind.__name__: kind
        for kind in (
            operators.Emit,
            operators.Branch,
            operators.SortKey,
            operators.AggregateFunction,
            ArrivalColumn,
            Window,
            Place,
            Request,
        )
    },
}


def graph_to_json(graph: Graph) -> str:
    """One JSON object, the same text for equal graphs."""
    body = {
        "penstock": FORMAT,
        "name": graph.name,
        "operators": [_write(o) for o in graph.operators],
        "requests": [_write(r) for r in graph.requests],
    }
    return json.dumps(body, indent=1)


def graph_from_json(text: str) -> Graph:
    """The graph that `graph_to_json` wrote."""
    check_arguments("Application.from_json", text=(text, TEXT))
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or "penstock" not in body:
            raise InputError(f"{_RULE}; got {shown(body)}")
        if body["penstock"] != FORMAT:
            raise InputError(f"an application's JSON has format {FORMAT} here; got {body['penstock']!r}")
        graph = Graph(body["name"], tuple(map(_read, body["operators"])), tuple(map(_read, body["requests"])))
        _check_inputs(graph)
        return graph
    except json.JSONDecodeError as error:
        raise InputError(f"{_RULE}; got text that is not JSON: {error}") from error
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        raise InputError(f"{_RULE}; got a mistake at {error}") from error


def _check_inputs(graph: Graph) -> None:
    """Every operator reads streams of operators before it."""
    known: set[str] = set()
    for operator in graph.operators:
        for stream in operator.inputs:
            if stream not in known:
                raise InputError(f"operator '{operator.name}' reads '{stream}', which no operator before it emits")
        known.update(operator.outputs)


def _write(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Literal | Attribute | Call):
        return {"is": "Expression", "text": to_text(value)}
    if isinstance(value, pa.Schema):
        return {"is": "Schema", "attributes": words_of(value)}
    if isinstance(value, pa.DataType):
        return {"is": "Type", "word": word_of(value)}
    if isinstance(value, tuple):
        return [_write(member) for member in value]
    if dataclasses.is_dataclass(value) and type(value).__name__ in _KINDS:
        fields = [f for f in dataclasses.fields(value) if f.metadata.get("stored", True)]
        members = {f.name: _write(getattr(value, f.name)) for f in fields}
        return {"is": type(value).__name__, **members}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):  # a sink of the user's own
        stored = {
            f.name: _write(getattr(value, f.name)) for f in dataclasses.fields(value) if f.metadata.get("stored", True)
        }
        return {"is": "Instance", "class": _object_name(type(value)), "fields": stored}
    return {"is": "Object", "name": _object_name(value)}


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(member) for member in value)
    if not isinstance(value, dict):
        return value
    kind = value["is"]
    if kind in _READERS:
        return _READERS[kind](value)
    return _KINDS[kind](**{name: _read(member) for name, member in value.items() if name != "is"})


def _object_name(value: Any) -> str:
    """module:name of a function, or of the class of an object that has no arguments."""
    named = value if hasattr(value, "__qualname__") else type(value)
    name = f"{named.__module__}:{named.__qualname__}"
    if "<" in name or (named is not value and getattr(value, "__dict__", None)):
        raise InputError(f"an application with {value!r} cannot be written as JSON; only functions with a name, and "
                         "objects without fields, can be found again by name")  # fmt: skip
    return name if named is value else name + "()"


def _read_object(value: dict[str, str]) -> Any:
    module, _, name = value["name"].partition(":")
    found: Any = importlib.import_module(module)
    for part in name.removesuffix("()").split("."):
        found = getattr(found, part)
    return found() if name.endswith("()") else found


def _read_instance(value: dict[str, Any]) -> Any:
    kind = _read_object({"name": value["class"]})
    return kind(**{name: _read(member) for name, member in value["fields"].items()})


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Expression": lambda value: parse(value["text"]),
    "Schema": lambda value: schema_of(value["attributes"]),
    "Type": lambda value: type_of(value["word"]),
    "Object": _read_object,
    "Instance": _read_instance,
}
