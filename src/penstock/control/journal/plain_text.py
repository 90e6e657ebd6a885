"""Frozen dataclasses as JSON text: what `json.dumps` makes of `to_plain`, by code that is generated per class.

A journal's line takes a fifth of the CPU that way.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from functools import cache
from json.encoder import encode_basestring_ascii
from typing import Any, Union, get_args, get_origin

from penstock.control.journal.plain_values import PACKED_FROM, fields_of, pack, to_plain


def to_text(value: Any) -> str:
    """The JSON text of a dataclass.

    >>> from penstock.measure.observation import PortObservation
    >>> to_text(PortObservation("trades", 7, 224))
    '{"stream":"trades","tuples":7,"bytes":224}'
    """
    kind: Any = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: Any) -> Callable[[Any], str]:
    """The function that writes values of a dataclass; what has its default is left out."""
    names: dict[str, Any] = {"_text": encode_basestring_ascii, "_far": _far, "_whole": _whole, "_other": _other}
    lines = ["def write(o):", " parts = []"]
    for number, (name, type_, default) in enumerate(fields_of(kind)):
        lines.append(f" v = o.{name}")
        add = f"parts.append('\"{name}\":' + {_expression(type_, names)})"
        if default is not dataclasses.MISSING:
            names[f"_default{number}"] = default
            add = f"if v != _default{number}: {add}"
        lines.append(f" {add}")
    lines.append(" return '{' + ','.join(parts) + '}'")
    exec("\n".join(lines), names)
    write: Callable[[Any], str] = names["write"]
    return write


def _expression(kind: Any, names: dict[str, Any]) -> str:
    """The text of `v`, a value of some type, as an expression."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        some = next(a for a in arguments if a is not type(None))
        return f"('null' if v is None else {_expression(some, names)})"
    if kind is bool:
        return "('true' if v else 'false')"
    if kind is int:
        return "str(v)"
    if kind is float:
        return "('%.9g' % v if -1e6 < v < 1e6 else _far(v))"
    if kind is str:
        return "_text(v)"
    if origin is tuple and arguments == (int, ...):
        return "_whole(v)"
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return f"('[' + ','.join([{_expression(arguments[0], names)} for v in v]) + ']')"
    if isinstance(origin, type) and issubclass(origin, Mapping) and arguments[0] is str:
        return f"('{{' + ','.join([_text(k) + ':' + {_expression(arguments[1], names)} for k, v in v.items()]) + '}}')"
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        name = f"_write{len(names)}"
        names[name] = _writer(kind)
        return f"{name}(v)"
    return "_other(v)"


def _far(number: float) -> str:
    """A float that nine digits would not tell from its neighbours, as a moment, or that is none."""
    return json.dumps(round(number, 4))


def _whole(numbers: tuple[int, ...]) -> str:
    if len(numbers) >= PACKED_FROM:
        try:
            return f'"{pack(numbers)}"'
        except OverflowError:  # some are below 0
            pass
    return repr(list(numbers)).replace(" ", "")


def _other(value: Any) -> str:
    return json.dumps(to_plain(value), separators=(",", ":"))
