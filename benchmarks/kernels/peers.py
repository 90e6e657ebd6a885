"""Peers: polars and DuckDB, one thread each, on data they already hold in their own form."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Mapping
from statistics import median
from typing import Any, Protocol

import pyarrow as pa

from benchmarks.kernels.job import Query


class Peer(Protocol):
    """A batch engine with a query and its data."""

    name: str

    def run(self) -> Any:
        """Does the whole job and gives the result in the peer's own form."""
        ...

    def table(self) -> pa.Table:
        """Does the whole job and gives the result as an Arrow table."""
        ...


class Polars:
    """polars' lazy engine; its pool is limited to one thread when it is first imported."""

    name = "polars"

    def __init__(self, query: Query, tables: Mapping[str, pa.Table]) -> None:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        import polars

        assert query.polars is not None
        frames = {name: polars.from_arrow(table).lazy() for name, table in tables.items()}  # type: ignore[union-attr]
        self._plan = query.polars(frames)

    def run(self) -> Any:
        return self._plan.collect()

    def table(self) -> pa.Table:
        return self.run().to_arrow()


class DuckDB:
    """DuckDB with one thread, on tables of its own."""

    name = "duckdb"

    def __init__(self, query: Query, tables: Mapping[str, pa.Table]) -> None:
        import duckdb

        assert query.sql is not None
        self._sql = query.sql
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET enable_progress_bar = false")
        for name, table in tables.items():
            self._connection.register("given", table)
            self._connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
            self._connection.unregister("given")

    def run(self) -> Any:
        return self._connection.sql(self._sql).to_arrow_table()

    table = run


def peers_of(query: Query, tables: Mapping[str, pa.Table]) -> list[Peer]:
    """The peers that are installed and can do the job."""
    peers: list[Peer] = []
    if query.polars is not None and importlib.util.find_spec("polars"):
        peers.append(Polars(query, tables))
    if query.sql is not None and importlib.util.find_spec("duckdb"):
        peers.append(DuckDB(query, tables))
    return peers


def rate_tuples_s(peer: Peer, tuples: int, repeats: int) -> float:
    """Tuples a second of the whole batch job by this process's CPU clock: the median of several runs after a first."""
    peer.run()
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        peer.run()
        seconds.append(time.process_time() - begin)
    return tuples / median(seconds)
