"""Whether values that a function gave fit their types, where Arrow would make other values of them without a word."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import did_you_mean

Check = Callable[[Any], None]
_MOST_FLOAT32 = 3.4028235677973366e38  # from here on it is infinite
_TEXTS = (str, bytes, bytearray, memoryview)


class StructCheck:
    """The keys of a row or struct, and its values.  Keys that the schema does not have Arrow would leave out."""

    def __init__(self, fields: Iterable[pa.Field], where: str = "") -> None:
        fields = list(fields)
        self._where, self._within = where, f" in '{where}'" if where else ""
        self._names = frozenset(field.name for field in fields)
        self._required = frozenset(field.name for field in fields if not field.nullable)
        self._in_order = [field.name for field in fields]
        self._checks = checks_of(fields, where)

    def __call__(self, row: Any) -> None:
        if not isinstance(row, dict):
            if row is None or isinstance(row, pa.Scalar):
                return
            raise TypeError(f"must return a dict for '{self._where}'; got {type(row).__name__}")
        if row.keys() != self._names:
            self._check_difference(row)
        check_values(row, self._checks)

    def _check_difference(self, row: dict[str, Any]) -> None:
        check_no_unknown(row, self._in_order, self._within)
        missing = [name for name in self._in_order if name in self._required and name not in row]
        if missing:
            raise ValueError(
                f"must return all keys{self._within} that the schema says are not null; "
                f"{_listed(missing)} missing; got: {', '.join(row)}"
            )


def checks_of(fields: Iterable[pa.Field], where: str = "") -> list[tuple[str, Check]]:
    """The checks of a row's or struct's values, by name, where there are any."""
    own = [(field.name, check_of(field.type, f"{where}.{field.name}" if where else field.name)) for field in fields]
    return [(name, check) for name, check in own if check is not None]


def check_values(row: dict[str, Any], checks: Iterable[tuple[str, Check]]) -> None:
    for name, check in checks:
        value = row.get(name)
        if value is not None:
            check(value)


def check_of(kind: pa.DataType, where: str) -> Check | None:
    """The check of values of a type; None where Arrow itself refuses whatever does not fit."""
    if pa.types.is_integer(kind):
        return _whole(where)
    if pa.types.is_float32(kind):
        return _not_too_large(where)
    if pa.types.is_struct(kind):
        return StructCheck(kind, where)
    if pa.types.is_map(kind):
        return _map(check_of(kind.key_type, where), check_of(kind.item_type, where))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list(check_of(kind.value_type, where), where)
    return None


def check_no_unknown(names: Iterable[Any], known: list[str], within: str) -> None:
    """Refuses names that the schema does not have; `within` says where, if not in a row."""
    unknown = [str(name) for name in names if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise ValueError(
            f"must return no keys{within} that the schema does not have; got {_listed(unknown)}; "
            f"it has: {', '.join(known)}" + (f"; {hint}" if hint else "")
        )


def _whole(where: str) -> Check:
    """Arrow cuts fractions off."""

    def check(value: Any) -> None:
        if type(value) is not int and not _is_whole(value):
            raise ValueError(f"must return whole numbers for '{where}'; got {value!r}; round it")

    return check


def _is_whole(value: Any) -> bool:
    """True, too, for what is no number: Arrow refuses that."""
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    try:
        return value is None or bool(int(value) == value)
    except (TypeError, ValueError, OverflowError):
        return True


def _not_too_large(where: str) -> Check:
    """Arrow makes infinity of what a float cannot hold."""

    def check(value: Any) -> None:
        if isinstance(value, float) and math.isfinite(value) and abs(value) >= _MOST_FLOAT32:
            raise ValueError(f"must return numbers for '{where}' that a float can hold; got {value!r}; use double")

    return check


def _list(inner: Check | None, where: str) -> Check:
    """Arrow takes a text for the list of its letters."""

    def check(value: Any) -> None:
        if isinstance(value, (*_TEXTS, Mapping)):
            raise TypeError(f"must return a list for '{where}'; got {type(value).__name__}")
        if inner is not None and isinstance(value, list | tuple | set | frozenset | np.ndarray):
            for one in value:
                if one is not None:
                    inner(one)

    return check


def _map(key: Check | None, item: Check | None) -> Check | None:
    """A map is a dict, or pairs."""
    if key is None and item is None:
        return None

    def check(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        for own_key, own_item in pairs:
            if key is not None:
                key(own_key)
            if item is not None and own_item is not None:
                item(own_item)

    return check


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
