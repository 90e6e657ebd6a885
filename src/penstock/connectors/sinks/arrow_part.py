"""Parts of a sink as files of the checkpoint: sealed blocks one after the other, and their tuples in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from penstock.block.block import Block, concat_blocks
from penstock.block.envelope import seal, unseal
from penstock.block.ordering import is_ascending, order_of
from penstock.block.position import Integers, Position, concat_position_list
from penstock.errors import CorruptStateError, file_error
from penstock.host.atomic_file import make_folder, sync

_LENGTH_BYTES = 8
_PAD = 64  # Arrow reads buffers in place where they are aligned


class ArrowPart:
    """Blocks in a file: each sealed, behind its length."""

    def __init__(self, folder: Path, name: str, *, durable: bool = False) -> None:
        self.path, self._name, self._durable = folder / name, name, durable
        self._file: IO[bytes] | None = None

    def write(self, block: Block) -> None:
        payload = seal(Block(block.schema, block.columns, block.rows, block.position))  # without punctuations
        try:
            if self._file is None:
                make_folder(str(self.path.parent), durable=self._durable)
                self._file = self.path.open("wb")
            self._file.write(payload.size.to_bytes(_LENGTH_BYTES, "little").ljust(_PAD, b"\0"))
            self._file.write(payload)
            self._file.write(bytes(-payload.size % _PAD))
        except OSError as error:
            raise file_error("staging results in", str(self.path), error) from error

    def close(self) -> str:
        """Ends the file and gives its name."""
        try:
            if self._file is not None:
                self._file.close()
                if self._durable:
                    sync(str(self.path))
                    sync(str(self.path.parent))
        except OSError as error:
            raise file_error("staging results in", str(self.path), error) from error
        return self._name


def read_in_order(folder: Path, parts: Sequence[str], schema: pa.Schema, rows: int) -> Iterator[Block]:
    """The tuples of some parts in the total order, at most `rows` in a block; files are mapped, not read whole."""
    blocks = [block for part in parts for block in blocks_of(folder / part, schema) if block.rows]
    positions = [block.position for block in blocks if block.position is not None]
    turns = range(len(blocks)) if len(positions) < len(blocks) else in_turn(positions)
    if turns is not None:
        for block in (blocks[turn] for turn in turns):
            for start in range(0, block.rows, rows):
                yield block if block.rows <= rows else block.slice(start, min(start + rows, block.rows))
        return
    order = order_of(concat_position_list(positions))
    for start in range(0, len(order), rows):
        yield _gathered(blocks, order[start : start + rows])


def in_turn(positions: Sequence[Position]) -> Sequence[int] | None:
    """Which of some blocks comes first, next and so on, where none begins before another ends; else None.

    So it is with pieces of one source, whatever replica has them.
    """
    if not all(map(is_ascending, positions)):
        return None
    firsts = concat_position_list([own.slice(0, 1) for own in positions]) if positions else None
    turns = [] if firsts is None else order_of(firsts).tolist()
    ends = [own.slice(row, row + 1) for own in (positions[turn] for turn in turns) for row in (0, len(own) - 1)]
    return turns if not ends or is_ascending(concat_position_list(ends)) else None


def _gathered(blocks: list[Block], rows: Integers) -> Block:
    """Some rows of all blocks, in the order of `rows`, which counts through the blocks."""
    starts = np.cumsum([0, *(block.rows for block in blocks)])
    owners = np.searchsorted(starts, rows, side="right") - 1
    taken, places = [], []
    for owner in np.unique(owners):
        own = np.flatnonzero(owners == owner)
        taken.append(blocks[owner].take(rows[own] - starts[owner]))
        places.append(own)
    return concat_blocks(taken).take(np.argsort(np.concatenate(places), kind="stable"))


def blocks_of(path: Path, schema: pa.Schema) -> list[Block]:
    """The blocks of one part."""
    try:
        file = pa.memory_map(str(path))
    except FileNotFoundError as error:
        raise lost_part(path) from error
    blocks, size = [], file.size()
    while file.tell() < size:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        file.seek(file.tell() + _PAD - _LENGTH_BYTES)
        payload = file.read_buffer(length)
        if not length or len(payload) < length:
            raise torn_part(path)
        blocks.append(unseal(payload, schema))
        file.seek(file.tell() + -length % _PAD)
    return blocks


def lost_part(path: Path) -> CorruptStateError:
    return CorruptStateError(f"the results in '{path}', which a manifest names, are gone: they cannot be delivered; "
                             "restore the file from a backup, or take another checkpoint")  # fmt: skip


def torn_part(path: Path) -> CorruptStateError:
    return CorruptStateError(f"the results in '{path}' are torn: they cannot be delivered; restore the file "
                             "from a backup, or take another checkpoint")  # fmt: skip
