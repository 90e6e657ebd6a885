"""The environment of an evaluation: the columns an expression reads, and where its tuples stand in their stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.block.column import Array, Column

Key = tuple[str | None, str]


class Environment:
    """Columns by (port, name), all of `rows` rows; the tuples are number `first_sequence` and on at their operator."""

    __slots__ = ("columns", "first_sequence", "rows")

    def __init__(self, rows: int, columns: Mapping[Key, Column], first_sequence: int = 0) -> None:
        self.rows, self.columns, self.first_sequence = rows, columns, first_sequence

    def column(self, key: Key) -> Column:
        """The column of an attribute: its exact key, else the only one of that name."""
        return self.columns[key if key in self.columns else self.key(key)]

    def key(self, key: Key) -> Key:
        """The key under which an attribute is kept."""
        if key in self.columns:
            return key
        same_name = [known for known in self.columns if known[1] == key[1] and (key[0] is None or known[0] is None)]
        if len(same_name) != 1:
            raise KeyError(f"no column for attribute {key}; there are: {sorted(self.columns, key=str)}")
        return same_name[0]

    def sequence(self) -> Array:
        """The tuples' numbers at their operator."""
        return np.arange(self.first_sequence, self.first_sequence + self.rows, dtype=np.int64)


class TakenEnvironment(Environment):
    """Some rows of another environment; a column is taken when first read."""

    __slots__ = ("_all", "_rows_taken", "_taken")

    def __init__(self, environment: Environment, rows: Array) -> None:
        super().__init__(len(rows), environment.columns, environment.first_sequence)
        self._all, self._rows_taken = environment, rows
        self._taken: dict[Key, Column] = {}

    def column(self, key: Key) -> Column:
        if key not in self._taken:
            self._taken[key] = self._all.column(key).take(self._rows_taken)
        return self._taken[key]

    def sequence(self) -> Array:
        numbers: Array = self._rows_taken + self.first_sequence
        return numbers


class _Tuples(Protocol):
    schema: pa.Schema
    columns: tuple[Column, ...]
    rows: int


def environment_of(block: _Tuples, first_sequence: int = 0) -> Environment:
    """The environment of a block's columns, without a qualifier."""
    columns: dict[Key, Column] = {
        (None, name): column for name, column in zip(block.schema.names, block.columns, strict=True)
    }
    return Environment(block.rows, columns, first_sequence)
