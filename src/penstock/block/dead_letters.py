"""Dead letters: tuples that could not be used, each with the operator, the reason and the tuple itself."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from penstock.block.block import Block
from penstock.block.position import Integers
from penstock.errors import OperatorError

# one for all rows: json.dumps would make an encoder per row, which doubled the time of a stream of late tuples
_ENCODER = json.JSONEncoder(default=str, ensure_ascii=False)
Letter = dict[str, str]
SCHEMA = pa.schema([("operator", pa.string()), ("reason", pa.string()), ("row", pa.string())])


class DeadLetters:
    """Collects dead letters; with `fail` the first one stops the application instead."""

    def __init__(self, *, fail: bool = False) -> None:
        self.fail = fail
        self._letters: list[Letter] = []

    def __len__(self) -> int:
        return len(self._letters)

    def add(self, operator: str, reason: str, row: dict[str, Any]) -> None:
        if self.fail:
            raise OperatorError(
                f"operator '{operator}' {reason}; got {_text(row)}; on_error='fail' stops at the first such tuple"
            )
        self.keep({"operator": operator, "reason": reason, "row": _text(row)})

    def keep(self, letter: Letter) -> None:
        self._letters.append(letter)

    def add_rows(self, operator: str, reason: str, block: Block, rows: Integers) -> None:
        """The given rows of a block, all for one reason."""
        for row in block.take(rows).to_arrow().to_pylist() if len(rows) else ():
            self.add(operator, reason, row)

    def drain(self) -> pa.Table:
        """All letters since the last time."""
        table = self.table()
        self._letters.clear()
        return table

    def table(self) -> pa.Table:
        """All letters so far, in the order they came."""
        return pa.Table.from_pylist(self._letters, SCHEMA)


def _text(row: dict[str, Any]) -> str:
    return _ENCODER.encode(row)
