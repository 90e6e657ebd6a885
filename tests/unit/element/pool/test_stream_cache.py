"""What `elastic_map` leaves in a worker: a few pools for their next tasks, and nothing of all the others."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.element.pool.calls import Calls
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.element.pool.stream import ElasticStream
from penstock.element.pool.stream_cache import StreamCache
from penstock.spark.elastic_map.elastic_map import lock_accumulators

THREADS, MOST = 6, 2
NUMBERS = pa.RecordBatch.from_pydict({"n": [0, 1, 2]})


def same(row: dict[str, Any]) -> dict[str, Any]:
    return row


async def same_soon(row: dict[str, Any]) -> dict[str, Any]:
    return row


class Worker:
    """A worker process with many calls of `elastic_map`."""

    def __init__(self) -> None:
        self.kept, self.made = StreamCache(MOST), dict[str, ElasticStream]()

    def run(self, identity: str, function: Callable[..., Any] = same) -> list[dict[str, Any]]:
        def make() -> ElasticStream:
            calls = Calls(function, NUMBERS.schema, per_tuple=True, retries=0, error_column=None, timeout_s=None)
            keeper = LevelKeeper(64, 1.0, fixed=THREADS)
            self.made[identity] = ElasticStream(calls, keeper, ordered=True, block_rows=5, name=identity)
            return self.made[identity]

        return [row for batch in self.kept.run(identity, function, make, iter([NUMBERS])) for row in batch.to_pylist()]

    def close(self) -> None:
        for stream in self.made.values():
            stream.pool.close()


def threads() -> int:
    return sum(thread.name.startswith("elastic") for thread in threading.enumerate())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_for(happens: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not happens() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert happens()


@pytest.mark.parametrize(("function", "each"), [(same, THREADS), (same_soon, 1)])
def test_many_maps_leave_the_threads_and_files_of_a_few(function: Callable[..., Any], each: int) -> None:
    worker, threads_before, files_before = Worker(), threads(), open_files()
    for number in range(20):
        assert worker.run(f"map {number}", function) == NUMBERS.to_pylist()
    wait_for(lambda: threads() <= threads_before + MOST * each)
    wait_for(lambda: open_files() <= files_before + MOST * 3)  # of an event loop
    worker.close()


def test_a_map_that_is_used_again_and_again_keeps_its_pool() -> None:
    worker = Worker()
    worker.run("often")
    often = worker.made["often"]
    for number in range(10):
        worker.run(f"map {number}")
        assert worker.run("often") == NUMBERS.to_pylist()
    assert worker.made["often"] is often
    worker.close()


def test_what_was_told_of_maps_long_over_is_removed(tmp_path: Path) -> None:
    old, new, own = (tmp_path / f"{name}.json" for name in ("old", "new", "own"))
    for hint in (old, new):
        hint.write_text('{"level": 3}')
    os.utime(old, (time.time() - 7_200,) * 2)
    keeper, now = LevelKeeper(1, 1.0, own, clock=lambda: now[0]), [0.0]
    for number in range(300):
        now[0] += 0.1
        keeper.completed(number, 1, number + 1)
    assert own.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.json", "own.json"]


@pytest.mark.parametrize("is_async", [False, True])
def test_each_task_calls_its_own_copy_of_the_function(is_async: bool) -> None:
    worker = Worker()
    for task in range(3):

        def asked(row: dict[str, Any], task: int = task) -> dict[str, Any]:
            return {"n": 10 * task + row["n"]}

        async def asked_soon(row: dict[str, Any], task: int = task) -> dict[str, Any]:
            return asked(row, task)

        rows = worker.run("map", asked_soon if is_async else asked)
        assert [row["n"] for row in rows] == [10 * task, 10 * task + 1, 10 * task + 2]
    assert len(worker.made) == 1
    worker.close()


def test_accumulators_count_all_that_threads_add_at_once() -> None:
    from pyspark.accumulators import Accumulator, AccumulatorParam, _accumulatorRegistry

    class Slow(AccumulatorParam[int]):
        def zero(self, value: int) -> int:
            return 0

        def addInPlace(self, value1: int, value2: int) -> int:
            time.sleep(0.001)  # others have the turn
            return value1 + value2

    own = Accumulator(-7, 0, Slow())
    try:
        lock_accumulators()
        adding = [threading.Thread(target=lambda: [own.add(1) for _ in range(10)]) for _ in range(4)]
        for thread in adding:
            thread.start()
        for thread in adding:
            thread.join()
    finally:
        del _accumulatorRegistry[-7]
    assert own.value == 40
