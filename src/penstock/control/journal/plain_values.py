"""Frozen dataclasses as plain values for JSON, and back: short, since what has its default is left out."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
import types
import zlib
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from penstock.arguments import shown

T = TypeVar("T")
_HIGHEST = 1e18  # of a figure: more than nanoseconds of a lifetime, and what every integer type of ours holds
_UNPACKED_BYTES = 64 << 20
PACKED_FROM = 64  # a tuple of so many whole numbers is written as one string
_BASE_64 = ","
_NARROWEST = tuple((np.dtype(f"u{width}"), 256**width - 1) for width in (1, 2, 4, 8))


def to_plain(value: Any) -> Any:
    """Dictionaries, lists, numbers and strings; floats keep about nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if abs(value) < 1e6 else round(value, 4)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_plain(own) for key, own in value.items()}
    if isinstance(value, tuple | list):
        is_long = len(value) >= PACKED_FROM and all(type(own) is int and own >= 0 for own in value)
        return pack(value) if is_long else [to_plain(own) for own in value]
    kind: Any = type(value)
    own = ((name, getattr(value, name), default) for name, _, default in fields_of(kind))
    return {name: to_plain(member) for name, member, default in own if member != default}


def from_plain(kind: type[T], body: Any) -> T:
    """The dataclass that `to_plain` was given, its floats rounded; names it does not know are left out.

    ValueError where a value is not of its field's type, or too large to be one of a run.
    """
    hashable: Any = kind
    known = {name: type_ for name, type_, _ in fields_of(hashable)}
    if not isinstance(body, dict):
        raise ValueError(f"{kind.__name__} is an object; got {shown(body)}")
    missing = [name for name, _, default in fields_of(hashable) if default is dataclasses.MISSING and name not in body]
    if missing:
        raise ValueError(f"{kind.__name__} has no {', '.join(missing)}")
    return kind(**{name: _value(known[name], own, name) for name, own in body.items() if name in known})


def pack(numbers: Sequence[int]) -> str:
    """Whole numbers of at least 0 as one string: a third of the length of their digits."""
    wide = np.frombuffer(array("Q", numbers), np.uint64)
    highest = int(wide.max()) if len(wide) else 0
    narrow = wide.astype(next(kind for kind, most in _NARROWEST if highest <= most))
    planes = np.ascontiguousarray(narrow.view(np.uint8).reshape(-1, narrow.itemsize).T)  # high bytes are much alike
    return f"{narrow.itemsize}{_BASE_64}{binascii.b2a_base64(zlib.compress(planes.data, 1), newline=False).decode()}"


def unpack(text: str) -> tuple[int, ...]:
    """The numbers of `pack`; older journals have base 85, which takes ten times as long to write."""
    try:
        width, base, data = int(text[0]), text[1], text[2:]
        packed = binascii.a2b_base64(data) if base == _BASE_64 else base64.b85decode(data)
        planes = np.frombuffer(zlib.decompressobj().decompress(packed, _UNPACKED_BYTES), np.uint8).reshape(width, -1)
        return tuple(np.ascontiguousarray(planes.T).view(f"<u{width}").ravel().tolist())
    except (IndexError, TypeError, zlib.error) as error:
        raise ValueError(f"packed numbers that cannot be read: {error}") from error


def _value(kind: Any, body: Any, name: str) -> Any:
    """A value as its field's type has it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if body is None and type(None) in arguments:
            return None
        return _value(next(a for a in arguments if a is not type(None)), body, name)
    if origin is tuple and isinstance(body, str):
        return unpack(body)
    if origin is tuple and isinstance(body, list):
        return tuple(_value(arguments[0], own, name) for own in body)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(body, dict):
        return {key: _value(arguments[1], own, name) for key, own in body.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return from_plain(kind, body)
    if kind is float and _is_number(body):
        return float(body)
    if (kind is int and _is_number(body) and isinstance(body, int)) or (kind in (str, bool) and type(body) is kind):
        return body
    raise ValueError(f"'{name}' is of type {getattr(kind, '__name__', kind)}; got {shown(body)}")


def _is_number(body: Any) -> bool:
    """Whether it may be a figure of a run; infinite and unknown ones may, since models have them."""
    if not isinstance(body, int | float) or isinstance(body, bool):
        return False
    return (isinstance(body, float) and not math.isfinite(body)) or abs(body) <= _HIGHEST


@lru_cache(maxsize=64)
def fields_of(kind: Any) -> tuple[tuple[str, Any, Any], ...]:
    """Name, type and default of each field."""
    hints = get_type_hints(kind)
    found = []
    for field in dataclasses.fields(kind):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        found.append((field.name, hints[field.name], default))
    return tuple(found)
