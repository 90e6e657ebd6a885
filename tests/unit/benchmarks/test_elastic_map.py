"""Benchmark `elastic-map` without Spark: its figures, its check of order, its service, and the moves of the knee."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from benchmarks.elastic_map.elastic_map import Client, Moves, timed_run
from benchmarks.elastic_map.figures import KNEES, Knee, Phase, Report, Round, Row, knees_of, level_of
from benchmarks.elastic_map.report import draw, print_report
from benchmarks.elastic_map.slow_service import Calls, SlowService, ask, counted, late_tuples_s, slow_service
from benchmarks.machine import this_machine


def knee(at: int, tuples_s: float, best: float, level: int, *, past: float = 0.1) -> Knee:
    return Knee(Phase(at, 0.0, 40.0, tuples_s, 2 * at, past), best, level)


FIXED, ELASTIC = Row("fixed 64", 2_000.0, 1_500.0, True, "64"), Row("elastic", 1_950.0, 900.0, True, "60")
REPORT = Report(
    rows=[
        Row("plain mapInArrow", 40.0, 35.0, True, "1"),
        Row("plain mapInPandas", 50.0, 45.0, True, "1"),
        Row("Spark's concurrency.level", 1_300.0, 900.0, True, "32"),
        Row("fixed 32", 1_500.0, 1_200.0, True, "32"),
        FIXED,
        ELASTIC,
    ],
    rounds=[
        Round(replace(FIXED, tuples_s=fixed), replace(ELASTIC, tuples_s=tuples_s))
        for fixed, tuples_s in (
            (2_000.0, 1_800.0),
            (1_600.0, 1_560.0),
            (1_900.0, 2_090.0),
        )
    ],
    knees=[knee(16, 700.0, 750.0, 15), knee(6, 270.0, 300.0, 7, past=0.15), knee(24, 990.0, 1_000.0, 24)],
)


def period(at_s: float, level: int, tuples_s: float, *, settled: bool = False) -> dict[str, Any]:
    return {"at_s": at_s, "level": level, "tuples_s": tuples_s, "settled": settled}


def test_the_json_has_every_figure_against_the_best_of_its_kind() -> None:
    summary = REPORT.summary()
    assert {name: summary[name] for name in list(summary)[:10]} == {
        "bench": "elastic-map", "speed_up": 39.0, "speed_up_of_whole_jobs": 20.0, "in_order": True,
        "ratio_to_best_static": 0.975, "ratios_to_best_static": [0.9, 0.975, 1.1], "ratio_to_sparks_own": 1.5,
        "ratio_at_knee": 0.9,
        "past_knee_ratio_worst": 0.15, "goals_missed": [],
    }  # fmt: skip
    assert [(row["name"], row["level"], row["tuples_s"]) for row in summary["rows"]][-2:] == [
        ("fixed 64", 64, 2_000.0), ("elastic", 60, 1_950.0),
    ]  # fmt: skip
    assert summary["knees"][1] == {
        "knee": 6, "tuples_s": 270.0, "best_static_tuples_s": 300.0, "ratio": 0.9, "level": 7,
        "most_calls_at_once": 12, "past_knee_ratio": 0.15,
    }  # fmt: skip


def test_every_goal_that_is_missed_is_told() -> None:
    slow = [*REPORT.rows[:-1], Row("elastic", 900.0, 700.0, False, "20")]
    pressing = [*REPORT.knees[:2], knee(24, 890.0, 1_000.0, 24, past=0.21)]
    rounds = [Round(FIXED, slow[-1])]
    assert replace(REPORT, rows=slow, rounds=rounds, knees=pressing).summary()["goals_missed"] == [
        "20 x plain", "0.95 of the best fixed level", "order kept", "0.9 at each of the knees 16, 6, 24",
        "past 1.25 x the knee for 20% of the time at most",
    ]  # fmt: skip


def test_a_knee_that_was_not_measured_is_a_goal_missed() -> None:
    for number in range(len(KNEES)):
        some = replace(REPORT, knees=[own for place, own in enumerate(REPORT.knees) if place != number]).summary()
        assert some["ratio_at_knee"] is None
        assert len(some["goals_missed"]) == 2


def test_one_variant_out_of_order_or_the_run_at_the_knees_is_enough_to_say_so() -> None:
    for place in range(len(REPORT.rows)):
        rows = [replace(row, in_order=i != place) for i, row in enumerate(REPORT.rows)]
        assert replace(REPORT, rows=rows).summary()["in_order"] is False
    for name in ("fixed", "elastic"):
        first = replace(REPORT.rounds[0], **{name: replace(FIXED, in_order=False)})
        assert replace(REPORT, rounds=[first, *REPORT.rounds[1:]]).summary()["in_order"] is False
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


def test_everybody_counts_by_the_same_late_part_of_the_answers() -> None:
    learning = [*(0.1 * n for n in range(50)), *(5.0 + 0.001 * n for n in range(50))]
    assert late_tuples_s(learning) == pytest.approx(1_000.0)
    tail = [*learning[:90], *(100.0 + n for n in range(10))]
    assert late_tuples_s(tail) == pytest.approx(1_000.0)
    assert late_tuples_s([1.0, 2.0]) is None


def test_the_level_is_that_of_the_last_settled_period() -> None:
    periods = [period(1, 1, 50.0), period(2, 16, 400.0, settled=True), period(3, 20, 390.0)]
    assert level_of(periods) == 16
    assert level_of(periods[:1]) == 1
    assert level_of([]) is None


def test_a_knee_has_the_level_of_its_own_time() -> None:
    phases = [
        Phase(16, 0.0, 10.0, 350.0, 20, 0.0),
        Phase(6, 10.0, 20.0, 135.0, 22, 0.5),
        Phase(24, 20.0, 30.0, 1.0, 3, 0.0),
    ]
    periods = [*(period(n, n, 100.0) for n in range(1, 5)), *(period(n, n, 10.0, settled=True) for n in range(11, 15))]
    knees = knees_of(phases, periods, {16: 400.0, 6: 200.0, 24: 1.0})
    assert [own.level for own in knees] == [4, 14, None]
    assert [own.ratio for own in knees] == [0.875, 0.675, 1.0]


def test_the_service_counts_the_time_that_it_is_asked_for_more_than_a_quarter_past_its_knee() -> None:
    now_s = 0.0
    service = SlowService(0.01, knee=4, clock=lambda: now_s)
    for calls, until_s in ((5, 1.0), (6, 3.0), (3, 10.0), (8, 10.5)):
        service._count(calls - service.now)
        now_s = until_s
    service._count(0)
    assert service.past_knee_s == 2.5


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
    assert (service.most, len(service.moments_s), service.now) == (4, 4, 0)
    free = SlowService(0.01, knee=0)
    assert max(asyncio.run(asked(free, 40))) < 4.0  # what the last one takes with a knee of 2
    assert free.most == 40


def test_the_service_answers_a_client_and_counts_calls_anew_for_each_knee() -> None:
    with slow_service(1.0) as port:
        client = Client(port)
        assert [client({"id": n}) for n in (7, 3)] == [{"id": 7, "answer": 7}, {"id": 3, "answer": 3}]
        batch = pa.RecordBatch.from_pydict({"id": [5, 6]})
        assert next(client.on_batches([batch])).to_pydict() == {"id": [5, 6], "answer": [5, 6]}
        assert counted(port) == Calls(4, None, 1, 0.0)
        assert client._idle.qsize() == 1  # one call at a time needs one connection
        assert pickle.loads(pickle.dumps(client)).port == port
        told: list[str] = []
        moves = Moves(port, (4, 2), 0.05, told.append)
        moves.run(threading.Event())
        assert [(phase.knee, phase.most_calls) for phase in moves.phases] == [(4, 0), (2, 0)]
        assert all(phase.end_s - phase.begin_s >= 0.05 for phase in moves.phases)
        assert [text[-1] for text in told] == ["4", "2"]
        ask(port, "/begin")
        assert counted(port).answered == 0


def test_threads_that_come_and_go_share_kept_alive_connections() -> None:
    with slow_service(1.0) as port:
        client = Client(port)
        for _ in range(5):  # a pool for each Arrow batch, as Spark's own concurrency has it
            with ThreadPoolExecutor(4) as pool:
                assert len(list(pool.map(client, [{"id": n} for n in range(12)]))) == 12
        assert client._idle.qsize() <= 4


def test_after_the_last_knee_the_service_answers_at_once_and_a_phase_that_was_cut_short_is_left_out() -> None:
    with slow_service(60_000.0) as port:
        cut = threading.Event()
        cut.set()
        short = Moves(port, (4, 2), 60.0, lambda text: None)
        short.run(cut)
        assert short.phases == []
        Moves(port, (4,), 0.01, lambda text: None).run(threading.Event())
        assert Client(port)({"id": 5})["answer"] == 5


def test_tables_and_a_picture_show_it(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bad = replace(REPORT, rows=[*REPORT.rows[:-1], replace(REPORT.rows[-1], in_order=False)])
    print_report(Console(width=140), bad, this_machine())
    out = capsys.readouterr().out
    for text in ("1,950", "NO", "0.93", "20 x plain (got 39.0)", "knee (got 0.9)", "15%", "goals missed: order kept"):
        assert text in out
    draw(REPORT, tmp_path / "levels.png")
    assert (tmp_path / "levels.png").read_bytes().startswith(b"\x89PNG")
