"""Tuples whose event time is far ahead of the time at which their batch was planned do not end windows."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from tests.dataplane.rows_plane import NOW_S, Delivery, RowsPlane


def counted(kind: str = "float64", **settings: Any) -> ps.Application:
    app = ps.Application("counted")
    source = app.source("in", ps.sources.csv("in"), {"t": kind}, event_time="t", **settings)
    source.aggregate("bars", window=ps.tumbling(time_s=10, on="t"), emit={"n": "count()"}).sink("out")
    return app


def ran(app: ps.Application, deliveries: list[Delivery], kills: float = 0.0) -> tuple[list[int], list[dict[str, str]]]:
    with tempfile.TemporaryDirectory() as directory:
        tables, letters = RowsPlane(app.graph, deliveries, Path(directory), 7, kills).run_all()
    return tables["out"].column("n").to_pylist(), letters.to_pylist()


def times(*after_s: float) -> pa.Table:
    return pa.table({"t": pa.array([NOW_S + own for own in after_s], pa.float64())})


@pytest.mark.parametrize("kills", [0.0, 0.3])
def test_a_far_future_event_time_is_a_dead_letter_and_does_not_move_the_clock(kills: float) -> None:
    deliveries: list[Delivery] = [
        {"in": [times(0, 1, 86_400 * 365)]}, {"in": [times(86_400 * 400)]}, {"in": [times(2, 11)]},
        {"in": [times(12, 21)]},
    ]  # fmt: skip
    counts, letters = ran(counted(), deliveries, kills)
    assert counts == [3, 2]
    reason = "has an event time 't' more than 86400 s ahead of the time at which its micro-batch was planned"
    assert [(letter["operator"], letter["reason"]) for letter in letters] == [("in", reason)] * 2


def test_the_bound_is_the_users_and_counts_from_the_planning_time() -> None:
    deliveries: list[Delivery] = [{"in": [times(0, 5, 5.5)]}, {"in": [times(6, 40)]}]
    _, letters = ran(counted(max_ahead_s=5), deliveries)  # the second batch is planned a second later
    assert [letter["row"] for letter in letters] == [f'{{"t": {NOW_S + own}}}' for own in (5.5, 40)]


def test_without_a_bound_any_event_time_counts() -> None:
    assert ran(counted(max_ahead_s=None), [{"in": [times(0, 1, 86_400 * 365)]}]) == ([2], [])


def test_timestamps_and_nulls() -> None:
    now = dt.datetime.fromtimestamp(NOW_S, dt.UTC).replace(tzinfo=None)
    stamps = [now, None, now + dt.timedelta(days=2), now + dt.timedelta(seconds=10)]
    table = pa.table({"t": pa.array(stamps, pa.timestamp("us"))})
    counts, letters = ran(counted("timestamp"), [{"in": [table]}])
    assert counts == [1]
    assert sorted(letter["operator"] for letter in letters) == ["bars", "in"]


def test_traces_are_exempt() -> None:
    app = ps.Application("trace")
    source = app.source("in", ps.sources.trace(rate="unbounded", total=30), event_time="seq", max_ahead_s=1e-9)
    source.aggregate("bars", window=ps.tumbling(time_s=10, on="seq"), emit={"n": "count()"}).sink("out")
    with tempfile.TemporaryDirectory() as directory:
        plane = RowsPlane(app.graph, [{}] * 3, Path(directory))
        plane.now_s = -1e9
        tables, letters = plane.run_all()
    assert tables["out"].column("n").to_pylist() == [10, 10]
    assert letters.num_rows == 0


def test_an_evaluation_is_exempt() -> None:
    given = {"in": times(0, 1, 86_400 * 365 * 400)}
    tables = ps.evaluate(counted(out_of_order_s=0, max_ahead_s=1e-9), given)
    assert tables["out"].column("n").to_pylist() == [2]
    assert tables.dead_letters.num_rows == 0
