"""What waits in an intake is logged bit by bit: a batch logs what came and how much went, not all that waits."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.plan.elements.pipeline import INTAKE
from penstock.runtime.replica import element_worker as workers
from tests.dataplane.rows_plane import Delivery, RowsPlane

SCHEMA = {"who": "int64", "s": "float64", "name": "string"}
WAITING = 100_000


def table(who: int, first: int, count: int) -> pa.Table:
    stamps = np.arange(first, first + count, dtype=np.float64)
    return pa.table({"who": [who] * count, "s": stamps, "name": [f"n{i}" for i in range(count)]})


def merged() -> ps.Application:
    app = ps.Application("merged")
    ahead, behind = (app.source(name, ps.sources.csv(name), SCHEMA, stamp="s") for name in ("ahead", "behind"))
    ahead.union("both", behind).sink("out")
    return app


class Logging(RowsPlane):
    """Measures what each batch logs; worker processes vanish before the batches that are told."""

    vanishes: frozenset[int] = frozenset()

    def between_batches(self) -> None:
        self.sizes = [*getattr(self, "sizes", []), self.logged_bytes()]
        if len(self.sizes) in self.vanishes:
            workers._workers.clear()

    def logged_bytes(self) -> int:
        folder = Path(self.checkpoint.logs(INTAKE))
        return sum(os.path.getsize(path) for path in folder.glob("*.log")) if folder.is_dir() else 0


@pytest.mark.parametrize("vanishes", [pytest.param(frozenset(), marks=pytest.mark.long), frozenset({5, 9, 30})])
def test_a_batch_logs_what_came_and_went_of_100_000_waiting_tuples(vanishes: frozenset[int]) -> None:
    batches = 40
    deliveries: list[Delivery] = [
        {
            "ahead": [table(0, 0, WAITING) if not i else table(0, WAITING + 100 * i, 100)],
            "behind": [table(1, 10 * i, 10)],
        }
        for i in range(batches)
    ]
    with tempfile.TemporaryDirectory() as directory:
        plane = Logging(merged().graph, deliveries, Path(directory))
        plane.vanishes, plane.block_rows = vanishes, 1000
        tables, _ = plane.run_all()
        sizes = np.array([*plane.sizes, plane.logged_bytes()])
    logged = np.diff(sizes)
    assert logged[0] > WAITING * 20  # all that waits, once
    assert max(logged[1:]) < 20_000
    out = [(row["s"], row["who"]) for row in tables["out"].to_pylist()]
    assert out == sorted((float(s), who) for s in range(10 * batches) for who in (0, 1))[: len(out)]
    assert len(out) == 2 * 10 * batches


@pytest.mark.long
def test_a_history_that_outgrows_what_waits_is_replaced_by_it() -> None:
    deliveries: list[Delivery] = [
        {"ahead": [table(0, 1000 * i, 1000)], "behind": [table(1, 1000 * i - 500, 1000)]} for i in range(30)
    ]
    with tempfile.TemporaryDirectory() as directory:
        plane = Logging(merged().graph, deliveries, Path(directory))
        plane.block_rows = 1000
        plane.run_all()
        ledger = plane.manifests.ledgers(29)[INTAKE]
    assert int(ledger.heads["bytes"][0]) < 300_000
    assert int(ledger.heads["pieces"][0]) < 20
