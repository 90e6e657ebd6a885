"""`bench elastic-map` without Spark: its figures, its check of order, its service, and the moves of the knee."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from penstock.bench.elastic_map import Client, Moves, timed_run
from penstock.bench.elastic_map_figures import Knee, Phase, Report, Row, knees_of, pooled_row
from penstock.bench.elastic_map_report import draw, print_report
from penstock.bench.slow_service import SlowService, ask, slow_service

REPORT = Report(
    rows=[
        Row("plain mapInArrow", 40.0, 40.0, True, "1"),
        Row("plain mapInPandas", 50.0, 50.0, True, "1"),
        Row("Spark's concurrency.level", 900.0, 900.0, True, "32"),
        Row("fixed 32", 1_500.0, 1_200.0, True, "32"),
        Row("fixed 64", 2_000.0, 1_500.0, True, "64"),
        Row("elastic", 1_950.0, 1_000.0, True, "60"),
    ],
    knees=[Knee(16, 700.0, 750.0, 15, 20), Knee(6, 270.0, 300.0, 7, 30)],
)


def period(at_s: float, level: int, tuples_s: float, *, settled: bool = False) -> dict[str, Any]:
    return {"at_s": at_s, "level": level, "tuples_s": tuples_s, "settled": settled}


def test_the_json_has_every_figure_against_the_best_of_its_kind() -> None:
    assert REPORT.summary() == {
        "bench": "elastic-map", "speed_up": 39.0, "speed_up_with_learning": 20.0, "in_order": True,
        "ratio_to_best_static": 0.975, "ratio_at_knee": 0.9,
        "knees": [
            {"knee": 16, "tuples_s": 700.0, "best_static_tuples_s": 750.0, "level": 15, "most_calls_at_once": 20},
            {"knee": 6, "tuples_s": 270.0, "best_static_tuples_s": 300.0, "level": 7, "most_calls_at_once": 30},
        ],
    }  # fmt: skip


def test_one_variant_out_of_order_or_the_run_at_the_knees_is_enough_to_say_so() -> None:
    for place in range(len(REPORT.rows)):
        rows = [replace(row, in_order=i != place) for i, row in enumerate(REPORT.rows)]
        assert replace(REPORT, rows=rows).summary()["in_order"] is False
    assert replace(REPORT, knees_in_order=False).summary()["in_order"] is False


class Session:
    """A stand-in for Spark that gives a table back as it was made."""

    def range(self, start: int, end: int, numPartitions: int) -> Session:
        assert (start, numPartitions) == (0, 1)
        self.table = pa.table({"id": list(range(end)), "answer": list(range(end))})
        return self

    def toArrow(self) -> pa.Table:
        time.sleep(0.01)
        return self.table


@pytest.mark.parametrize(
    ("ids", "answers", "in_order"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], True),
        ([0, 2, 1, 3], [0, 2, 1, 3], False),  # rows swapped
        ([0, 1, 2, 3], [0, 2, 1, 3], False),  # the answers of others
        ([0, 1, 2], [0, 1, 2], False),  # a row lost
        ([0, 1, 1, 2, 3], [0, 1, 1, 2, 3], False),  # a row repeated
    ],
)
def test_order_and_answers_are_checked(ids: list[int], answers: list[int], in_order: bool) -> None:
    def changed(frame: Session) -> Session:
        frame.table = pa.table({"id": ids, "answer": answers})
        return frame

    seconds, found = timed_run(Session(), 4, changed)
    assert seconds >= 0.01
    assert found is in_order


def test_a_pool_counts_by_its_settled_periods() -> None:
    periods = [
        period(1, 1, 50.0),
        period(2, 8, 400.0),
        *(period(3, 16, rate, settled=True) for rate in (780, 810, 800)),
    ]
    row = pooled_row("elastic", 1_000, 4.0, True, periods, None)
    assert (row.tuples_s, row.whole_tuples_s, row.level) == (800, 250.0, "16")
    unsettled = pooled_row("elastic", 1_000, 4.0, False, periods[:2], None)
    assert (unsettled.tuples_s, unsettled.in_order, unsettled.level) == (225.0, False, "8")
    assert pooled_row("fixed 4", 100, 2.0, True, [], 4) == Row("fixed 4", 50.0, 50.0, True, "4")


def test_a_knee_counts_by_the_second_half_of_its_phase() -> None:
    phases = [Phase(16, 0.0, 10.0, 20), Phase(6, 10.0, 20.0, 22), Phase(24, 20.0, 20.1, 3)]
    periods = [*(period(n, n, 100.0 * n) for n in range(1, 5)), *(period(n, n, 10.0 * n) for n in range(11, 15))]
    assert knees_of(phases, periods, {16: 400.0, 6: 200.0, 24: 1.0}) == [
        Knee(16, 350.0, 400.0, 4, 20),
        Knee(6, 135.0, 200.0, 14, 22),
    ]


def test_a_service_beyond_its_knee_is_slower_by_the_square() -> None:
    async def asked(service: SlowService, calls: int) -> list[float]:
        async def one(number: int) -> float:
            begin_s = time.perf_counter()
            assert await service._answer(f"/{number}") == str(number)
            return time.perf_counter() - begin_s

        return await asyncio.gather(*(one(n) for n in range(calls)))

    service = SlowService(0.01, knee=2)
    took_s = asyncio.run(asked(service, 4))
    assert all(own >= 0.0099 * max(1.0, at_once / 2) ** 2 for at_once, own in enumerate(took_s, 1))
    assert (service.most, service.answered, service.now) == (4, 4, 0)
    free = SlowService(0.01, knee=0)
    assert max(asyncio.run(asked(free, 40))) < 4.0  # what the last one takes with a knee of 2
    assert free.most == 40


def test_the_service_answers_a_client_and_counts_calls_anew_for_each_knee() -> None:
    with slow_service(1.0) as port:
        client = Client(port)
        assert [client({"id": n}) for n in (7, 3)] == [{"id": 7, "answer": 7}, {"id": 3, "answer": 3}]
        batch = pa.RecordBatch.from_pydict({"id": [5, 6]})
        assert next(client.on_batches([batch])).to_pydict() == {"id": [5, 6], "answer": [5, 6]}
        assert json.loads(ask(port, "/calls")) == {"answered": 4, "most": 1}
        told: list[str] = []
        moves = Moves(port, (4, 2), 0.05, told.append)
        moves.run(threading.Event())
        assert [(phase.knee, phase.most_calls) for phase in moves.phases] == [(4, 0), (2, 0)]
        assert all(phase.end_s - phase.begin_s >= 0.05 for phase in moves.phases)
        assert [text[-1] for text in told] == ["4", "2"]


def test_tables_and_a_picture_show_it(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bad = replace(REPORT, rows=[*REPORT.rows[:-1], replace(REPORT.rows[-1], in_order=False)])
    print_report(Console(width=140), bad)
    out = capsys.readouterr().out
    for text in ("1,950", "NO", "0.93", "20 x plain (got 39.0)", "0.9 at the moving knee (got 0.9)"):
        assert text in out
    draw(REPORT, tmp_path / "levels.png")
    assert (tmp_path / "levels.png").read_bytes().startswith(b"\x89PNG")
