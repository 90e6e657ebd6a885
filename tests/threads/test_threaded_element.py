"""The threaded element: what it does with settings, failures, full queues and figures."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from benchmarks.threads.measured.pegged_cores import PeggedCores
from penstock.app.graph import Graph
from penstock.block.block import Block, block_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING
from penstock.element.element import Element
from penstock.element.threads.runtime import Reorder
from penstock.element.threads.schedule import SCHEDULES
from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.step import Step
from penstock.element.threads.thread_slot import ThreadSlot
from penstock.element.threads.threaded_element import Around, ThreadedElement
from penstock.element.threads.timing.rate import Moment, Rate
from penstock.element.threads.timing.sampler import Sampler
from penstock.element.threads.timing.waiting_calls import WaitingCalls
from penstock.element.threads.wiring import wire
from penstock.errors import InputError, OperatorError
from penstock.kernels.flops import burn
from penstock.measure.thread_figures import gil_advice
from penstock.operators.factory import make_operator
from tests.reference.threaded import steps_of, within_time

SCHEMA = {"x": "int64"}
Function = Callable[[dict[str, Any]], dict[str, Any]]


def mapped(function: Function, *more: Function) -> Graph:
    """A source, maps of these functions one after the other, a sink."""
    app = ps.Application("mapped")
    stream = app.source("numbers", schema=SCHEMA)
    for number, each in enumerate((function, *more), 1):
        stream = stream.map(f"map{number}", each, SCHEMA, per_tuple=True)
    stream.sink("out")
    return app.graph


def block(*values: int) -> dict[str, Block]:
    table = numbers_table(*values)
    return {"numbers": block_of(table, table.schema)}


def numbers_table(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def element(graph: Graph, **options: Any) -> ThreadedElement:
    return ThreadedElement(graph, options.pop("letters", DeadLetters()), {"out": "out"}, **options)


def same(row: dict[str, Any]) -> dict[str, Any]:
    return row


def values(finished: list[Any]) -> list[list[int]]:
    return [blocks["out"].columns[0].values.tolist() for _, blocks in finished]


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    deadline_s = time.monotonic() + 5
    while left := [thread.name for thread in threading.enumerate() if thread.name.startswith("penstock")]:
        gc.collect()
        assert time.monotonic() < deadline_s, left
        time.sleep(0.005)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_results_come_in_the_order_of_feeding(threads: int) -> None:
    def slow_when_even(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.003 if row["x"] % 2 == 0 else 0.0)
        return row

    with element(mapped(slow_when_even), threads=threads, queued=["map1"]) as running:
        finished = [f for x in range(12) for f in running.feed(block(x))] + running.drain()
        assert [f.step for f in finished] == list(range(12))
        assert values(finished) == [[x] for x in range(12)]


def test_without_order_results_come_as_they_are_complete() -> None:
    first_may_end = threading.Event()

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert row["x"] or first_may_end.wait(30)
        return row

    with element(mapped(held), threads=2, queued=["map1"], ordered=False) as running:
        early = running.feed(block(0)) + running.feed(block(1))
        within_time(lambda: wait_until(lambda: running.observe().tuples == 1))
        first_may_end.set()
        assert [f.step for f in early + running.drain()] == [1, 0]


def test_a_thread_level_of_two_works_on_two_blocks_at_once() -> None:
    both = threading.Barrier(2, timeout=30)

    def meeting(row: dict[str, Any]) -> dict[str, Any]:
        both.wait()
        return row

    with element(mapped(meeting), threads=2, queued=["map1"]) as running:
        running.feed(block(0))
        running.feed(block(1))
        within_time(running.drain)


def test_threads_are_suspended_and_woken_but_never_ended() -> None:
    seen: set[int] = set()

    def noting(row: dict[str, Any]) -> dict[str, Any]:
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return row

    with element(mapped(noting), threads=3, queued=["map1"]) as running:
        for level in (3, 1, 0, 2, 3):
            running.set(threads=level)
            for x in range(8):
                running.feed(block(x))
            running.drain()
            assert running.observe().threads == level
        alive = [thread for thread in threading.enumerate() if thread.name.startswith("penstock-")]
        assert len(alive) == 4  # three and the sampler
        assert len(seen) == 4  # three and, at level 0, the one that feeds


def test_feeding_waits_while_too_many_steps_are_in_flight() -> None:
    go_on = threading.Event()

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert go_on.wait(30)
        return row

    fed: list[int] = []
    with element(mapped(held), threads=1, queued=["map1"], blocks_per_thread=2) as running:

        def feed() -> None:
            for x in range(20):
                running.feed(block(x))
                fed.append(x)

        feeding = threading.Thread(target=feed)
        feeding.start()
        within_time(lambda: wait_until(lambda: len(fed) == 4))
        time.sleep(0.05)
        assert len(fed) == 4
        assert running.observe().in_flight == 4
        go_on.set()
        feeding.join(30)
        running.drain()
        assert running.observe().most_in_queue["map1"] <= 4


def test_steps_that_are_held_for_the_order_count_as_in_flight() -> None:
    go_on = threading.Event()

    def first_is_held(row: dict[str, Any]) -> dict[str, Any]:
        assert row["x"] or go_on.wait(30)
        return row

    with element(mapped(first_is_held), threads=2, queued=["map1"], blocks_per_thread=2) as running:
        feeding = threading.Thread(target=lambda: [running.feed(block(x)) for x in range(50)])
        feeding.start()
        within_time(lambda: wait_until(lambda: running._rate.last.tuples == 5))
        time.sleep(0.05)
        assert feeding.is_alive()
        figures = running.observe()
        assert (figures.in_flight, figures.tuples) == (6, 5)
        go_on.set()
        feeding.join(30)
        assert not feeding.is_alive()
        running.drain()


def test_queues_can_be_taken_away_while_blocks_are_in_them() -> None:
    go_on = threading.Event()

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert go_on.wait(30)
        return row

    with element(mapped(held, same), threads=1, queued=["map1", "map2"]) as running:
        running.feed(block(0))
        running.feed(block(1))
        running.set(queued=[], threads=0)
        go_on.set()
        within_time(running.drain)
        assert running.observe().queued == frozenset()


@pytest.mark.parametrize("threads", [0, 2])
def test_where_streams_meet_every_step_is_heard_of(threads: int) -> None:
    app = ps.Application("met")
    one, two = (app.source(name, schema=SCHEMA) for name in ("one", "two"))
    one.functor("half", where="x % 2 = 0").union("both", two).sink("out")
    steps = steps_of(app.graph, {"one": numbers_table(0, 1), "two": numbers_table(4, 5, 6)}, 1)
    with element(app.graph, threads=threads, queued=["half", "both"]) as running:
        finished = [f for step in steps for f in running.feed(*step)] + running.drain()
    assert sorted(x for found in values(finished) for x in found) == [0, 4, 5, 6]


def broken(operator: Any, graph: Graph, letters: DeadLetters) -> Any:
    """An operator `map2` that fails as none should."""

    def fails(inputs: Any, frontier: Any) -> Any:
        raise ValueError("no such luck")

    running = make_operator(operator, graph, letters)
    if operator.name == "map2":
        running.process = fails  # type: ignore[method-assign]
    return running


HERE = r"test_threaded_element.py:\d+"
NO_SUCH_LUCK = rf"'map2' \({HERE}\) failed with ValueError: no such luck at {HERE}"


def test_a_failure_without_threads_names_operator_and_lines() -> None:
    alone = Element(mapped(same, same), DeadLetters(), {"out": "out"}, make=broken)
    with pytest.raises(OperatorError, match=NO_SUCH_LUCK) as caught:
        alone.step(block(1), EVERYTHING)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(("threads", "queued"), [(0, []), (0, ["map1"]), (2, ["map1"]), (2, ["map2"])])
def test_a_failure_on_any_thread_names_operator_and_lines(threads: int, queued: list[str]) -> None:
    running = element(mapped(same, same), threads=threads, queued=queued, make=broken)

    def until_it_fails() -> None:
        while True:
            running.feed(block(1))

    with pytest.raises(OperatorError, match=NO_SUCH_LUCK):
        within_time(until_it_fails)
    with pytest.raises(OperatorError, match="is closed, after an operator failed or by close"):
        running.feed(block(1))
    with pytest.raises(OperatorError, match="is closed"):
        running.drain()


def test_a_failure_does_not_wait_for_other_threads() -> None:
    go_on = threading.Event()

    def held_or_fails(row: dict[str, Any]) -> dict[str, Any]:
        assert row["x"] or go_on.wait(60)
        return {"x": 1 // (row["x"] - 1)}

    running = element(mapped(held_or_fails), threads=2, queued=["map1"], letters=DeadLetters(fail=True))
    running.feed(block(0))
    begin_s = time.monotonic()
    with pytest.raises(OperatorError, match="ZeroDivisionError"):
        within_time(lambda: (running.feed(block(1)), running.drain()))
    assert time.monotonic() - begin_s < 30
    go_on.set()


def test_on_error_fail_stops_with_the_sentence_of_the_dead_letter() -> None:
    def picky(row: dict[str, Any]) -> dict[str, Any]:
        return {"x": 1 // row["x"]}

    running = element(mapped(picky), threads=2, queued=["map1"], letters=DeadLetters(fail=True))
    running.feed(block(1))
    with pytest.raises(OperatorError, match=r"operator 'map1' failed with ZeroDivisionError.*on_error='fail' stops"):
        within_time(lambda: (running.feed(block(0)), running.drain()))


def test_an_element_that_is_forgotten_ends_its_threads() -> None:
    running = element(mapped(same), threads=2, queued=["map1"])
    running.feed(block(1))
    del running  # the fixture waits for the threads


def test_evaluate_on_threads_gives_the_same() -> None:
    app = ps.Application("groups")
    numbers = app.source("numbers", schema={"k": "int64", "x": "float64"})
    window = ps.sliding(count=3, per_group=True)
    numbers.aggregate("sums", window=window, by="k", emit={"k": "any(k)", "s": "sum(x)"}).sink("out")
    table = pa.table({"k": [i % 7 for i in range(500)], "x": [0.1 * i for i in range(500)]})
    one = ps.evaluate(app, {"numbers": table}, block_rows=16)
    several = ps.evaluate(app, {"numbers": table}, block_rows=16, threads=3, queued=["sums", "out"])
    assert several["out"].equals(one["out"])
    assert several.advice == ()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"threads": -1}, "threads is a whole number from 0 to 64; got -1"),
        ({"threads": 65}, "threads is a whole number from 0 to 64; got 65"),
        ({"threads": True}, "threads is a whole number from 0 to 64; got True"),
        ({"schedule": "oldest"}, "schedule is one of oldest_first, round_robin, nearest_to_sink; got 'oldest'"),
        (
            {"queued": ["map"]},
            "application 'mapped' has no operator 'map' to put a queue in front of; it has: map1, out; "
            "did you mean 'map1'?",
        ),
        ({"queued": "numbers"}, "has no operator 'numbers' to put a queue in front of"),
    ],
)
def test_a_setting_that_does_not_fit_is_told(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        element(mapped(same), **options)
    assert sentence in str(caught.value)


def test_the_state_of_shards_goes_on_in_another_element() -> None:
    app = ps.Application("kept")
    numbers = app.source("numbers", schema=SCHEMA)
    numbers.aggregate("sums", window=ps.sliding(count=3, per_group=True), by="x", emit={"n": "count()"}).sink("out")
    with element(app.graph, shards=2) as first, element(app.graph, shards=2) as second:
        first.feed(block(1, 2, 3, 1))
        first.drain()
        second.runtimes["sums"].restore(first.runtimes["sums"].export())
        assert values(second.feed(block(3, 1, 2, 9)) + second.drain()) == [[2, 3, 2, 1]]


def test_the_engine_needs_a_thread() -> None:
    with pytest.raises(InputError, match="threads is a whole number from 1 to 64; got 0"):
        ps.Engine(mapped(same), threads=0)


def _popped(name: str, pushed: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of stage and step in the order that a schedule gives them."""
    operator = mapped(same).operator("map1")
    schedule, stages = SCHEDULES[name](), {}
    for stage, step in pushed:
        made = stages.setdefault(stage, ThreadedStage(operator, lambda inputs, frontier: (), (), ()))
        made.number = stage
        schedule.push(made, Step(step, [], None, {}, 0))  # type: ignore[arg-type]
    assert len(schedule) == len(pushed)
    return [(stage.number, step.number) for stage, step in (schedule.pop() for _ in pushed)]


def test_schedules_choose_as_they_are_called() -> None:
    pushed = [(0, 5), (0, 7), (2, 6), (1, 5), (2, 9)]
    assert _popped("oldest_first", pushed) == [(1, 5), (0, 5), (2, 6), (0, 7), (2, 9)]
    assert _popped("nearest_to_sink", pushed) == [(2, 6), (2, 9), (1, 5), (0, 5), (0, 7)]
    assert _popped("round_robin", pushed) == [(0, 5), (2, 6), (1, 5), (0, 7), (2, 9)]


def test_the_rate_counts_busy_time_only() -> None:
    now_s = 0.0
    rate = Rate(lambda: now_s)
    rate.resume()
    first = rate.last
    now_s = 1.0
    rate.add(50)
    rate.pause()
    now_s = 61.0
    rate.resume()
    now_s = 62.0
    rate.add(70)
    rate.pause()
    assert (rate.busy_s, rate.last, rate.last.tuples_s(first)) == (2.0, Moment(2.0, 120), 60.0)
    assert rate.last.tuples_s(rate.last) == 0.0


def test_figures_are_of_the_period_since_the_last_look() -> None:
    now_s = 0.0
    with element(mapped(same), clock=lambda: now_s) as running:
        for number, (moment_s, rows) in enumerate([(1.0, 10), (2.0, 20), (5.0, 30), (6.0, 40)]):
            running.feed({})  # the clock runs from the first step on
            now_s = moment_s
            running.feed(block(*range(rows)))
            if number % 2:
                figures = running.observe()
        running.drain()
    assert (figures.busy_s, figures.tuples, figures.rate_tuples_s) == (4.0, 70, 17.5)


def test_reorder_holds_what_is_early() -> None:
    reorder = Reorder[str](ordered=True)
    assert [reorder.add(number, str(number)) for number in (2, 0, 1, 3)] == [[], ["0"], ["1", "2"], ["3"]]


def test_a_late_sampler_means_that_the_gil_is_held() -> None:
    with element(mapped(same, same)) as running:
        one, two, _ = running._runtime.wiring.stages
    thread_slots = {1: ThreadSlot(), 2: ThreadSlot()}
    sampler = Sampler(thread_slots)
    for first, second, waited_ms in ((one, one, 5), (one, None, 7), (one, two, 6), (None, two, 0), (two, two, 0)) * 4:
        thread_slots[1].stage, thread_slots[2].stage = first, second
        sampler.sample(waited_ms * 1_000_000)
    assert sampler.holds_gil() == {"map1"}  # where both are seen it might be either


def test_a_wait_that_ended_early_does_not_accuse_the_operator_that_gave_the_gil_up() -> None:
    with element(mapped(same, same)) as running:
        first, second, _ = running._runtime.wiring.stages
    thread_slot = ThreadSlot()
    sampler = Sampler({1: thread_slot})
    for stage, waited_ms in ((first, 5), (second, 3)) * 20:  # the first holds it for 10 ms, then the second is entered
        thread_slot.stage = stage
        sampler.sample(waited_ms * 1_000_000)
    assert sampler.holds_gil() == {"map1"}


def sampler_of_a_thread_in_map1() -> Sampler:
    with element(mapped(same)) as running:
        stage = running._runtime.wiring.stages[0]
    thread_slot = ThreadSlot()
    thread_slot.stage = stage
    return Sampler({1: thread_slot})


@pytest.mark.parametrize(("caller_ms", "found"), [(0.0, {"map1"}), (0.5, {"map1"}), (1.0, set()), (9.0, set())])
def test_a_wait_while_the_caller_of_the_feeding_thread_was_on_a_core_says_nothing(
    caller_ms: float, found: set[str]
) -> None:
    sampler = sampler_of_a_thread_in_map1()
    for _ in range(20):
        sampler.sample(10_000_000, round(caller_ms * 1e6))
    assert sampler.holds_gil() == found


def test_only_a_gil_that_is_free_at_once_speaks_for_an_operator() -> None:
    sampler = sampler_of_a_thread_in_map1()
    for waited_ms in (5.0, 0.5, 0.9) * 5:
        sampler.sample(round(waited_ms * 1e6))
    assert sampler.holds_gil() == {"map1"}
    for _ in range(5):
        sampler.sample(30_000)
    assert not sampler.holds_gil()


def test_a_caller_that_holds_the_gil_is_not_taken_for_an_operator() -> None:
    app = ps.Application("waits")
    app.source("numbers", schema=SCHEMA).load("waits", wait_ms_per_block=20).sink("out")
    with element(app.graph, threads=2, queued=["waits"], sample_period_s=0.005) as running:
        for x in range(60):
            running.feed(block(x))
            end_s = time.thread_time() + 0.015
            while time.thread_time() < end_s:
                pass
        running.drain()
    assert running._sampler is not None
    assert running._sampler.counts["waits"] > 20
    assert not running.holds_gil


def test_samples_tell_where_threads_are() -> None:
    def slow(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.02)
        return row

    with element(mapped(same, slow), threads=1, queued=["map1"], sample_period_s=0.001) as running:
        for x in range(10):
            running.feed(block(x))
        running.drain()
        samples = running.observe().samples
        assert samples["map2"] > 0.7 * sum(samples.values())
        assert running.observe().samples["map2"] == samples["map2"] / 2  # fades


def test_an_operator_that_holds_the_gil_is_found_and_advised_on() -> None:
    def spins(row: dict[str, Any]) -> dict[str, Any]:
        total = 0
        for i in range(1_000_000):  # longer than the switch interval, on fast machines too
            total += i
        return {"x": total}

    app = ps.Application("two_kinds")
    spun = app.source("numbers", schema=SCHEMA).map("spins", spins, SCHEMA, per_tuple=True)
    spun.load("burns", 10_000_000).sink("out")
    with element(app.graph, threads=1) as first:  # compiles, which holds the GIL
        first.feed(block(0))
        first.drain()
    with element(app.graph, queued=["spins"], threads=1) as running:
        for _ in range(20):  # the sampler looks at random moments: until it has seen enough
            for x in range(30):
                running.feed(block(x))
            running.drain()
            figures = running.observe()
            if figures.holds_gil:
                break
    assert figures.holds_gil == {"spins"}
    assert running.holds_gil == {"spins"}
    assert gil_advice(figures.holds_gil) == (
        "operator 'spins' held the GIL in most samples: threads cannot speed it up; use replicas instead",
    )


def test_towards_the_end_time_counts_by_the_threads_that_have_a_step() -> None:
    now_s = [0.0]
    may_end = [threading.Event() for _ in range(3)]

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert may_end[row["x"]].wait(30)
        return row

    with element(mapped(held), threads=2, queued=["map1"], clock=lambda: now_s[0], sample_period_s=None) as running:
        for x in range(3):
            running.feed(block(x))
        draining = threading.Thread(target=running.drain)
        draining.start()
        within_time(lambda: wait_until(lambda: running._runtime._is_ending))
        now_s[0] = 1.0
        may_end[0].set()
        may_end[1].set()
        within_time(lambda: wait_until(lambda: running.in_flight == 1))
        now_s[0] = 2.0  # one of two threads has a step in this second
        may_end[2].set()
        draining.join(30)
        figures = running.observe()
    assert (figures.busy_s, figures.complete_s, figures.rate_tuples_s) == (1.5, 1.5, 2.0)


@pytest.mark.parametrize("ends", [False, True])
def test_who_feeds_is_told_that_another_thread_closed_the_element(ends: bool) -> None:
    may_end, raised = threading.Event(), []

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert may_end.wait(30)
        return row

    def feed() -> None:
        try:
            for x in range(1 if ends else 100):
                running.feed(block(x))
            running.drain()
        except OperatorError as error:
            raised.append(str(error))

    running = element(mapped(held), threads=1, queued=["map1"])
    feeding = threading.Thread(target=feed, daemon=True)
    feeding.start()
    within_time(lambda: wait_until(lambda: bool(running._runtime.space._waiters)))  # type: ignore[attr-defined]
    closing = threading.Thread(target=running.close)  # which waits for the call under way
    closing.start()
    feeding.join(30)
    may_end.set()
    closing.join(30)
    assert raised == ["this element was closed while it was fed; blocks in progress are lost"]


def test_the_rest_is_given_as_it_becomes_complete() -> None:
    second_may_end = threading.Event()

    def held(row: dict[str, Any]) -> dict[str, Any]:
        assert row["x"] == 0 or second_may_end.wait(30)
        return row

    with element(mapped(held), threads=2, queued=["map1"]) as running:
        early = running.feed(block(0)) + running.feed(block(1))
        rest = running.rest()
        assert [f.step for f in early or [next(rest)]] == [0]
        second_may_end.set()
        assert [f.step for f in rest] == [1]
        assert list(running.rest()) == []


def alone_calls() -> WaitingCalls:
    calls = WaitingCalls(1)
    calls.is_alone = True
    return calls


def test_calls_that_wait_are_told_from_those_that_compute() -> None:
    def computing(row: dict[str, Any]) -> dict[str, Any]:
        end_s = time.thread_time() + 0.02
        while time.thread_time() < end_s:
            pass
        return row

    def waiting(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.02)
        return row

    for function, waits in ((computing, False), (waiting, True)):
        calls = alone_calls()
        graph = mapped(function)
        own = Element(graph, DeadLetters(), {"out": "out"})
        with element(graph, around=Around(own, wire(own, graph), calls)) as running:
            for x in range(5):
                running.feed(block(x))
        computed_s, waited_s = calls.take()
        assert (waited_s > computed_s) is waits
        assert calls.take() == (0.0, 0.0)


def test_a_call_waits_though_another_element_computes_meanwhile() -> None:
    ends, shares = threading.Event(), []

    def compute() -> None:
        with element(mapped(lambda row: [burn(1, 20_000_000), row][1])) as beside:
            while not ends.is_set():
                beside.feed(block(0))

    def waits(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.2)
        return row

    calls, graph = alone_calls(), mapped(waits)
    own = Element(graph, DeadLetters(), {"out": "out"})
    computing = threading.Thread(target=compute)
    computing.start()
    try:
        with element(graph, around=Around(own, wire(own, graph), calls)) as running:
            for free in (False, False, True):
                calls.gil_is_free = lambda free=free: free  # type: ignore[misc]
                running.feed(block(0))
                computed_s, waited_s = calls.take()
                shares.append(computed_s / (computed_s + waited_s))
    finally:
        ends.set()
        computing.join(30)
    assert shares[2] < 0.3
    assert shares[1] > 2 * shares[2], "it might have waited for the GIL as long as the other one computed"


def test_what_an_element_computes_that_a_call_feeds_is_the_call_s() -> None:
    with element(mapped(lambda row: [burn(1, 100_000_000), row][1]), threads=1, queued=["map1"]) as inner:
        calls = alone_calls()
        calls.gil_is_free = lambda: True
        graph = mapped(lambda row: [inner.feed(block(0)), inner.drain(), row][2])
        own = Element(graph, DeadLetters(), {"out": "out"})
        with element(graph, around=Around(own, wire(own, graph), calls)) as running:
            for _ in range(3):
                calls.take()
                running.feed(block(0))
            computed_s, waited_s = calls.take()
    assert computed_s > waited_s


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], False),
        ([False] * 19, False),
        ([False] * 20, True),
        ([True] * 20 + [False] * 17, True),
        ([True] * 20 + [False] * 16, False),
        ([False] * 40 + [True], False),
    ],
)
def test_the_gil_is_free_where_looks_hardly_ever_find_it_taken(taken: list[bool], free: bool) -> None:
    thread_slot = ThreadSlot()
    sampler = Sampler({1: thread_slot})
    sampler.sample(10_000_000)  # nobody is in an operator: it says nothing
    graph = mapped(lambda row: row)
    thread_slot.stage = wire(Element(graph, DeadLetters(), {"out": "out"}), graph).stages[0]
    for each in taken:
        sampler.sample(300_000 if each else 30_000)
    assert sampler.gil_is_free is free


def test_the_sampler_counts_how_long_it_may_have_had_the_gil() -> None:
    sampler = Sampler({}, 0.001)
    assert sampler.held_ns > 0  # it is about to start
    sampler.start()
    wait_until(lambda: sampler._is_paused)  # without input
    before_ns = sampler.held_ns
    assert sampler.held_ns == before_ns
    sampler.resume()
    assert sampler.held_ns > before_ns
    seen_ns = [sampler.held_ns for _ in range(1_000) if not time.sleep(0.0001)]
    assert seen_ns == sorted(seen_ns)
    sampler.end()
    sampler.join(30)


def test_a_call_does_not_wait_while_the_sampler_has_the_gil() -> None:
    calls = WaitingCalls(1)
    graph = mapped(lambda row: [time.sleep(0.01), row][1])
    own = Element(graph, DeadLetters(), {"out": "out"})
    with element(graph, around=Around(own, wire(own, graph), calls)) as running:
        waited_s = []
        for calls.sampled_ns in (lambda: 0, time.perf_counter_ns):
            running.feed(block(0))
            waited_s.append(calls.take()[1])
    assert waited_s[0] > 0.005
    assert waited_s[1] == 0.0


def test_what_other_threads_compute_for_a_call_is_no_waiting() -> None:
    calls = WaitingCalls(1)
    with ThreadPoolExecutor(1) as library, PeggedCores() as pegged:
        library.submit(burn, 1, 2).result()
        pegged.set(2)
        graph = mapped(lambda row: [library.submit(burn, 1, 100_000_000).result(), row][1])
        own = Element(graph, DeadLetters(), {"out": "out"})
        shares = []
        with element(graph, around=Around(own, wire(own, graph), calls)) as running:
            for calls.is_alone in (True, False):
                calls.take()
                running.feed(block(0))
                computed_s, waited_s = calls.take()
                shares.append(computed_s / (computed_s + waited_s))
    assert shares[0] > 0.8
    assert shares[1] < 0.2
