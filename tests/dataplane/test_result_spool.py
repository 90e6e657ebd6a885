"""Results that do not fit into a task's share go through files, and nothing else about them changes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.runtime.driver.result_share import ResultShare
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.state.checkpoint.batch_plan import BatchPlan
from tests.dataplane.plane import Plane
from tests.reference.checking import letters_of
from tests.reference.python_functions import plain_rows
from tests.reference.streams import TRADES, trades


class AnyShare(ResultShare):
    """Another share for every batch."""

    def __init__(self, shares: list[int]) -> None:
        super().__init__(None)
        self.shares = shares

    def task_bytes(self, configuration: Configuration) -> int:
        return self.shares[configuration.block_rows % len(self.shares)]


def picky(row: dict[str, Any]) -> dict[str, Any] | None:
    if row["n"] is not None and row["n"] % 3 == 0:
        raise ValueError("no multiples of three")
    return row


def application() -> ps.Application:
    app = ps.Application("spooled")
    kept = app.source("trades", schema=TRADES).map("picky", picky, schema=TRADES, per_tuple=True)
    kept.sink("all")
    sums = {"key": "any(key)", "x": "sum(x)", "n": "count()"}
    kept.aggregate("sums", window=ps.sliding(count=3, per_group=True), by="key", emit=sums).sink("out")
    return app


@given(
    table=trades(),
    seed=st.integers(0, 2**32),
    kills=st.sampled_from([0.0, 0.2]),
    shares=st.lists(st.sampled_from([0, 100, 1000, 5000, 1 << 20]), min_size=1, max_size=3),
)
def test_results_through_files_equal_results_through_spark(
    table: pa.Table, seed: int, kills: float, shares: list[int]
) -> None:
    app = application()
    expected = ps.evaluate(app, {"trades": table})
    with tempfile.TemporaryDirectory() as directory:
        plane = Plane(app.graph, {"trades": table}, Path(directory), seed, kills)
        plane._result_share = AnyShare(shares)
        got, letters = plane.run_all()
        for name in ("all", "out"):
            assert repr(plain_rows(got[name])) == repr(plain_rows(expected[name])), name
        assert sorted(map(repr, letters_of(letters))) == sorted(map(repr, letters_of(expected.dead_letters)))
        left = list(plane.checkpoint.results.glob("*"))
        assert kills or not left, "files of delivered batches are deleted"


def test_a_batch_that_exceeds_the_limit_runs_again_with_all_results_in_files(tmp_path: Path) -> None:
    shares: list[int | None] = []

    class Limited(Plane):
        def run_tasks(self, frame: object, plan: BatchPlan) -> Iterator[Message]:
            shares.append(plan.task_result_bytes)
            found = list(super().run_tasks(frame, plan))
            if sum(len(m.payload) for m in found if m.kind == message.SINK) > 0:
                raise RuntimeError("Total size of serialized results is bigger than spark.driver.maxResultSize (1 KiB)")
            yield from found

    app = application()
    rows = [{"key": "a", "name": "n", "x": 1.0, "n": 1, "u": 0, "flag": True, "t": 0} for _ in range(30)]
    table = pa.Table.from_pylist(rows, app.graph.sources[0].schema)
    plane = Limited(app.graph, {"trades": table}, tmp_path, seed=1, kills=0.0)
    plane._result_share = ResultShare(1 << 20)
    got, _ = plane.run_all()
    assert got["all"].num_rows == 30
    assert shares[1] == 0 < int(shares[0] or 0)
    assert plane.checkpoint.plan(0).task_result_bytes == 0, "so that a restart begins with files"


def test_a_share_follows_limit_and_tasks() -> None:
    configuration = Configuration((ElementConfiguration("a", 2, ()), ElementConfiguration("b", 2, ())))
    share = ResultShare(1 << 20)
    assert share.task_bytes(configuration) == (1 << 18) // 4
    share.note(100)  # a source has as many tasks as it has partitions
    assert share.task_bytes(configuration) == (1 << 18) // 100
    assert ResultShare(None).task_bytes(configuration) == (64 << 20) // 4
