"""Parts that a DataFrame is read from: Parquet files where there are many tuples, sealed blocks where there are few.

Spark reads a Parquet file in tasks, by column, and only the columns that are asked for; of tuples that the driver hands
to it in memory it makes all rows.  Few tuples are there sooner without a file to look at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from penstock.block.block import Block
from penstock.block.envelope import position_columns, position_names, position_of
from penstock.block.ordering import order_of
from penstock.block.position import Position, concat_position_list
from penstock.connectors.sinks.arrow_part import blocks_of, in_turn, lost_part, torn_part
from penstock.connectors.sinks.plain_types import plain_schema, plain_table, sql_type
from penstock.connectors.sinks.sink_port import Delivery, Part
from penstock.errors import file_error
from penstock.host.atomic_file import make_folder, sync

MANY = 1 << 16  # tuples of a part from which on it is a Parquet file
_GROUP_ROWS = 1 << 20
_PARQUET = ".parquet"
_PATTERN = frozenset("*?[]{}\\")  # in a path Spark takes these for a pattern


class FramePart:
    """A part of which nobody knows how many tuples it gets."""

    def __init__(self, part: Part) -> None:
        self._part, self._few = part, part.stage()
        self._path = self._few.path.with_name(f"{self._few.path.name}{_PARQUET}")
        self._is_readable = is_readable(part.folder, part.schema)
        self._waiting, self._rows = list[Block](), 0
        self._writer: pyarrow.parquet.ParquetWriter | None = None

    def write(self, block: Block) -> None:
        self._waiting.append(block)
        self._rows += block.rows
        if self._rows >= _GROUP_ROWS and self._is_readable:
            self._write_group()

    def close(self) -> str:
        """Ends the part and gives the name of its file."""
        if self._writer is None and (self._rows < MANY or not self._is_readable):
            for block in self._waiting:
                self._few.write(block)
            return self._few.close()
        try:
            if self._waiting:
                self._write_group()
            assert self._writer is not None
            self._writer.close()
            if self._part.durable:
                sync(str(self._path))
                sync(str(self._path.parent))
        except OSError as error:
            raise file_error("staging results in", str(self._path), error) from error
        return self._path.name

    def _write_group(self) -> None:
        table = _with_positions(self._waiting)
        self._waiting, self._rows = [], 0
        try:
            if self._writer is None:
                make_folder(str(self._path.parent), durable=self._part.durable)
                self._writer = _writer(self._path, table.schema)
            self._writer.write_table(table, table.num_rows)
        except OSError as error:
            raise file_error("staging results in", str(self._path), error) from error


def is_readable(folder: Path, schema: pa.Schema) -> bool:
    """Whether Spark finds such a file in a folder, and in it every attribute by its name."""
    names = [name.lower() for name in schema.names]
    is_plain = len(set(names)) == len(names) and not any(name.startswith("#") for name in names)
    return is_plain and bool(names) and not _PATTERN & set(str(folder))


def frame_of(delivery: Delivery) -> Any:
    """The tuples of parts as a DataFrame of the delivery's session, its rows in the total order."""
    if not all(name.endswith(_PARQUET) for name in delivery.parts):
        return _frame_in_memory(delivery.session, _merged(delivery))
    positions = [_position(delivery.folder / name) for name in delivery.parts]
    known = [own for own in positions if own is not None]
    turns = in_turn(known) if len(known) == len(positions) else range(len(positions))
    if turns is None:
        return _frame_in_memory(delivery.session, _merged(delivery))
    schema = ", ".join(f"`{f.name.replace('`', '``')}` {sql_type(f.type)}" for f in plain_schema(delivery.schema))
    reader = delivery.session.read.schema(schema)
    # one by one: Spark deals several files out to tasks by their size
    frames = [reader.parquet(f"file:{delivery.folder / delivery.parts[turn]}") for turn in turns]
    return functools.reduce(lambda one, other: one.union(other), frames)


def _frame_in_memory(session: Any, table: pa.Table) -> Any:
    return session.createDataFrame(pa.table(table.columns, names=table.column_names))


def _merged(delivery: Delivery) -> pa.Table:
    """The tuples of parts of both kinds, in plain types."""
    files = [name for name in delivery.parts if name.endswith(_PARQUET)]
    if not files:
        return plain_table(delivery.table())
    tables, positions = [], list[Position]()
    parts = [name for name in delivery.parts if name not in files]
    few = [block for name in parts for block in blocks_of(delivery.folder / name, delivery.schema)]
    for table in [*(_with_positions([own]) for own in few), *(_read(delivery.folder / name) for name in files)]:
        tables.append(table.select(delivery.schema.names))
        own = position_of(table.combine_chunks().to_batches()[0], len(delivery.schema))
        positions += [] if own is None else [own]
    whole = pa.concat_tables(tables)
    return whole if len(positions) < len(tables) else whole.take(pa.array(order_of(concat_position_list(positions))))


def _with_positions(blocks: Sequence[Block]) -> pa.Table:
    """Tuples in plain types, their positions behind them."""
    batches = []
    for block in blocks:
        own = block.to_arrow()
        places = [] if block.position is None else position_columns(block.position)
        names = [] if block.position is None else position_names(block.position)
        batches.append(pa.RecordBatch.from_arrays([*own.columns, *places], names=[*own.schema.names, *names]))
    return plain_table(pa.Table.from_batches(batches).unify_dictionaries())


def _writer(path: Path, schema: pa.Schema) -> pyarrow.parquet.ParquetWriter:
    """It is read once, and soon: words are coded, and nothing is made small."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return pyarrow.parquet.ParquetWriter(
        path, schema, compression="none", use_dictionary=texts, write_statistics=False, store_schema=False
    )


def _position(path: Path) -> Position | None:
    """The positions of a file's tuples."""
    names = [name for name in _footer(path).schema.names if name.startswith("#")]
    if not names:
        return None
    table = _read(path, names)
    return position_of(table.combine_chunks().to_batches()[0], 0)


def _footer(path: Path) -> Any:
    return _checked(path, lambda: pyarrow.parquet.read_metadata(path))


def _read(path: Path, names: Sequence[str] | None = None) -> pa.Table:
    return _checked(path, lambda: pyarrow.parquet.ParquetFile(path).read(names, use_threads=False))


def _checked(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except FileNotFoundError as error:
        raise lost_part(path) from error
    except pa.ArrowException as error:
        raise torn_part(path) from error
