"""A job to measure: its application and data, the loop that is its limit, and how peers would do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.bare_kernels import BareKernel, KeyLookup
from benchmarks.kernels.loop import Loop
from penstock.app.application import Application

Frames = Mapping[str, Any]
Family = Literal["functor", "window", "join", "vwap"]
KeyType = Literal["int32", "symbol", "string"]
KEY_TYPES: tuple[KeyType, ...] = ("int32", "symbol", "string")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much data a job is made with; the whole of it is a working set that is passed over again and again."""

    block_rows: int = 8192
    blocks: int = 64
    seed: int = 1
    keys: int | None = None  # in place of the case's own

    @property
    def rows(self) -> int:
        return self.block_rows * self.blocks

    @property
    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, slots=True)
class Query:
    """The job for polars (lazy frames by source in, a lazy frame out) and for DuckDB (SQL over the sources).

    `why_not` says why a peer that is None cannot do the job.
    """

    polars: Callable[[Frames], Any] | None = None
    sql: str | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, ready to run.

    `cuts` has the rows of each source in each block; `names` the texts behind integer columns of the limit's output;
    `times` the attribute that holds event times; `warm_tuples` how many tuples fill the windows; `kernel` makes the
    job's kernel without the engine, on the arrays of the limit, and `lookup` what finds the ids of its keys.
    """

    application: Application
    tables: Mapping[str, pa.Table]
    cuts: tuple[Mapping[str, int], ...]
    loop: Loop
    query: Query
    names: Mapping[str, pa.Array] = field(default_factory=dict)
    times: str | None = None
    span_us: int = 0
    warm_tuples: int = 0
    kernel: Callable[[], BareKernel] | None = None
    lookup: Callable[[], KeyLookup] | None = None

    @property
    def tuples(self) -> int:
        """The tuples of one pass over the working set."""
        return sum(table.num_rows for table in self.tables.values())


@dataclass(frozen=True, slots=True)
class Case:
    """A named job, the goal for its ratio to the limit (None: shown, not judged) and what there is to know of it."""

    name: str
    family: Family
    key_type: KeyType | None
    goal_ratio: float | None
    make: Callable[[Scale], Job]
    note: str = ""
    block_rows: int = 8192


def even_cuts(source: str, scale: Scale) -> tuple[Mapping[str, int], ...]:
    """Blocks of one source."""
    return ({source: scale.block_rows},) * scale.blocks
