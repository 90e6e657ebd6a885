"""The promise of event time: however a stream arrives, within its bound, its results are the same to the bit.

Drawn are the permutation, which source and partition has each event, the cut of each partition into micro-batches,
replicas, routes, block sizes, fusion and threads, and what dies when.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from tests.dataplane.rows_plane import Delivery, RowsPlane
from tests.dataplane.test_event_time import ODD, in_partitions, odd_events, order_dependent

OUTPUTS = ("out", "o", "pairs")
Rows = list[dict[str, Any]]


@given(
    count=st.integers(0, 90), sources=st.integers(1, 3), partitions=st.integers(1, 3),
    bound=st.sampled_from([0.0, 0.5, 3.0, 20.0]), batches=st.integers(1, 8), kills=st.sampled_from([0.0, 0.1]),
    threads=st.booleans(), fusions=st.sampled_from(["none", "one", "all"]), seed=st.integers(0, 2**32),
)  # fmt: skip
@settings(max_examples=25)
def test_any_permutation_cut_partitioning_replicas_and_kills_give_the_same_bits(
    count: int, sources: int, partitions: int, bound: float, batches: int, kills: float, threads: bool, fusions: Any,
    seed: int,
) -> None:  # fmt: skip
    rng = random.Random(seed)
    rows, names = odd_events(count, rng), [f"s{i}" for i in range(sources)]
    own: dict[str, Rows] = {name: [] for name in names}
    homes: dict[tuple[str, int], Rows] = {(name, p): [] for name in names for p in range(partitions)}
    for row in rows:
        name, partition = rng.choice(list(homes))
        own[name].append(row)
        homes[name, partition].append(row)
    expected = ps.evaluate(order_dependent(None, bound, sources), tables_of(own), at_end="fire")
    parts = {home: cut(arrived(mine, bound, rng), batches, rng) for home, mine in homes.items()}
    deliveries: list[Delivery] = [
        {name: [table_of(parts[name, p][batch]) for p in range(partitions)] for name in names}
        for batch in range(batches)
    ]
    app = order_dependent(ps.sources.csv("in"), bound, sources)
    graph = app.graph if partitions == 1 else in_partitions(app)
    got, letters = ran(graph, deliveries, seed, kills, threads=threads, fusions=fusions)
    assert letters.to_pylist() == []
    for name in OUTPUTS:
        assert bits(got[name]) == bits(expected[name]), name


def arrived(rows: Rows, bound: float, rng: random.Random) -> Rows:
    """A permutation in which nothing comes more than the bound behind a later event."""
    within_s = bound * rng.choice([0.0, 0.3, 0.999])
    return sorted(rows, key=lambda row: row["t"] + rng.random() * within_s)


def cut(rows: Rows, batches: int, rng: random.Random) -> list[Rows]:
    """A partition's rows by micro-batch; each has one in the first, since a partition counts once it was seen."""
    edges = sorted(rng.randint(min(1, len(rows)), len(rows)) for _ in range(batches - 1))
    return [rows[start:stop] for start, stop in itertools.pairwise([0, *edges, len(rows)])]


def ran(
    graph: Graph, deliveries: list[Delivery], seed: int, kills: float, **settings: Any
) -> tuple[dict[str, pa.Table], pa.Table]:
    """The deliveries, and one more micro-batch whose plan says that all sources have ended."""
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(graph, [*deliveries, {}], Path(directory), seed, kills, **settings)
        plane.ends = lambda batch: batch == len(deliveries)
        return plane.run_all()


def table_of(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, ODD)


def tables_of(rows: dict[str, Rows]) -> dict[str, pa.Table]:
    return {name: table_of(own) for name, own in rows.items()}


def bits(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))
