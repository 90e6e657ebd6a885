"""Whether two outputs are the same: columns by name, texts as codes, floats within 1e-9."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.kernels.cases.bare_kernels import BareKernel
from benchmarks.kernels.job import Case, Job, Scale
from benchmarks.kernels.loop import Array, Loop
from benchmarks.kernels.ours import Ours
from benchmarks.kernels.peers import peers_of

TOLERANCE = 1e-9
SLICE = Scale(block_rows=1024, blocks=8, keys=7)
Columns = Mapping[str, Array]


def check_equal(case: Case, scale: Scale = SLICE, *, with_peers: bool = True) -> int:
    """Runs operator, kernel, limit and peers on a small slice; gives the rows of output, raises where they differ."""
    job = case.make(scale)
    limit = limit_columns(job)
    compare(f"{case.name}: ours and limit", columns_of(ours_table(job), job), limit)
    if job.kernel is not None:
        compare(f"{case.name}: kernel and limit", _all_columns(job.kernel(), len(job.cuts)), limit)
    for peer in peers_of(job.query, job.tables) if with_peers else ():
        compare(f"{case.name}: {peer.name} and limit", columns_of(peer.table(), job), limit)
    return len(next(iter(limit.values())))


def ours_table(job: Job) -> pa.Table:
    """The engine's output over the whole working set, once."""
    ours = Ours(job)
    tables = [table for i in range(len(job.cuts)) if (table := ours.table(i)) is not None]
    schema = job.application.graph.operator("out").schema
    return pa.concat_tables(tables).unify_dictionaries() if tables else schema.empty_table()


def limit_columns(job: Job) -> dict[str, Array]:
    """The limit's output over the whole working set, once."""
    return _all_columns(job.loop, len(job.cuts))


def _all_columns(runner: Loop | BareKernel, blocks: int) -> dict[str, Array]:
    parts = [runner.columns(runner.run(i)) for i in range(blocks)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def columns_of(table: pa.Table, job: Job) -> dict[str, Array]:
    """A table as arrays of numbers: texts become their codes, timestamps microseconds."""
    return {name: _numbers(table.column(name), job.names.get(name)) for name in job.loop.outputs}


def _numbers(column: pa.ChunkedArray, names: pa.Array | None) -> Array:
    if names is not None:
        column = pc.index_in(column.cast(pa.string()), names)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    return np.asarray(column.to_numpy())


def compare(what: str, got: Columns, wanted: Columns) -> None:
    """Raises unless both have the same rows, in any order."""
    rows, wanted_rows = (len(next(iter(columns.values()))) for columns in (got, wanted))
    if rows != wanted_rows:
        raise AssertionError(f"{what} differ: {rows} and {wanted_rows} rows")
    got_order, wanted_order = _order(got), _order(wanted)
    for name, values in wanted.items():
        one, other = got[name][got_order], values[wanted_order]
        if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE):
            row = int(np.argmax(~np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)))
            raise AssertionError(f"{what} differ in '{name}': {one[row]} and {other[row]} in row {row} of {rows}")


def _order(columns: Columns) -> Array:
    """Rows sorted by all columns; sums are rounded first, since they may be bracketed differently."""
    return np.lexsort([np.round(values, 6) for values in reversed(list(columns.values()))])
