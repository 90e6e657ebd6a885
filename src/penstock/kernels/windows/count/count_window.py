"""Count windows, one per group: blocks of tuples in, the results of the windows that fired out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from penstock.block.column import Array, FixedColumn, Mask
from penstock.errors import InputError
from penstock.kernels.codegen.generated import load
from penstock.kernels.windows.aggregates import KEEPS_TYPE, AggregateCall, check_calls
from penstock.kernels.windows.count.chunk_snapshot import exported, restored
from penstock.kernels.windows.count.chunks import NO_OWNERS, ChunkMemory, Integers, MakeChunks, OwnChunks, Owners
from penstock.kernels.windows.count.growing import GrowingRows, MakeRows, RowTable, own_rows
from penstock.kernels.windows.count.results import is_masked
from penstock.kernels.windows.count.shape import Shape
from penstock.kernels.windows.count.source import kernel_source
from penstock.kernels.windows.count.value_ring import ValueRing


@dataclass(frozen=True, slots=True)
class Fired:
    """Results of the windows that fired, in the order of the rows that made them; `rows` is None where each row did."""

    rows: npt.NDArray[np.int64] | None
    columns: tuple[FixedColumn, ...]
    offsets: npt.NDArray[np.int64] | None = None  # where each window's values begin in `retained`
    retained: tuple[FixedColumn, ...] = ()


class CountWindow:
    """A window by count for each group, with all its aggregates.

    Sliding: holds the group's newest `size` tuples and fires at every `every`-th tuple of the group with whatever it
    holds.  Tumbling: fires when `size` tuples are there, then is empty.  Results are equal to the bit however the
    stream is cut into blocks.  Of the columns `retained` it gives the values themselves.  A long window takes memory as
    tuples come, up to `bytes_per_group`.

    >>> window = CountWindow(2, 1, False, (AggregateCall("sum", 0),), (np.dtype("f8"),))
    >>> prices = FixedColumn(np.array([1.0, 5.0, 2.0]), pa.float64())
    >>> window.process(np.array([0, 1, 0], np.int32), 2, [prices]).columns[0].values.tolist()
    [1.0, 5.0, 3.0]
    """

    def __init__(
        self,
        size: int,
        every: int,
        tumbling: bool,
        aggregates: tuple[AggregateCall, ...],
        types: tuple[np.dtype[Any], ...],
        make_rows: MakeRows = own_rows,
        retained: tuple[int, ...] = (),
        make_chunks: MakeChunks = OwnChunks,
    ) -> None:
        if size < 1 or every < 1:
            raise InputError(f"a count window needs a size and a step of at least 1; got {size} and {every}")
        check_calls(aggregates, types)
        # A tumbling window is the sliding one whose step is its size.
        self._use(Shape(size, size if tumbling else every, aggregates, types, nullable=False, retained=retained))
        self._make_rows = make_rows
        self._chunks = None if self._shape.chunks is None else make_chunks(self._shape.chunks)
        # Of a block whose chunks are lacking: the next row, windows fired; who lacks how many granules.
        self._progress: Integers = np.zeros(4, np.int64)
        self._words = make_rows(self._shape.words(about_nulls=False), False)
        self._words.rows(0, 1)[:] = self._shape.first_row()
        self._nulls: RowTable = GrowingRows(0)
        self._group_count = 0
        self._all_valid: Mask = np.ones(0, np.bool_)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates, in the order of their results."""
        return self._shape.calls

    @property
    def retained(self) -> tuple[int, ...]:
        """The columns whose values themselves are kept."""
        return self._shape.retained

    @property
    def bytes_per_group(self) -> int:
        """Memory of a group whose window has been full."""
        return self.row_bytes + (0 if self._chunks is None else self._chunks.layout.granules_full * self.granule_bytes)

    @property
    def row_bytes(self) -> int:
        """Memory of a group before its entries, which those of a short window are part of."""
        return 8 * (self._words.words + self._nulls.words)

    @property
    def granule_bytes(self) -> int:
        """Memory of 4 entries, where entries lie in chunks."""
        if self._chunks is None:
            return 0
        return 8 * (self._chunks.values.words + (self._chunks.nulls.words if self._takes_nulls else 0))

    @property
    def state_bytes(self) -> int:
        """Memory of all groups seen."""
        used = self._chunks.used if isinstance(self._chunks, OwnChunks) else 0
        return self._group_count * self.row_bytes + used * self.granule_bytes

    def process(
        self,
        groups: npt.NDArray[np.int32],
        group_count: int,
        columns: Sequence[FixedColumn],
        owners: Owners = NO_OWNERS,
    ) -> Fired:
        """Takes a block: the group of each row (each less than `group_count`) and the columns the calls refer to.

        `owners`: the key of each row and the owner of each key, where chunks of entries have several owners.
        """
        if not self._takes_nulls:
            for c in self._columns_seen:
                if columns[c].valid is not None and _has_nulls(columns[c]):
                    self._become_nullable()
                    break
        if group_count > self._group_count:
            self._grow(group_count)
        rows, fires_always = len(groups), self._fires_always
        outputs = self._new_outputs(rows) if fires_always else self._retained_outputs(rows)
        fired = (
            self._run(groups, columns, outputs)
            if self._chunks is None
            else self._run_chunked(self._chunks, groups, columns, outputs, owners)
        )
        if not fires_always:
            outputs = [output[:fired].copy() for output in outputs]
        results = self._result_columns(outputs, columns)
        offsets, retained = self._retained_values(groups, columns, rows if fires_always else fired)
        return Fired(None if fires_always else outputs[0], results, offsets, retained)

    def _run(
        self, groups: npt.NDArray[np.int32], columns: Sequence[FixedColumn], outputs: list[Array], *more: Array
    ) -> int:
        """The windows that the kernel has fired."""
        arguments: list[Array] = [groups, self._words.integers, self._words.floats, self._nulls.integers]
        arguments += [columns[c].values.view(_BYTE) if boolean else columns[c].values for c, boolean in self._read]
        if self._takes_nulls:
            arguments += [self._mask(columns[c].valid, len(groups)) for c in self._columns_read]
        try:
            return self._kernel(*arguments, *outputs, *more)
        except TypeError:  # memory that is not as kernels are compiled for: rare, and told before anything is done
            return self._kernel(*self._plain(arguments), *outputs, *more)

    def _run_chunked(
        self,
        chunks: ChunkMemory,
        groups: npt.NDArray[np.int32],
        columns: Sequence[FixedColumn],
        outputs: list[Array],
        owners: Owners,
    ) -> int:
        """The same, again and again from the row on whose owner had no room for a chunk."""
        progress, tables = self._progress, chunks.layout.tables
        progress[0] = progress[1] = 0
        while True:
            values, nulls = chunks.values, chunks.nulls
            memory = (self._words.integers.view(np.int32), values.integers, values.floats, nulls.integers)
            fired = self._run(groups, columns, outputs, *memory, *tables, *owners, *chunks.ranges, progress)
            if progress[0] == len(groups):
                return fired
            del memory  # memory with views on it does not grow
            chunks.grow(int(progress[2]), int(progress[3]))

    def know_nulls(self) -> None:
        """Reads and writes the table of nulls from now on, for state that others have written nulls to."""
        if not self._shape.nullable:
            self._become_nullable()

    def export(self) -> dict[str, Array]:
        """The state as arrays, for a snapshot."""
        if self._chunks is not None:
            return exported(self._chunks, self._words, self._nulls, self._group_count)
        tables = {"words": self._words, "nulls": self._nulls}
        return {name: table.rows(1, self._group_count + 1).copy() for name, table in tables.items() if table.words}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """A new window goes on where one of the same shape was exported."""
        if "nulls" in arrays or "entry_nulls" in arrays:
            self.know_nulls()
        group_count = len(arrays["words"])
        self._grow(group_count)
        if self._chunks is not None:
            restored(self._chunks, self._words, self._nulls, arrays)
            return
        self._words.rows(1, group_count + 1)[:] = arrays["words"]
        if "nulls" in arrays:
            self._nulls.rows(1, group_count + 1)[:] = arrays["nulls"]

    def _use(self, shape: Shape) -> None:
        self._shape = shape
        self._takes_nulls, self._fires_always, self._columns_read = shape.nullable, shape.fires_always, shape.columns
        self._columns_seen = tuple(dict.fromkeys((*shape.columns, *shape.retained)))
        self._rings = [
            ValueRing(shape.size, shape.every, *(shape.ring_at(place, nulls) for nulls in (False, True)))
            for place in range(len(shape.retained))
        ]
        self._read = [(c, shape.types[c] == np.bool_) for c in shape.columns]
        pairs = zip(shape.calls, shape.result_types, strict=True)
        self._results = [_Result.of(call, dtype, shape) for call, dtype in pairs]
        # Measured: in a block of 8,192 tuples these two and plain lists save a third of the time outside the kernel.
        self._types = [(result.type, result.source) for result in self._results]
        self._is_plain = not any(result.is_boolean or result.is_masked for result in self._results)
        self._outputs: list[Array] = []
        self._kernel = _compiled(kernel_source(shape))

    def _become_nullable(self) -> None:
        """Switches for good to the kernel that knows nulls; a zero in its own array says that there were none."""
        old = self._shape
        shape = Shape(old.size, old.every, old.calls, old.types, nullable=True, retained=old.retained)
        self._nulls = self._make_rows(shape.words(about_nulls=True), True)  # raises where there is no room for them
        self._nulls.grow(self._words.capacity)
        if self._chunks is not None:
            self._chunks.use_nulls()
        self._use(shape)

    def _retained_values(
        self, groups: npt.NDArray[np.int32], columns: Sequence[FixedColumn], fired: int
    ) -> tuple[npt.NDArray[np.int64] | None, tuple[FixedColumn, ...]]:
        offsets, retained = None, []
        for ring, place in zip(self._rings, self._shape.retained, strict=True):
            column = columns[place]
            valid = self._mask(column.valid, len(groups)) if self._takes_nulls else None
            offsets, values = ring.process(groups, self._words, self._nulls, column, valid, fired)
            retained.append(values)
        return offsets, tuple(retained)

    def _grow(self, group_count: int) -> None:
        self._group_count = max(self._group_count, group_count)
        self._words.grow(group_count + 1)
        self._nulls.grow(group_count + 1)

    def _mask(self, valid: Mask | None, rows: int) -> Mask:
        if valid is not None:
            return valid
        if len(self._all_valid) < rows:
            self._all_valid = np.ones(rows, np.bool_)
        return self._all_valid

    def _new_outputs(self, rows: int) -> list[Array]:
        """Rows that fired, results, masks."""
        values = [np.empty(rows, result.held_as) for result in self._results]
        masks = [np.empty(rows, np.bool_) for result in self._results if result.is_masked]
        return [np.empty(0 if self._shape.fires_always else rows, np.int64), *values, *masks]

    def _retained_outputs(self, rows: int) -> list[Array]:
        """Where few rows fire, their results are copied out of arrays that stay in the processor's cache."""
        if not self._outputs or len(self._outputs[0]) < rows:
            self._outputs = self._new_outputs(rows)
        return self._outputs

    def _result_columns(self, outputs: list[Array], columns: Sequence[FixedColumn]) -> tuple[FixedColumn, ...]:
        types = [columns[source].type if type_ is None else type_ for type_, source in self._types]
        if self._is_plain:
            return tuple([FixedColumn(values, type_) for values, type_ in zip(outputs[1:], types, strict=True)])
        masks = iter(outputs[1 + len(self._results) :])
        return tuple(
            result.column(values, next(masks) if result.is_masked else None, type_)
            for result, values, type_ in zip(self._results, outputs[1:], types, strict=False)
        )

    def _plain(self, arguments: Sequence[Array]) -> list[Array]:
        """The arguments contiguous, aligned, and booleans as bytes; views where they can be."""
        types = [_INT32, *(array.dtype for array in arguments[1:4])]
        types += [_BYTE if self._shape.types[c] == np.bool_ else self._shape.types[c] for c in self._columns_read]
        types += [_BOOLEAN] * (len(arguments) - len(types))
        return [_plain(values, dtype) for values, dtype in zip(arguments, types, strict=True)]


@dataclass(frozen=True, slots=True)
class _Result:
    """How one aggregate's results become a column; `type` None takes that of the column they come from."""

    held_as: np.dtype[Any]
    is_boolean: bool
    is_masked: bool
    source: int
    type: pa.DataType | None

    @classmethod
    def of(cls, call: AggregateCall, dtype: np.dtype[Any], shape: Shape) -> _Result:
        is_boolean = dtype == np.bool_
        type_ = None if call.function in KEEPS_TYPE else pa.int64() if dtype.kind == "i" else pa.float64()
        return cls(
            _BYTE if is_boolean else dtype, is_boolean, is_masked(call, shape.nullable), call.argument or 0, type_
        )

    def column(self, values: Array, valid: Mask | None, type_: pa.DataType) -> FixedColumn:
        if valid is not None and valid.all():
            valid = None
        return FixedColumn(values.view(np.bool_) if self.is_boolean else values, type_, valid)


_INT32 = np.dtype(np.int32)
_BYTE = np.dtype(np.uint8)
_BOOLEAN = np.dtype(np.bool_)


@functools.cache
def _compiled(source: str) -> Callable[..., int]:
    module = load(source)
    # numba finds a cached kernel's module by its name, in this process or a later one.
    kernel: Callable[..., int] = njit(module.signature, nogil=True, cache=True, error_model="numpy")(module.kernel)
    return kernel


def _has_nulls(column: FixedColumn) -> bool:
    return column.valid is not None and not column.valid.all()


def _plain(values: Array, dtype: np.dtype[Any]) -> Array:
    """The array as kernels are compiled for: contiguous, aligned, booleans as bytes; a view where it can be one."""
    if values.dtype is not dtype and values.dtype != dtype:
        if values.dtype != np.bool_ or dtype != _BYTE:
            raise InputError(f"a window was made for a column of type {dtype}; got {values.dtype}")
        values = values.view(_BYTE)
    flags = values.flags
    return values if flags.c_contiguous and flags.aligned else np.array(values)
