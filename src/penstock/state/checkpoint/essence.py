"""What of an operator shapes its state, as a digest: a checkpoint goes on only with operators of the same."""

from __future__ import annotations

import copyreg
import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np
import pyarrow as pa

from penstock.app.absolute_paths import without_paths
from penstock.app.graph import Graph
from penstock.app.operators import Custom

_PROTOCOL = 4  # of pickling; fixed, as what objects say differs between protocols
_DEEPEST = 12  # of parameters inside parameters; below it the type alone counts


def operator_digests(graph: Graph, *, has_paths: bool = False, of_attributes: bool = False) -> dict[str, str]:
    """A digest by operator: its settings, the schemas it reads, and the parameters of a user's operator.

    Functions count by name, not by code.  A setting at its default does not count, so that a later version may add one.
    Paths are compared apart, as they may be written in several ways; digests of before have them (`has_paths`).  Those
    of version 3 have no parameters but attributes (`of_attributes`): they do not tell 1 s from 9 s in a timedelta.
    """
    graph = graph if has_paths else without_paths(graph)
    return {operator.name: _digest(graph, operator, of_attributes) for operator in graph.operators}


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The operators that are not the same in both, or are in one alone."""
    return [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]


def _digest(graph: Graph, operator: Any, of_attributes: bool) -> str:
    inputs = [str(graph.producer(stream).schema) for stream in operator.inputs]
    parts: list[object] = [_essence(operator), inputs]
    if isinstance(operator, Custom):
        parts.append(_Parameters(of_attributes).of(operator.instance, 0))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _essence(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(f.name, _essence(getattr(value, f.name))) for f in fields(value) if _counts(f, value)]
        return type(value).__name__, parts
    if isinstance(value, tuple | list):
        return [_essence(item) for item in value]
    if isinstance(value, Mapping):
        return [(str(key), _essence(item)) for key, item in value.items()]
    if isinstance(value, str | int | float | bool | pa.Schema | pa.DataType) or value is None:
        return str(value)
    return getattr(value, "__qualname__", None) or type(value).__qualname__


def _counts(own: Field[Any], value: object) -> bool:
    """Whether a field says something: not where in the user's file it stands, not what may change between two starts,
    and not what is so by default."""
    if own.name == "place" or not own.metadata.get("shapes_state", True):
        return False
    if own.default is not MISSING:
        default = own.default
    elif own.default_factory is not MISSING:
        default = own.default_factory()
    else:
        return True
    given = getattr(value, own.name)
    return type(given) is not type(default) or given != default


class _Parameters:
    """The values that an object carries, as far down as they are plain; of anything else its type."""

    def __init__(self, of_attributes: bool) -> None:
        self._of_attributes = of_attributes
        self._above: list[object] = []  # the objects that the one at hand is in

    def of(self, value: Any, depth: int) -> object:
        if value is None or isinstance(value, str | bytes | int | float | complex | pa.Schema | pa.DataType):
            return repr(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._of_array(value, depth)
        if depth >= _DEEPEST or isinstance(value, type) or callable(getattr(value, "__func__", None)):
            return getattr(value, "__qualname__", type(value).__qualname__)
        if any(value is own for own in self._above):
            return type(value).__qualname__
        self._above.append(value)
        try:
            return self._of_parts(value, depth + 1)
        finally:
            self._above.pop()

    def _of_parts(self, value: Any, depth: int) -> object:
        if isinstance(value, Mapping):
            return sorted((repr(key), self.of(item, depth)) for key, item in value.items())
        if isinstance(value, set | frozenset):
            return sorted(repr(self.of(item, depth)) for item in value)
        if isinstance(value, tuple | list):
            return [self.of(item, depth) for item in value]
        if isinstance(value, ModuleType):
            return value.__name__
        if hasattr(value, "__qualname__"):  # a function
            return value.__qualname__
        reduced = None if self._of_attributes else _reduced(value)
        if reduced is not None:
            return type(value).__qualname__, self.of(reduced, depth)
        return type(value).__qualname__, [(name, self.of(item, depth)) for name, item in sorted(_members(value))]

    def _of_array(self, value: Any, depth: int) -> object:
        if value.dtype.hasobject and not self._of_attributes:  # whose bytes are addresses
            return str(value.dtype), np.shape(value), [self.of(item, depth + 1) for item in value.ravel().tolist()]
        return str(value.dtype), np.shape(value), hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def _reduced(value: Any) -> object:
    """What an object that has no attributes to look at says it is made of, as for pickling; None where it does not.

    Moments, decimals, partial functions and deques are such.  A random generator is none: without a seed it is another
    one at each start.
    """
    kind, plain = type(value), cast(Any, object)
    if isinstance(value, random.Random) or kind.__module__.startswith("numpy.random"):
        return None
    try:
        if kind in copyreg.dispatch_table:
            found: Any = copyreg.dispatch_table[kind](value)
        elif kind.__reduce__ is not plain.__reduce__:
            found = value.__reduce__()
        elif kind.__reduce_ex__ is not plain.__reduce_ex__:
            found = value.__reduce_ex__(_PROTOCOL)
        else:
            return None
    except Exception:  # such as a lock, which has no comparable contents
        return None
    return found if isinstance(found, str) else [list(own) if hasattr(own, "__next__") else own for own in found]


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """The attributes of an object, in its dictionary or in slots."""
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and name not in ("__dict__", "__weakref__"):
                yield name, getattr(value, name)
