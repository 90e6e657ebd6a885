"""Dead letters of the reference."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from tests.reference.events import Row

Letter = tuple[str, str, str]


@dataclass
class Letters:
    """Operator, reason and row of every tuple that could not be used."""

    letters: list[Letter] = field(default_factory=list)

    def add(self, operator: str, reason: str, row: Row, schema: pa.Schema) -> None:
        self.letters.append((operator, reason, json.dumps(with_moments(row, schema), default=str, ensure_ascii=False)))


def with_moments(row: Row, schema: pa.Schema) -> Row:
    """The row as Arrow would show it: microseconds become moments."""
    return {name: _shown(row[name], schema.field(name).type) for name in schema.names}


def _shown(value: object, type_: pa.DataType) -> object:
    if isinstance(value, int) and pa.types.is_timestamp(type_):
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    return value


def failure(error: Exception) -> str:
    """What is said of a user's function that raised, with the line of the user's that did."""
    lines = traceback.extract_tb(error.__traceback__)
    last = [line for line in lines if "pyarrow" not in line.filename and "reference" not in line.filename][-1]
    return f"failed with {type(error).__name__}: {error} at {Path(last.filename).name}:{last.lineno}"
