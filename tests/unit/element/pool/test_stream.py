"""A partition through the elastic pool: order, errors, retries, timeouts, coroutines, and the level that is found."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.element.pool.calls import Calls, ElasticFailure, Unit
from penstock.element.pool.computing_tasks import ComputingTasks
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.stream import ElasticStream

IN = pa.schema({"n": pa.int64()})
OUT = pa.schema({"m": pa.int64()})


def stream(
    function: Callable[..., Any],
    *,
    level: int = 4,
    per_tuple: bool = True,
    retries: int = 0,
    error_column: str | None = None,
    timeout_s: float | None = None,
    ordered: bool = True,
    keeper: LevelKeeper | None = None,
    block_rows: int = 5,
) -> ElasticStream:
    calls = Calls(function, OUT, per_tuple=per_tuple, retries=retries, error_column=error_column, timeout_s=timeout_s)
    keeper = keeper or LevelKeeper(level, 1.0, fixed=level)
    return ElasticStream(calls, keeper, ordered=ordered, block_rows=block_rows, name="doubled")


def batches(sizes: list[int]) -> list[pa.RecordBatch]:
    made, start = [], 0
    for size in sizes:
        made.append(pa.RecordBatch.from_pydict({"n": list(range(start, start + size))}, IN))
        start += size
    return made


def results(own: ElasticStream, sizes: list[int]) -> list[dict[str, Any]]:
    rows = [row for batch in own.run(batches(sizes)) for row in batch.to_pylist()]
    own.pool.close()
    return rows


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.001 * (row["n"] * 7 % 3))
    return {"m": 2 * row["n"]}


async def doubled_soon(row: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0.001 * (row["n"] * 7 % 3))
    return {"m": 2 * row["n"]}


def doubled_block(batch: pa.RecordBatch) -> dict[str, Any]:
    return {"m": [2 * n for n in batch["n"].to_pylist()]}


def several(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    return [{"m": row["n"]}] * (row["n"] % 3) or None


@given(
    sizes=st.lists(st.integers(0, 30), max_size=5),
    level=st.integers(1, 9),
    function=st.sampled_from([doubled, doubled_soon, doubled_block, several]),
    ordered=st.booleans(),
)
@settings(deadline=None)
def test_nothing_is_lost_repeated_or_out_of_order(
    sizes: list[int], level: int, function: Callable[..., Any], ordered: bool
) -> None:
    got = results(stream(function, level=level, per_tuple=function is not doubled_block, ordered=ordered), sizes)
    numbers = range(sum(sizes))
    expected = [n for n in numbers for _ in range(n % 3)] if function is several else [2 * n for n in numbers]
    values = [row["m"] for row in got]
    assert values == expected if ordered else sorted(values) == expected


def test_an_error_is_raised_with_the_function_and_the_line() -> None:
    def bad(row: dict[str, Any]) -> dict[str, Any]:
        return {"m": 1 // (row["n"] - 7)}

    with pytest.raises(ElasticFailure, match=r"doubled failed with ZeroDivisionError: .* at test_stream.py:\d+"):
        results(stream(bad), [20])


def test_errors_can_go_into_a_column() -> None:
    def bad(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 3:
            raise ValueError("three")
        return {"m": row["n"]}

    got = results(stream(bad, error_column="error"), [5])
    assert [row["m"] for row in got] == [0, 1, 2, None, 4]
    assert [bool(row["error"]) for row in got] == [False, False, False, True, False]
    assert "ValueError: three" in got[3]["error"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_fails_is_tried_again(is_async: bool) -> None:
    tries: dict[int, int] = {}

    def flaky(row: dict[str, Any]) -> dict[str, Any]:
        tries[row["n"]] = tries.get(row["n"], 0) + 1
        if tries[row["n"]] < 3:
            raise ConnectionError("down")
        return {"m": row["n"]}

    async def flaky_soon(row: dict[str, Any]) -> dict[str, Any]:
        return flaky(row)

    got = results(stream(flaky_soon if is_async else flaky, retries=2), [6])
    assert [row["m"] for row in got] == list(range(6))
    assert set(tries.values()) == {3}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_takes_too_long_is_given_up_and_the_others_go_on(is_async: bool) -> None:
    free = threading.Event()

    def slow(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 2:
            free.wait(20)
        return {"m": row["n"]}

    async def slow_soon(row: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(20 if row["n"] == 2 else 0)
        return {"m": row["n"]}

    own = stream(slow_soon if is_async else slow, level=2, error_column="error", timeout_s=0.3)
    begin = time.monotonic()
    got = results(own, [30])
    free.set()
    assert time.monotonic() - begin < 10
    assert [row["m"] for row in got] == [None if n == 2 else n for n in range(30)]
    assert got[2]["error"] == "took longer than timeout_s=0.3"


class Service:
    """A service in virtual time: `delay_s` a call, more than that beyond `knee` calls at once."""

    def __init__(self, delay_s: float, knee: int) -> None:
        self.delay_s, self.knee, self.now, self.most = delay_s, knee, 0, 0
        self.lock = threading.Lock()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            pressure = max(1.0, self.now / self.knee)
        time.sleep(self.delay_s * pressure**2)
        with self.lock:
            self.now -= 1
        return {"m": row["n"]}


@pytest.mark.slow
def test_the_pool_finds_the_knee_of_a_service_and_stays_there() -> None:
    service = Service(0.02, knee=8)
    keeper = LevelKeeper(max_level=64, period_s=0.15)
    own = stream(service, keeper=keeper)
    levels = []
    for batch in own.run(batches([40] * 400)):  # on a busy machine it takes longer
        levels.append(keeper.level)
        assert batch.num_rows
        if keeper.settled and len(levels) >= 30:
            break
    own.pool.close()
    assert keeper.settled
    assert 5 <= keeper.level <= 12
    assert max(levels) <= 32  # it looked one leap past the knee, and no further


def test_what_was_found_is_told_to_new_workers(tmp_path: Any) -> None:
    known = tmp_path / "level.json"
    known.write_text('{"level": 12}')
    assert LevelKeeper(64, 1.0, known).level == 12
    assert LevelKeeper(4, 1.0, known).level == 4
    known.write_text("torn")
    assert LevelKeeper(64, 1.0, known).level == 1


def test_time_without_work_does_not_count() -> None:
    now = [0.0]
    keeper = LevelKeeper(64, 1.0, clock=lambda: now[0])
    keeper.resume()
    keeper.completed(0, 1, 1)
    for number in range(1, 30):
        now[0] += 0.1
        keeper.starved(0.1)
        assert keeper.completed(number, 1, number + 1) is None
    assert keeper.level == 1


@pytest.mark.parametrize(
    ("cpu_ratio", "gain", "told"), [(1.0, 0.0, True), (0.1, 0.0, False), (1.0, 1.0, False), (0.5, 0.0, False)]
)
def test_calls_that_compute_and_gain_nothing_from_threads_are_told(
    cpu_ratio: float, gain: float, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    keeper = LevelKeeper(
        8, 1.0, clock=lambda: now[0], cpu_clock=lambda: cpu_ratio * now[0], computing=ComputingTasks(None, lambda: 8)
    )  # fmt: skip
    own = stream(doubled, keeper=keeper)
    keeper.resume()
    for number in range(600):
        now[0] += 0.1 / (1 + gain * (keeper.level - 1))
        keeper.completed(number, 1, number + 1)
        own.advise()
    own.pool.close()
    sentence = "doubled computes and gains nothing from a second thread"
    assert capsys.readouterr().err.count(sentence) == told
    assert keeper.level == (8 if gain else 1)


@pytest.mark.parametrize(
    ("call_s", "left", "rows"),
    [
        (0.0, 10_000, 1),  # nothing is known yet
        (0.020, 10_000, 2),  # a twentieth of a second
        (0.020, 64, 1),  # every thread gets some
        (0.000_01, 640, 200),  # over within two milliseconds in any case
        (0.5, 10_000, 1),
    ],
)
def test_units_are_as_long_as_leaves_work_for_every_thread(call_s: float, left: int, rows: int) -> None:
    own = stream(lambda row: row, per_tuple=True, level=16)
    own._call_s = call_s
    assert own.unit_rows(left) == rows


def test_wide_rows_become_dicts_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    arguments = Calls.arguments

    def counted(self: Calls, batch: pa.RecordBatch) -> list[Any]:
        read.append(batch.num_rows)
        return arguments(self, batch)

    monkeypatch.setattr(Calls, "arguments", counted)
    own = stream(lambda row: {"m": len(row["text"])})
    wide = pa.RecordBatch.from_pydict({"text": ["x" * 300_000] * 20})
    thin = pa.RecordBatch.from_pydict({"text": ["x"] * 2_500})
    got = [row["m"] for batch in own.run([wide, thin.slice(0, 0), thin]) for row in batch.to_pylist()]
    own.pool.close()
    assert got == [300_000] * 20 + [1] * 2_500
    assert max(read[:-3]) <= 3  # a mebibyte
    assert read[-3:] == [1_024, 1_024, 452]


@pytest.mark.parametrize("error_column", [None, "error"])
def test_a_value_that_only_arrow_refuses_fails_alone_among_many_units(error_column: str | None) -> None:
    def asked(row: dict[str, Any]) -> dict[str, Any]:
        return {"m": 2**70 if row["n"] in (7, 40) else row["n"]}

    own = stream(asked, error_column=error_column)
    own._call_s = 1.0  # units of one row
    if error_column is None:
        with pytest.raises(ElasticFailure, match="doubled failed with OverflowError"):
            results(own, [50])
        return
    got = results(own, [50])
    assert [row["m"] for row in got] == [None if n in (7, 40) else n for n in range(50)]
    assert [n for n, row in enumerate(got) if row["error"] is not None] == [7, 40]


def test_only_units_that_were_begun_at_a_level_count_for_it_and_those_that_wait_are_not_waited_for() -> None:
    clock, asked = [0.0], threading.Semaphore(0)

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert asked.acquire(timeout=30)
        return {"m": row["n"]}

    own = stream(held, level=2)
    for n in range(6):
        own.pool.submit(Unit(n, pa.RecordBatch.from_pydict({"n": [n]})))
    deadline_s = time.monotonic() + 10
    while own.pool.waiting != 4 and time.monotonic() < deadline_s:
        time.sleep(0.001)
    assert own.pool.waiting == 4  # two are in work
    asked.release(6)
    own.pool.close()

    keeper = LevelKeeper(8, 1.0, clock=lambda: clock[0])
    keeper.resume()
    for n in range(10):
        clock[0] += 0.2
        changed = keeper.completed(n, 1, begun=n + 2)
        if changed is not None:
            break
    assert changed == 2
    assert keeper._count_from == n + 2
