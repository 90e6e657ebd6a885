"""`timeout_s` of `elastic_map`: of one call, tried again, and nobody else's concern."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.element.pool.calls import Calls, ElasticFailure, Unit
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.stream import ElasticStream
from penstock.element.pool.thread_pool import MOST_LEFT_BEHIND, ThreadPool
from tests.unit.element.pool.elastic_results import rows_within

ROWS, LATE_ROW, TIMEOUT_S = 400, 150, 0.2
OUT = pa.schema({"m": pa.int64()})
LATE = f"took longer than timeout_s={TIMEOUT_S:g}"
Function = Callable[..., Any]


class Service:
    """Twice a row, except that the first so many calls of some rows hang until the end of the test."""

    def __init__(self, hanging_calls: int, rows: range = range(LATE_ROW, LATE_ROW + 1)) -> None:
        self.hanging_calls, self.rows = hanging_calls, rows
        self.calls: Counter[int] = Counter()
        self.end = threading.Event()

    def hangs(self, row: dict[str, Any]) -> bool:
        self.calls[row["n"]] += 1
        return row["n"] in self.rows and self.calls[row["n"]] <= self.hanging_calls

    def plain(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.hangs(row):
            self.end.wait(30)
        return {"m": 2 * row["n"]}

    async def soon(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.hangs(row):
            await asyncio.sleep(30)
        return {"m": 2 * row["n"]}

    def plain_block(self, batch: pa.RecordBatch) -> dict[str, Any]:
        return {"m": [self.plain(row)["m"] for row in batch.to_pylist()]}

    async def block_soon(self, batch: pa.RecordBatch) -> dict[str, Any]:
        return {"m": [(await self.soon(row))["m"] for row in batch.to_pylist()]}


Serve = Callable[..., Service]


@pytest.fixture
def serve() -> Iterator[Serve]:
    made: list[Service] = []

    def serve(*arguments: Any) -> Service:
        made.append(Service(*arguments))
        return made[-1]

    yield serve
    for service in made:
        service.end.set()


def stream(function: Function, *, retries: int, per_tuple: bool = True, level: int = 2) -> ElasticStream:
    calls = Calls(
        function, OUT, per_tuple=per_tuple, retries=retries, error_column="error", timeout_s=TIMEOUT_S
    )  # fmt: skip
    own = ElasticStream(calls, LevelKeeper(64, 1.0, fixed=level), ordered=True, block_rows=50, name="asked")
    own._call_s = 1e-9  # as after many quick calls: units of 1,024 rows
    return own


def results(own: ElasticStream, rows: int = ROWS) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict({"n": list(range(rows))})
    return rows_within(own, batch, 25)


@pytest.mark.parametrize("name", ["plain", "soon"])
def test_a_late_row_in_a_large_unit_is_tried_again_and_the_others_are_called_once(serve: Serve, name: str) -> None:
    service = serve(1)
    got = results(stream(getattr(service, name), retries=1))
    assert [row["m"] for row in got] == [2 * n for n in range(ROWS)]
    assert [row["error"] for row in got] == [None] * ROWS
    assert service.calls == {n: 2 if n == LATE_ROW else 1 for n in range(ROWS)}


@pytest.mark.parametrize("name", ["plain", "soon"])
def test_a_row_that_is_always_late_fails_alone_after_all_attempts(serve: Serve, name: str) -> None:
    service = serve(99)
    got = results(stream(getattr(service, name), retries=2))
    assert [row["m"] for row in got] == [None if n == LATE_ROW else 2 * n for n in range(ROWS)]
    assert [(n, row["error"]) for n, row in enumerate(got) if row["error"]] == [(LATE_ROW, LATE)]
    assert service.calls == {n: 3 if n == LATE_ROW else 1 for n in range(ROWS)}


@pytest.mark.parametrize("name", ["plain_block", "block_soon"])
def test_a_late_block_is_tried_again(serve: Serve, name: str) -> None:
    service = serve(1)
    got = results(stream(getattr(service, name), retries=1, per_tuple=False))
    assert [row["m"] for row in got] == [2 * n for n in range(ROWS)]
    assert {n: calls for n, calls in service.calls.items() if calls == 2} == {LATE_ROW: 2}  # the block's first row


def test_the_time_of_all_rows_of_a_unit_and_of_pauses_is_no_call() -> None:
    calls: Counter[int] = Counter()

    def quick(row: dict[str, Any]) -> dict[str, Any]:
        calls[row["n"]] += 1
        time.sleep(0.01)
        if row["n"] == 5 and calls[5] <= 3:
            raise ConnectionError("down")
        return {"m": row["n"]}

    got = results(stream(quick, retries=3, level=1), rows=60)
    assert [row["m"] for row in got] == list(range(60))
    assert calls == {n: 4 if n == 5 else 1 for n in range(60)}


def test_a_call_that_comes_back_too_late_is_late_though_nobody_looked() -> None:
    calls: Counter[int] = Counter()
    own = Calls(
        lambda row: {"m": calls.update([row["n"]]) or time.sleep(2 * TIMEOUT_S if calls[0] == 1 else 0) or row["n"]},
        OUT, per_tuple=True, retries=1, error_column=None, timeout_s=TIMEOUT_S,
    )  # fmt: skip
    pool = ThreadPool(own)
    pool.set_level(1)
    pool.submit(Unit(0, pa.RecordBatch.from_pydict({"n": [0]})))
    outcome = pool._done.get(timeout=20)  # without `take`, which looks
    pool.close()
    assert outcome.parts == [[{"m": 0}]]
    assert calls == {0: 2}


def test_threads_left_behind_are_replaced_up_to_a_bound(serve: Serve) -> None:
    service = serve(99, range(1_000))
    own = stream(service.plain, retries=0, level=40)
    own._call_s = 1.0
    with pytest.raises(ElasticFailure, match=rf"asked has more than {MOST_LEFT_BEHIND} calls that {LATE} and still"):
        results(own, rows=300)
    assert own.pool._left_behind <= MOST_LEFT_BEHIND + 40  # type: ignore[attr-defined]
    service.end.set()
    deadline_s = time.monotonic() + 20
    while own.pool._left_behind and time.monotonic() < deadline_s:  # type: ignore[attr-defined]
        time.sleep(0.01)
    assert own.pool._left_behind == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_timeout_of_the_functions_own_is_told_as_its_own(is_async: bool) -> None:
    def own_timeout(row: dict[str, Any]) -> dict[str, Any]:
        raise TimeoutError

    async def own_timeout_soon(row: dict[str, Any]) -> dict[str, Any]:
        raise TimeoutError

    (row,) = results(stream(own_timeout_soon if is_async else own_timeout, retries=0), rows=1)
    assert row["error"].startswith("failed with TimeoutError")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_that_wants_to_end_the_process_fails_and_nothing_hangs(is_async: bool) -> None:
    def ending(row: dict[str, Any]) -> dict[str, Any]:
        raise SystemExit(3)

    async def ending_soon(row: dict[str, Any]) -> dict[str, Any]:
        raise SystemExit(3)

    got = results(stream(ending_soon if is_async else ending, retries=0), rows=3)
    assert ["failed with SystemExit: 3" in row["error"] for row in got] == [True] * 3
