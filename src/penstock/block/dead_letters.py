"""Dead letters: tuples that could not be used, each with the operator, the reason and the tuple itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.block.block import Block
from penstock.block.position import Integers
from penstock.block.texts.row_texts import json_text, row_texts
from penstock.errors import OperatorError

SCHEMA = pa.schema([("operator", pa.string()), ("reason", pa.string()), ("row", pa.string())])


class Letters(NamedTuple):
    """Letters of one operator: the text of one row, or of several, for one reason or with a reason each."""

    operator: str
    reason: str | pa.Array
    rows: str | pa.Array


class DeadLetters:
    """Collects dead letters; with `fail` the first one stops the application instead."""

    def __init__(self, *, fail: bool = False) -> None:
        self.fail = fail
        self._letters: list[Letters] = []
        self.dropped: Counter[str] = Counter()  # late tuples by operator, of sources that have them dropped

    def __len__(self) -> int:
        return sum(1 if isinstance(letters.rows, str) else len(letters.rows) for letters in self._letters)

    def add(self, operator: str, reason: str, row: dict[str, Any]) -> None:
        self._add(Letters(operator, reason, json_text(row)))

    def add_rows(self, operator: str, reason: str, block: Block, rows: Integers) -> None:
        """The given rows of a block, all for one reason."""
        if len(rows):
            self.add_batch(operator, reason, block.take(rows[:1] if self.fail else rows).to_arrow())

    def add_batch(self, operator: str, reason: str, batch: pa.RecordBatch) -> None:
        """All rows of a batch, for one reason."""
        if batch.num_rows:
            self._add(Letters(operator, reason, row_texts(batch)))

    def add_failures(self, operator: str, reason_by_row: Mapping[int, str], batch: pa.RecordBatch) -> None:
        """The rows of a batch that have a reason, in their order."""
        if reason_by_row:
            rows = sorted(reason_by_row)
            reasons = _strings([reason_by_row[row] for row in rows])
            self._add(Letters(operator, reasons, row_texts(batch.take(pa.array(rows, pa.int64())))))

    def _add(self, letters: Letters) -> None:
        if self.fail:
            row, reason = _first(letters.rows), _first(letters.reason)
            raise OperatorError(
                f"operator '{letters.operator}' {reason}; got {row}; on_error='fail' stops at the first such tuple"
            )
        self.keep(letters)

    def keep(self, letters: Letters) -> None:
        self._letters.append(letters)

    def drop(self, operator: str, rows: int) -> None:
        """Counts late tuples that nobody wants."""
        if rows:
            self.dropped[operator] += rows

    def drain(self) -> pa.Table:
        """All letters since the last time; other threads may add some meanwhile."""
        letters = self._letters[:]
        del self._letters[: len(letters)]
        return _table(letters)

    def table(self) -> pa.Table:
        """All letters so far, in the order they came."""
        return _table(self._letters[:])


def _table(letters: Sequence[Letters]) -> pa.Table:
    """One row a letter; letters that came one by one share a batch."""
    batches = []
    for is_one, group in groupby(letters, key=lambda one: isinstance(one.rows, str)):
        if is_one:
            batches.append(pa.RecordBatch.from_arrays([*map(_strings, zip(*group, strict=True))], schema=SCHEMA))
        else:
            batches += [_batch(one) for one in group]
    return pa.Table.from_batches(batches, SCHEMA)


def _batch(letters: Letters) -> pa.RecordBatch:
    operators, reasons = (
        pa.repeat(text, len(letters.rows)) if isinstance(text, str) else text
        for text in (letters.operator, letters.reason)
    )
    return pa.RecordBatch.from_arrays([operators, reasons, letters.rows], schema=SCHEMA)


def _first(texts: str | pa.Array) -> str:
    return texts if isinstance(texts, str) else texts[0].as_py()


def _strings(texts: Sequence[str]) -> pa.Array:
    return pa.array(texts, pa.string())
