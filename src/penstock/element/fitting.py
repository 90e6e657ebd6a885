"""Rows from outside made into blocks: those that do not fit the source's schema become dead letters, one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.app.operators import Source
from penstock.app.schema import word_of
from penstock.element.block import Block
from penstock.element.column import column_of
from penstock.element.conversion import converted
from penstock.element.dead_letters import DeadLetters
from penstock.element.intake import check_batch


def fitted(batch: pa.RecordBatch, source: Source, letters: DeadLetters) -> Block:
    """The rows whose values convert to the schema's types and are not null where it forbids that."""
    check_batch(batch, source)
    bad = np.zeros(batch.num_rows, np.bool_)
    columns = []
    for field in source.schema:
        given = batch.column(field.name)
        array = converted(given, field.type)
        reasons = [(f"has no {word_of(field.type)} in '{field.name}'", pc.and_(pc.is_valid(given), pc.is_null(array)))]
        if not field.nullable:
            reasons.append((f"has a null in '{field.name}', where its schema forbids it", pc.is_null(given)))
        for reason, mask in reasons:
            wrong = np.asarray(mask) & ~bad
            if wrong.any():
                _report(batch.take(pa.array(np.flatnonzero(wrong))), reason, source, letters)
                bad |= wrong
        columns.append(array)
    good = pa.RecordBatch.from_arrays(columns, names=source.schema.names)
    good = good.filter(pa.array(~bad)) if bad.any() else good
    own = tuple(column_of(_small(good.column(i)), field.type) for i, field in enumerate(source.schema))
    return Block(source.schema, own, good.num_rows)


def _report(rows: pa.RecordBatch, reason: str, source: Source, letters: DeadLetters) -> None:
    for row in rows.select(source.schema.names).to_pylist():
        letters.add(source.name, reason, row)


def _small(array: pa.Array) -> pa.Array:
    """A coded column without words that it does not use, if they are many: they would travel with every block."""
    if pa.types.is_dictionary(array.type) and len(array.dictionary) > len(array):
        return array.dictionary_decode().dictionary_encode()
    return array
