"""Latency of any source: what tasks tell of arrivals, against the plain difference for every result."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.connectors.arriving.arrival import Arrived, LatencyFrom, least_exact
from penstock.connectors.planned.row_numbers import WIDE_BITS
from penstock.measure.batch.arrival_table import ArrivalTable
from penstock.measure.batch.latency_clock import LatencyClock
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.measure.task.arrival_pieces import ArrivalPieces
from penstock.measure.task.task_report import TaskReport, decode, encode
from penstock.measure.task.triggers import UNKNOWN
from penstock.state.checkpoint.checkpoint import Fixed

NOW_S = 1_000.0


def graph(**options: object) -> Graph:
    app = ps.Application("rows")
    rows = app.source("rows", schema={"n": "int64", "at": "float64"}, **options)  # type: ignore[arg-type]
    rows.sink("out", ps.sinks.discard())
    return app.graph


def told(blocks: list[tuple[int, float | list[float]]], word: LatencyFrom = "column") -> ArrivalPieces:
    """What a task has to tell of blocks from some numbers on."""
    pieces = ArrivalPieces(lambda: NOW_S)
    for start, moments_s in blocks:
        own = moments_s if isinstance(moments_s, float) else np.array(moments_s)
        pieces.add("rows", start, 100 if isinstance(moments_s, float) else len(moments_s), Arrived(own, word))
    return pieces


def report(pieces: ArrivalPieces, triggers: list[tuple[int, int, int, int]]) -> dict[str, list[TaskReport]]:
    replica = ReplicaObservation(0, 1, 1, 0.1, 0.1, 0)
    own = TaskReport(replica, {}, np.array(triggers, np.int64).reshape(-1, 4), {}, pieces.plain())
    return {"rows": [decode(encode(own.plain))]}


def seen(clock: LatencyClock, reports: dict[str, list[TaskReport]], wait_s: float | None = 0.0) -> Observation:
    bare = Observation(0, NOW_S - 1, 1.0, 1, 1, committed_at_s=NOW_S)
    return clock.completed(bare, reports, {"rows": wait_s})


@given(
    st.lists(st.lists(st.floats(900.0, 1_000.0), min_size=1, max_size=16).map(sorted), min_size=1, max_size=8),
    st.sampled_from([0, 3, 1 << WIDE_BITS]),
)
@settings(max_examples=60, deadline=None)
def test_every_result_has_the_latency_of_the_tuple_that_triggered_it(blocks: list[list[float]], gap: int) -> None:
    starts = np.concatenate([[0], np.cumsum([len(own) + gap for own in blocks])[:-1]]).tolist()
    pieces = told(list(zip(starts, blocks, strict=True)))
    triggers = [(0, start + i, 1, 1) for start, own in zip(starts, blocks, strict=True) for i in range(len(own))]
    latency = seen(LatencyClock(Fixed("id", graph(), 8, 0.0)), report(pieces, triggers)).latency
    assert latency is not None
    exact_ms = np.sort([(NOW_S - moment_s) * 1000 for own in blocks for moment_s in own])
    assert latency.mean_ms == pytest.approx(np.mean(np.maximum(exact_ms, 0.001)), rel=1e-6)
    rank = int(0.95 * (len(exact_ms) - 1))
    assert latency.p95_ms == pytest.approx(max(exact_ms[rank], 0.001), rel=0.011)


def test_arrivals_ahead_of_the_clock_are_clamped_and_counted() -> None:
    pieces = told([(0, [999.0, 1_005.0, 1_003.0]), (3, 2_000.0)])
    own = seen(LatencyClock(Fixed("id", graph(), 8, 0.0)), report(pieces, [(0, 0, 3, 3)]))
    assert own.ahead_tuples == 2 + 100
    assert own.latency is not None
    assert own.latency.highest_ms == pytest.approx(1_000.0)
    assert own.latency.p50_ms < 1.0


def test_of_the_intake_what_waits_over_the_rate_is_added_and_unknown_waiting_is_told() -> None:
    reports = report(told([(0, 999.0)], "intake"), [(0, 0, 100, 100)])
    clock = LatencyClock(Fixed("id", graph(), 8, 0.0))
    known = seen(clock, reports, wait_s=3.0)
    assert known.latency is not None
    assert known.latency.mean_ms == pytest.approx(4_000.0)
    assert (known.latency_from, known.latency_excludes_waiting) == ("intake", False)
    unknown = seen(clock, reports, wait_s=None)
    assert unknown.latency is not None
    assert unknown.latency.mean_ms == pytest.approx(1_000.0)
    assert (unknown.latency_from, unknown.latency_excludes_waiting) == ("intake", True)


@pytest.mark.parametrize("word", ["append", "create", "column", "file"])
def test_other_arrivals_have_the_waiting_in_them(word: LatencyFrom) -> None:
    own = seen(LatencyClock(Fixed("id", graph(), 8, 0.0)), report(told([(0, 999.0)], word), [(0, 0, 9, 9)]), None)
    assert own.latency is not None
    assert own.latency.mean_ms == pytest.approx(1_000.0)
    assert (own.latency_from, own.latency_excludes_waiting) == (word, False)


def test_results_of_tuples_that_were_taken_before_count_from_their_own_arrival() -> None:
    clock = LatencyClock(Fixed("id", graph(), 8, 0.0))
    seen(clock, report(told([(0, 950.0)]), []))
    own = seen(clock, report(told([(100, 999.0)]), [(0, 10, 1, 5), (0, 100, 1, 5)]))
    assert own.latency is not None
    assert own.latency.mean_ms == pytest.approx((50_000 + 1_000) / 2)


def test_numbers_that_begin_again_with_every_batch_are_those_of_the_newest() -> None:
    table = ArrivalTable()
    table.note([(0, 100, 1.0, 1.0)])
    table.note([(0, 50, 9.0, 9.0)])
    assert table.arrival_s(np.array([10, 60, 99, 500])).tolist() == [9.0, 1.0, 1.0, 9.0]


def test_results_whose_trigger_is_not_known_are_spread_over_all_tuples() -> None:
    pieces = told([(0, 990.0), (1 << WIDE_BITS, 950.0)])
    own = seen(LatencyClock(Fixed("id", graph(), 8, 0.0)), report(pieces, [(UNKNOWN, 0, 0, 10)]))
    assert own.latency is not None
    assert own.latency.mean_ms == pytest.approx((10_000 + 50_000) / 2)


def test_behind_an_intake_tuples_are_numbered_as_they_come() -> None:
    table = ArrivalTable(counted=True)
    table.note([(1 << WIDE_BITS, (1 << WIDE_BITS) + 3, 5.0, 5.0), (0, 2, 1.0, 1.0)])
    table.note([(7, 8, 9.0, 9.0)])
    assert table.arrival_s(np.arange(6)).tolist() == [1.0, 1.0, 5.0, 5.0, 5.0, 9.0]


def test_many_blocks_are_told_in_few_pieces() -> None:
    pieces = told([(100 * i, float(i)) for i in range(900)] + [(90_000, [float(i) for i in range(90_000)])] * 400)
    ((_, own, _),) = pieces.plain().values()
    assert len(own) <= 2048
    assert own[0][0] == 0
    assert max(piece[1] for piece in own) == 180_000
    one = told([(0, 5.0), (100, 5.0), (200, 6.0)]).plain()["rows"][1]
    assert one == [(0, 200, 5.0, 5.0), (200, 300, 6.0, 6.0)]


def test_moments_are_spread_over_the_rows_that_are_left() -> None:
    arrived = Arrived(np.arange(10.0), "append")
    assert arrived.part(2, 4, 10).moments_s.tolist() == [2.0, 3.0]  # type: ignore[union-attr]
    assert arrived.part(0, 5, 5).at(np.arange(5)).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert least_exact([]) is None


@given(
    st.lists(st.floats(NOW_S - 5, NOW_S + 1), min_size=1, max_size=40),
    st.integers(1, 3_000),
    st.lists(st.integers(1, 700), min_size=1, max_size=5),
)
def test_a_sample_of_moments_is_told_as_if_each_row_had_its_own(
    sample: list[float], rows: int, sizes: list[int]
) -> None:
    moments_s, lazy, plain = np.array(sample), *(ArrivalPieces(lambda: NOW_S) for _ in range(2))
    each_s = moments_s[(np.arange(rows) * (len(sample) / rows)).astype(np.int64)]
    edges = [0, *(edge for edge in np.cumsum(sizes).tolist() if edge < rows), rows]
    for begin, end in itertools.pairwise(edges):
        lazy.add("rows", begin, end - begin, Arrived(moments_s, "append").part(begin, end, rows))
        plain.add("rows", begin, end - begin, Arrived(each_s[begin:end], "append"))
    assert lazy.plain() == plain.plain()
    assert plain.plain()["rows"][2] == np.count_nonzero(each_s > NOW_S)


def test_a_schedule_that_is_overridden_is_not_gone_by(tmp_path: Path) -> None:
    app = ps.Application("trace")
    trace = app.source("rows", ps.sources.trace(rate_tuples_s=100.0), arrival="intake")
    trace.sink("out", ps.sinks.discard())
    own = seen(LatencyClock(Fixed("id", app.graph, 8, 0.0)), report(told([(0, 998.0)], "intake"), [(0, 0, 5, 5)]))
    assert own.latency_from == "intake"
    assert own.latency is not None
    assert own.latency.mean_ms == pytest.approx(2_000.0)


def test_what_a_source_goes_by_is_checked_and_stored() -> None:
    app = ps.Application("rows")
    schema = {"n": "int64", "word": "string", "at": "timestamp"}
    app.source("a", schema=schema, arrival="at").sink("out_a")  # type: ignore[arg-type]
    app.source("b", schema=schema, arrival=ps.sources.column("word")).sink("out_b")
    app.source("c", schema=schema, arrival=ps.sources.column("att")).sink("out_c")
    text = "\n".join(map(str, app.problems))
    assert 'needs arrival as ps.sources.column("name"), "intake" or None; got \'at\'' in text
    assert "use ps.sources.column('at')" in text
    assert "has the arrival 'word', which must be a timestamp or a number; got string" in text
    assert "'att', which its" in text or "'att'" in text
    right = ps.Application("rows")
    right.source("a", schema=schema, arrival=ps.sources.column("at")).sink("out")
    assert ps.Application.from_json(right.to_json()) == right
    assert pa.types.is_timestamp(right.graph.sources[0].schema.field("at").type)
