"""Whatever a call of `elastic_map` ends in, its rows fail with a sentence and nothing hangs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from penstock.element.pool.calls import Calls, ElasticFailure, Outcome, Unit
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.loop_pool import LoopPool
from penstock.element.pool.stream import ElasticStream
from tests.unit.element.pool.elastic_results import rows_within

OUT = pa.schema({"m": pa.int64()})
NUMBERS = pa.RecordBatch.from_pydict({"n": [0, 1, 2]})
FIRST_DAY_OF_10000 = 2_932_897  # days since 1970; Python's dates end the day before


def results(
    function: Callable[..., Any], batch: pa.RecordBatch = NUMBERS, *, is_column: bool = True, **options: Any
) -> list[dict[str, Any]]:
    given = {"per_tuple": True, "retries": 1, "timeout_s": None, **options}
    calls = Calls(function, OUT, error_column="error" if is_column else None, **given)
    own = ElasticStream(calls, LevelKeeper(64, 1.0, fixed=2), ordered=True, block_rows=50, name="asked")
    own._call_s = 1e-9  # as after many quick calls: units of 1,024 rows
    return rows_within(own, batch, 10)


class NoException(BaseException):
    """As the timeouts of gevent and eventlet are."""


class Untold(Exception):
    def __str__(self) -> str:
        raise Untold


def raising(error: BaseException) -> Callable[..., Any]:
    def function(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 1:
            raise error
        return {"m": row["n"]}

    return function


def raising_soon(error: BaseException) -> Callable[..., Any]:
    plain = raising(error)

    async def function(row: dict[str, Any]) -> dict[str, Any]:
        return plain(row)

    return function


@pytest.mark.parametrize("timeout_s", [None, 5.0])
@pytest.mark.parametrize("kind", [raising, raising_soon])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NoException("over"), "failed with NoException: over"),
        (asyncio.CancelledError("lost"), "failed with CancelledError: lost"),
        (KeyboardInterrupt(), "failed with KeyboardInterrupt"),
        (Untold(), "failed with Untold: (its message cannot be shown)"),
    ],
)
def test_a_call_that_ends_in_anything_fails_alone(
    kind: Callable[..., Any], error: BaseException, told: str, timeout_s: float | None
) -> None:
    got = results(kind(error), timeout_s=timeout_s)
    assert [row["m"] for row in got] == [0, None, 2]
    assert told in got[1]["error"]


@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_a_coroutine_whose_own_task_was_cancelled_fails_alone(timeout_s: float | None) -> None:
    async def asked(row: dict[str, Any]) -> dict[str, Any]:
        request = asyncio.ensure_future(asyncio.sleep(9))
        if row["n"] == 1:
            request.cancel()
            await request
        return {"m": row["n"]}

    got = results(asked, timeout_s=timeout_s)
    assert [row["m"] for row in got] == [0, None, 2]
    assert "failed with CancelledError" in got[1]["error"]


def test_a_coroutine_that_cancels_itself_fails_alone() -> None:
    async def asked(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 1:
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(9)
        return {"m": row["n"]}

    got = results(asked)
    assert [row["m"] for row in got] == [0, None, 2]


def test_a_coroutine_whose_own_task_wants_to_end_the_process_fails_alone() -> None:
    async def ending() -> None:
        raise SystemExit(3)

    async def asked(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 1:
            await asyncio.ensure_future(ending())
        return {"m": row["n"]}

    got = results(asked)
    assert [row["m"] for row in got] == [0, None, 2]
    assert "failed with SystemExit: 3" in got[1]["error"]


def test_what_still_fails_is_raised_whatever_it_is() -> None:
    with pytest.raises(ElasticFailure, match="asked failed with NoException: over"):
        results(raising(NoException("over")), is_column=False)


async def same_soon(row: dict[str, Any]) -> dict[str, Any]:
    return {"m": row["n"]}


@pytest.mark.parametrize("function", [lambda row: {"m": row["n"]}, same_soon])
def test_a_row_that_cannot_become_a_dict_fails_alone_and_is_not_called_for(function: Callable[..., Any]) -> None:
    days = pa.array([0, FIRST_DAY_OF_10000, 1], pa.date32())
    batch = NUMBERS.append_column("day", days)
    begin = time.monotonic()
    got = results(function, batch, retries=20)
    assert time.monotonic() - begin < 9  # there was nothing to be tried again
    assert [row["m"] for row in got] == [0, None, 2]
    assert got[1]["error"].startswith("cannot be called with a row that cannot become a dict: OverflowError: date")
    with pytest.raises(ElasticFailure, match="asked cannot be called with a row that cannot become a dict"):
        results(function, batch, is_column=False)


class BrokenCalls(Calls):
    def failed(self, *arguments: Any) -> pa.RecordBatch:
        raise NoException("broken")


@pytest.mark.parametrize("kind", [raising, raising_soon])
def test_a_unit_whose_errors_cannot_even_be_told_fails_and_nothing_hangs(kind: Callable[..., Any]) -> None:
    calls = BrokenCalls(
        kind(ValueError("one")), OUT, per_tuple=True, retries=0, error_column="error", timeout_s=None
    )  # fmt: skip
    own = ElasticStream(calls, LevelKeeper(64, 1.0, fixed=2), ordered=True, block_rows=50, name="asked")
    failed: Future[None] = Future()

    def run() -> None:
        try:
            list(own.run([NUMBERS]))
        except ElasticFailure as error:
            failed.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    with pytest.raises(ElasticFailure, match="asked failed with NoException: broken"):
        failed.result(timeout=10)
    own.pool.close()


def test_a_closed_pool_ends_its_coroutines_and_its_loop() -> None:
    ended = threading.Event()

    async def slow(row: dict[str, Any]) -> dict[str, Any]:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)  # as a client that takes leave
            ended.set()
        return {"m": row["n"]}

    calls = Calls(slow, OUT, per_tuple=True, retries=0, error_column=None, timeout_s=None)
    pool = LoopPool(calls)
    pool.set_level(1)
    pool.submit(Unit(0, NUMBERS))
    wait_for(lambda: bool(pool._active))
    pool.close()
    wait_for(pool._loop.is_closed)
    assert ended.is_set()
    pool.close()  # once more does no harm


def wait_for(happens: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not happens() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert happens()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_value_that_only_arrow_refuses_fails_alone_in_a_large_unit(is_async: bool) -> None:
    def asked(row: dict[str, Any]) -> Any:
        return [{"m": 2**70 if row["n"] == 7 else row["n"]}] * (row["n"] % 3)

    async def asked_soon(row: dict[str, Any]) -> Any:
        return asked(row)

    batch = pa.RecordBatch.from_pydict({"n": list(range(30))})
    got = results(asked_soon if is_async else asked, batch)
    assert [row["m"] for row in got] == [
        None if n == 7 else n for n in range(30) for _ in range(1 if n == 7 else n % 3)
    ]
    assert [("failed with" in row["error"], row["m"]) for row in got if row["error"]] == [(True, None)]
    with pytest.raises(ElasticFailure, match="asked failed with"):
        results(asked, batch, is_column=False)


def test_failed_rows_have_their_input_whatever_they_failed_by() -> None:
    days = pa.array([0, FIRST_DAY_OF_10000, 1, 2, 3], pa.date32())
    batch = pa.RecordBatch.from_pydict({"n": list(range(5)), "day": days})

    def asked(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 2:
            raise LookupError("no two")
        if row["n"] == 3:
            time.sleep(0.5)
        return {"m": row["n"]} if row["n"] != 4 else {"mm": 4}

    got = results(asked, batch.drop_columns(["day"]).append_column("day", days.cast(pa.int32())), retries=0,
                  timeout_s=0.2, input_type=pa.struct({"n": pa.int64(), "day": pa.int32()}))  # fmt: skip
    assert [row["m"] for row in got] == [0, 1, None, None, None]
    assert [row["input"] and row["input"]["n"] for row in got] == [None, None, 2, 3, 4]
    failed = Calls(asked, OUT, per_tuple=True, retries=0, error_column="error", timeout_s=None, input_type=pa.struct(
        {"n": pa.int64(), "day": pa.date32()}))  # fmt: skip
    (unreadable,) = (row for row in failed.arguments(batch) if not isinstance(row, dict))
    unit = Unit(0, batch)
    kept = failed.joined([Outcome(unit, [failed.failed(unit, 1, unreadable.error)])])["input"]
    assert kept.field("day").cast(pa.int32()).to_pylist() == [FIRST_DAY_OF_10000]


def test_maps_arrive_as_dicts_unless_their_keys_cannot_be_keys() -> None:
    plain = pa.RecordBatch.from_pydict({"m": pa.array([{"a": 1}], pa.map_(pa.string(), pa.int64()))})
    pairs = pa.RecordBatch.from_pydict(
        {"m": pa.array([[({"x": 1}, 2)]], pa.map_(pa.struct({"x": pa.int64()}), pa.int64()))}
    )
    calls = Calls(raising, OUT, per_tuple=True, retries=0, error_column=None, timeout_s=None)
    assert calls.arguments(plain) == [{"m": {"a": 1}}]
    assert calls.arguments(pairs) == [{"m": [({"x": 1}, 2)]}]
