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
from penstock.block.position import Integers, concat_positions
from penstock.errors import CorruptStateError, file_error
from penstock.host.atomic_file import make_folder, sync

_LENGTH_BYTES = 8
_PAD = 64  # Arrow reads buffers in place where they are aligned


class ArrowPart:
    """Blocks in a file: each sealed, behind its length."""

    def __init__(self, folder: Path, name: str, *, durable: bool = False) -> None:
        self._path, self._name, self._durable = folder / name, name, durable
        self._file: IO[bytes] | None = None

    def write(self, block: Block) -> None:
        payload = seal(Block(block.schema, block.columns, block.rows, block.position))  # without punctuations
        try:
            if self._file is None:
                make_folder(str(self._path.parent), durable=self._durable)
                self._file = self._path.open("wb")
            self._file.write(payload.size.to_bytes(_LENGTH_BYTES, "little").ljust(_PAD, b"\0"))
            self._file.write(payload)
            self._file.write(bytes(-payload.size % _PAD))
        except OSError as error:
            raise file_error("staging results in", str(self._path), error) from error

    def close(self) -> str:
        """Ends the file and gives its name."""
        try:
            if self._file is not None:
                self._file.close()
                if self._durable:
                    sync(str(self._path))
                    sync(str(self._path.parent))
        except OSError as error:
            raise file_error("staging results in", str(self._path), error) from error
        return self._name


def read_in_order(folder: Path, parts: Sequence[str], schema: pa.Schema, rows: int) -> Iterator[Block]:
    """The tuples of some parts in the total order, at most `rows` in a block; files are mapped, not read whole."""
    blocks = [block for part in parts for block in _blocks(folder / part, schema)]
    position = concat_positions(blocks) if blocks else None
    if position is None or is_ascending(position):
        for block in blocks:
            for start in range(0, block.rows, rows):
                yield block if block.rows <= rows else block.slice(start, min(start + rows, block.rows))
        return
    order = order_of(position)
    for start in range(0, len(order), rows):
        yield _gathered(blocks, order[start : start + rows])


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


def _blocks(path: Path, schema: pa.Schema) -> list[Block]:
    try:
        file = pa.memory_map(str(path))
    except FileNotFoundError as error:
        raise CorruptStateError(f"the results in '{path}', which a manifest names, are gone: they cannot be delivered; "
                                "restore the file from a backup, or take another checkpoint") from error  # fmt: skip
    blocks, size = [], file.size()
    while file.tell() < size:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        file.seek(file.tell() + _PAD - _LENGTH_BYTES)
        payload = file.read_buffer(length)
        if not length or len(payload) < length:
            raise CorruptStateError(f"the results in '{path}' are torn: they cannot be delivered; restore the file "
                                    "from a backup, or take another checkpoint")  # fmt: skip
        blocks.append(unseal(payload, schema))
        file.seek(file.tell() + -length % _PAD)
    return blocks
