"""How a batch engine would do a job: a query over the whole data with the same output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Frames = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """The job for polars (lazy frames by source in, a lazy frame out) and for DuckDB (SQL over the sources).

    `why_not` says why a peer that is None cannot do the job.
    """

    polars: Callable[[Frames], Any] | None = None
    sql: str | None = None
    why_not: str = ""
