"""`threads="elastic"` in one process: as many threads as a policy finds, and the results of one."""

from __future__ import annotations

import gc
import threading
import time
from functools import partial
from weakref import ref

import pyarrow as pa
import pytest

import penstock as ps
from penstock.control.threads.thread_control import ThreadControl
from penstock.element import engine as engine_module
from penstock.element.engine import _cores_left_by_others
from penstock.element.threads.element_threads import ElementThreads
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.errors import InputError
from penstock.host.cores import own_cores
from tests.reference.threaded import within_time

NUMBERS = pa.table({"x": pa.array(range(20_000), pa.int64())})


def waiting(wait_ms: float) -> ps.Application:
    app = ps.Application("waiting")
    numbers = app.source("numbers", schema={"x": "int64"})
    numbers.load("asks", wait_ms_per_block=wait_ms).functor("twice", emit={"x": "x * 2"}).sink("out")
    return app


def failing() -> ps.Application:
    app = ps.Application("failing")
    app.source("numbers", schema={"x": "int64"}).map(
        "bad", lambda row: {"x": 1 // (row["x"] - 500)}, {"x": "int64"}, per_tuple=True
    ).sink("out")
    return app


def fed(engine: ps.Engine, pieces: int, rows: int = 16) -> list[int]:
    """Feeds pieces of one block each; what came out."""
    got: list[int] = []

    def feed() -> None:
        for piece in range(pieces):
            for batch in engine.feed({"numbers": NUMBERS.slice(piece * rows, rows)})["out"]:
                got.extend(batch.column("x").to_pylist())
        for batch in engine.finish()["out"]:
            got.extend(batch.column("x").to_pylist())

    within_time(feed)
    return got


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["elastic", "elastic_operator", "multilevel"])
def test_more_threads_than_cores_are_found_for_a_load_that_waits(policy: str) -> None:
    request = ps.ElasticThreads(1, 16, policy, period_s=0.05)  # type: ignore[arg-type]
    for _ in range(3):  # beside other tests such short periods may mislead it
        engine = ps.Engine(waiting(5).graph, block_rows=16, threads=request)
        assert fed(engine, 1000) == [2 * x for x in range(16_000)], "in order, none lost, none twice"
        found = engine.found
        assert found is not None
        if found.seen.waits and found.seen.level > own_cores() and found.seen.most == 16:
            break
    assert found.seen.waits
    assert found.seen.level > own_cores() or policy == "elastic_operator", "which noise may hold back"
    assert found.seen.most == 16
    assert engine.advice[0].startswith(f"threads: {found.seen.level} of at most 16, ")


@pytest.mark.parametrize(
    ("level", "steps", "every", "inline"),
    [
        *((2, steps, every, 0) for steps, every in [(0, 4), (399, 4), (1_000, 10), (50_000, 500)]),
        *((1, steps, 4, inline) for steps, inline in [(0, 0), (399, 0), (400, 1), (10_000, 49)]),
    ],
)
@pytest.mark.parametrize("is_looking", [False, True])
def test_some_hundred_calls_are_timed_and_200_steps_of_a_thread_alone_watched_but_all_while_it_is_looked_at(
    level: int, steps: int, every: int, inline: int, is_looking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreadControl, "is_looking", is_looking)
    monkeypatch.setattr(ThreadControl, "level", level)
    engine = ps.Engine(waiting(5).graph, threads="elastic")
    assert engine._threads is not None
    engine._threads._apply(steps)
    assert engine._threads._calls.every == (1 if is_looking else every)
    assert engine._threads._unwatched == (0 if is_looking else inline)
    engine.finish()


@pytest.mark.parametrize(("policy", "runs_inline"), [("elastic", True), ("multilevel", False)])
def test_many_steps_of_a_thread_alone_go_straight_where_there_are_thousands(policy: str, runs_inline: bool) -> None:
    engine = ps.Engine(waiting(0).graph, block_rows=1, threads=ps.ElasticThreads(1, 1, policy, period_s=0.2))  # type: ignore[arg-type]
    own = engine._threads
    assert own is not None
    inline, got = 0, []
    for number in range(20_000):
        inline += own._inline.left > 0
        got += engine.feed({"numbers": NUMBERS.slice(number, 1)})["out"]
    got += engine.finish()["out"]
    # On a busy machine periods have fewer steps, and 200 of each are watched: so the threshold is low.
    assert (inline > 5_000) is runs_inline
    assert runs_inline or not inline
    assert pa.Table.from_batches(got).column("x").to_pylist() == [2 * x for x in range(20_000)]


def test_steps_go_straight_for_a_tenth_of_a_second_at_most() -> None:
    engine = ps.Engine(waiting(20).graph, block_rows=1, threads=ps.ElasticThreads(1, 1, period_s=100.0))
    own = engine._threads
    assert own is not None
    own._unwatched = 1_000
    left = []
    for number in range(10):
        engine.feed({"numbers": NUMBERS.slice(number, 1)})
        left.append(own._inline.left)
    assert left[0] == 1_000
    assert 0 in left[1:]
    engine.finish()


def test_a_failure_in_a_step_that_goes_straight_names_the_operator_and_ends_the_element() -> None:
    engine = ps.Engine(failing().graph, block_rows=1, threads=ps.ElasticThreads(1, 1), on_error="fail")
    own = engine._threads
    assert own is not None
    own._unwatched = 1_000_000
    engine.feed({"numbers": NUMBERS.slice(0, 1)})
    assert own._inline.left
    with pytest.raises(ps.errors.OperatorError, match="operator 'bad' failed with ZeroDivisionError"):
        engine.feed({"numbers": NUMBERS.slice(500, 1)})
    assert own.element.is_closed
    assert not own.needs_cores


def test_an_element_is_clear_once_all_it_was_fed_was_given() -> None:
    engine = ps.Engine(waiting(1).graph, block_rows=16, threads=2)
    element = engine.element
    assert isinstance(element, ThreadedElement)
    assert element.is_clear
    engine.feed({"numbers": NUMBERS.slice(0, 16)})
    deadline_s = time.monotonic() + 30
    while element.in_flight:
        assert time.monotonic() < deadline_s
        time.sleep(0.001)
    assert not element.is_clear, "its results were not taken"
    engine.finish()


def test_a_load_that_computes_keeps_to_the_cores() -> None:
    app = ps.Application("computing")
    app.source("numbers", schema={"x": "int64"}).load("works", flop_per_tuple=2_000_000).sink("out")
    engine = ps.Engine(app.graph, block_rows=1, threads=ps.ElasticThreads(period_s=0.05))
    assert fed(engine, 400, rows=1) == list(range(400))
    assert engine.found is not None
    assert engine.found.seen.most == own_cores()
    assert engine.found.seen.level <= own_cores()


def test_a_load_that_waits_is_found_to_beside_one_that_computes() -> None:
    ends = threading.Event()
    app = ps.Application("computing")
    app.source("numbers", schema={"x": "int64"}).load("works", flop_per_tuple=2_000_000).sink("out")
    beside = ps.Engine(app.graph, block_rows=1, threads=ps.ElasticThreads(period_s=0.1))
    engine = ps.Engine(waiting(5).graph, block_rows=16, threads=ps.ElasticThreads(1, 16, period_s=0.1))

    def compute() -> None:
        while not ends.is_set():
            beside.feed({"numbers": NUMBERS.slice(0, 1)})
        beside.finish()

    def feed() -> None:
        while engine.found is None or not engine.found.seen.waits:
            engine.feed({"numbers": NUMBERS.slice(0, 16)})
        engine.finish()

    computing = threading.Thread(target=compute)
    computing.start()
    try:
        within_time(feed)
    finally:
        ends.set()
        computing.join(30)
    assert beside.found is not None
    assert not beside.found.seen.waits


@pytest.mark.parametrize("threads", ["elastic", "elastic:2-3", "multilevel"])
def test_tables_are_those_of_one_thread(threads: str) -> None:
    app = waiting(0)
    several, one = (ps.evaluate(app, {"numbers": NUMBERS}, block_rows=64, threads=n) for n in (threads, 1))
    assert several["out"].equals(one["out"])
    assert several.advice[0].startswith("threads: ")
    assert one.advice == ()


def test_a_failure_reaches_the_user() -> None:
    with pytest.raises(ps.errors.OperatorError, match="operator 'bad' failed with ZeroDivisionError"):
        ps.evaluate(failing(), {"numbers": NUMBERS}, block_rows=16, threads="elastic", on_error="fail")


@pytest.mark.parametrize(
    ("threads", "sentence"),
    [
        (
            "elstic",
            "threads are a number, or elastic or elastic_operator or multilevel, with bounds as in elastic:2-16",
        ),
        ("elastic:4-2", "bounded within 1 to 64, the least first; got 4 to 2"),
        ("multilevel:4-16", "by multilevel begin at 1, since without queues one does it all; got 4 to 16"),
        ("elastic:2-4,tolerance=0.1", "thread policy 'elastic' takes period_s=...; got 'tolerance=0.1'"),
        ("0", "threads is a whole number from 1 to 64; got 0"),
        (ps.ElasticThreads(tolerance=2.0), "tolerance of element 'waiting' is from 0 to less than 1; got 2.0"),
        (ps.ElasticThreads(period_s=0.0), "a period of element 'waiting' takes more than 0 s; got 0.0"),
    ],
)
def test_a_wish_that_makes_no_sense_is_told(threads: str | ps.ElasticThreads, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        ps.Engine(waiting(0).graph, threads=threads)
    assert sentence in str(caught.value)


def test_queues_are_for_a_fixed_number_of_threads() -> None:
    with pytest.raises(InputError, match="a policy that finds one places queues itself"):
        ps.Engine(waiting(0).graph, threads="elastic", queued=["twice"])


@pytest.mark.parametrize("schedule", ["oldest_first", "round_robin", "nearest_to_sink"])
def test_any_schedule_gives_the_same(schedule: str) -> None:
    tables = ps.evaluate(waiting(0), {"numbers": NUMBERS}, threads=2, queued=["asks", "twice"], schedule=schedule)
    assert tables["out"].column("x").to_pylist() == [2 * x for x in range(20_000)]


def test_there_is_no_other_schedule() -> None:
    with pytest.raises(InputError, match=r"schedule is one of .*; got 'oldest'; did you mean 'oldest_first'"):
        ps.Engine(waiting(0).graph, schedule="oldest")


def test_a_period_is_the_papers_where_none_is_given() -> None:
    request = ps.ElasticThreads(policy="multilevel")
    assert request.busy_period_s == 5.0
    assert ps.ElasticThreads().busy_period_s == 1.0
    assert ps.ElasticThreads(policy="multilevel", period_s=2.0).busy_period_s == 2.0


def test_an_engine_that_nobody_has_any_more_leaves_no_thread() -> None:
    engine = ps.Engine(waiting(1).graph, block_rows=16, threads=ps.ElasticThreads(2, 4, period_s=0.01))
    engine.feed({"numbers": NUMBERS.slice(0, 2_000)})
    assert any(thread.name.startswith("penstock") for thread in threading.enumerate())
    del engine
    deadline_s = time.monotonic() + 5
    while left := [thread.name for thread in threading.enumerate() if thread.name.startswith("penstock")]:
        gc.collect()
        assert time.monotonic() < deadline_s, left


def test_to_read_the_advice_takes_nothing_from_what_the_policy_sees() -> None:
    engine = ps.Engine(waiting(0).graph, block_rows=16, threads=ps.ElasticThreads(period_s=1e6))
    for piece in range(10):
        engine.feed({"numbers": NUMBERS.slice(16 * piece, 16)})
        assert engine.advice
    assert isinstance(engine.element, ThreadedElement)
    assert engine.element.observe().tuples == 160
    engine.finish()


def test_an_engine_that_failed_leaves_its_cores_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "own_cores", lambda: 8)
    failed = ps.Engine(failing().graph, threads="elastic", on_error="fail")
    beside = ps.Engine(waiting(0).graph, threads="elastic")
    assert beside._threads is not None
    cores = partial(_cores_left_by_others, ref(beside._threads))
    assert cores() == 7
    with pytest.raises(ps.errors.OperatorError, match="ZeroDivisionError"):
        failed.feed({"numbers": NUMBERS.slice(495, 10)})
    assert cores() == 8
    beside.finish()


def test_steps_that_give_nothing_leave_nothing_behind() -> None:
    app = ps.Application("nothing")
    app.source("numbers", schema={"x": "int64"}).functor("none", where="x < 0", emit={"x": "x"}).sink("out")
    engine = ps.Engine(app.graph, block_rows=1, threads="elastic")
    engine.feed({"numbers": NUMBERS.slice(0, 500)})
    assert engine._threads is not None
    assert not engine._threads._places
    engine.finish()


def test_the_bound_of_multilevel_does_not_follow_the_trials_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "own_cores", lambda: 8)
    request = ps.ElasticThreads(policy="multilevel")
    first, second = (ps.Engine(waiting(0).graph, block_rows=16, threads=request) for _ in range(2))
    own, other = first._threads, second._threads
    assert own is not None
    bounds = []
    for level in (1, 2, 4, 7):
        used = property(lambda threads, level=level: level if threads is other else 1)
        monkeypatch.setattr(ElementThreads, "computing_threads", used)
        bounds.append(own._cores())
    assert bounds == [4, 4, 4, 4]
    second.finish()
    assert own._cores() == 8, "the other one is done"
    first.finish()


def test_engines_side_by_side_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "own_cores", lambda: 8)
    request = ps.ElasticThreads(period_s=0.001)
    first, second = (ps.Engine(waiting(0).graph, block_rows=16, threads=request) for _ in range(2))
    own, other = first._threads, second._threads
    assert own is not None
    assert other is not None
    cores = partial(_cores_left_by_others, ref(own))
    assert cores() == 7, "the other one has its feeding thread"
    monkeypatch.setattr(ElementThreads, "computing_threads", property(lambda threads: 6 if threads is other else 2))
    assert cores() == 4, "an even share"
    monkeypatch.setattr(ElementThreads, "computing_threads", property(lambda threads: 1))
    assert cores() == 7
    second.finish()
    assert cores() == 8, "the other one is done"
    first.finish()
