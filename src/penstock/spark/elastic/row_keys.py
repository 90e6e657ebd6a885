"""Whether a row that a function gave has the keys of the schema, also where columns are structs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from penstock.errors import did_you_mean


class RowKeys:
    """The keys of a row or struct.  Those that the schema does not have are refused, as Arrow would leave them out."""

    def __init__(self, fields: Iterable[pa.Field], within: str = "") -> None:
        fields = list(fields)
        self._within = within
        self._names = frozenset(field.name for field in fields)
        self._required = frozenset(field.name for field in fields if not field.nullable)
        self._in_order = [field.name for field in fields]
        self._nested = {field.name: keys for field in fields if (keys := _nested(field.type, field.name)) is not None}

    def check(self, row: dict[str, Any]) -> None:
        if row.keys() != self._names:
            self._check_difference(row)
        for name, (keys, depth) in self._nested.items():
            for value in _values(row.get(name), depth):
                if isinstance(value, dict):
                    keys.check(value)

    def _check_difference(self, row: dict[str, Any]) -> None:
        unknown = [str(key) for key in row if key not in self._names]
        if unknown:
            hint = did_you_mean(unknown[0], self._in_order)
            raise ValueError(
                f"must return no keys{self._within} that the schema does not have; got {_listed(unknown)}; "
                f"it has: {', '.join(self._in_order)}" + (f"; {hint}" if hint else "")
            )
        missing = [name for name in self._in_order if name in self._required and name not in row]
        if missing:
            raise ValueError(
                f"must return all keys{self._within} that the schema says are not null; "
                f"{_listed(missing)} missing; got: {', '.join(row)}"
            )


def _nested(kind: pa.DataType, name: str) -> tuple[RowKeys, int] | None:
    """The keys of structs in a column, and in how many lists they are."""
    depth = 0
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind, depth = kind.value_type, depth + 1
    return (RowKeys(kind, f" in '{name}'"), depth) if pa.types.is_struct(kind) else None


def _values(value: Any, depth: int) -> Iterable[Any]:
    if depth == 0:
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _values(one, depth - 1)


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
