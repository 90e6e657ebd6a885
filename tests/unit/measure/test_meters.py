"""Paces, meters, gates and sums, with clocks that the test holds where it can."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block, block_of
from penstock.block.position import EVERYTHING, Frontier
from penstock.measure.batch.cpu_meter import CpuMeter
from penstock.measure.observation import Observation, OperatorObservation, ReplicaObservation
from penstock.measure.task.cpu_budget import Allowance
from penstock.measure.task.metered_operator import MeteredOperator, OperatorMeter, summed
from penstock.measure.task.sampling_interval import Pace, Turn
from penstock.measure.task.slot_counts import SlotCounts
from penstock.measure.task.task_meters import ElementMeters, ServiceTimes, TransferTime


def block(rows: int) -> Block:
    return block_of(pa.table({"x": pa.array(range(rows), pa.int64())}), pa.schema([("x", pa.int64())]))


class Halves:
    """Every second tuple, to the first of two outputs."""

    state_bytes = 7

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        return inputs[0].take(np.arange(0, inputs[0].rows, 2)), block(0)

    def export(self) -> dict[str, Any]:
        return {"a": 1}

    def restore(self, state: Any) -> None:
        raise KeyError(state)


@given(share=st.floats(0.001, 1.0), every=st.integers(1, 40))
def test_turns_come_at_the_share_asked_for_and_not_only_at_some_places_of_a_period(share: float, every: int) -> None:
    pace = Pace(budget_ratio=share)
    pace.adapt(work_ns=100.0, calls=10, cost_ns=10.0)
    turn = Turn(pace)
    due = np.array([turn.is_due() for _ in range(40_000)])
    assert due[0]
    assert due.mean() == pytest.approx(share, rel=0.05, abs=0.001)
    own = due[::every]  # what a stream with a period of so many blocks would see
    assert own.mean() == pytest.approx(share, abs=0.02 + 4 * (share / len(own)) ** 0.5)


def test_a_pace_keeps_timing_within_its_budget() -> None:
    pace = Pace(budget_ratio=0.01)
    pace.adapt(work_ns=1_000_000.0, calls=100, cost_ns=1_000.0)
    turn = Turn(pace)
    assert sum(turn.is_due() for _ in range(1_000)) == pytest.approx(100, abs=2)  # 0.01 * 10 us a call / 1 us
    pace.adapt(work_ns=1e12, calls=100, cost_ns=1_000.0)
    assert all(turn.is_due() for _ in range(100))


@given(works=st.lists(st.floats(0.0, 2.0), min_size=50, max_size=100), cost_s=st.floats(0.0001, 0.01))
def test_an_allowance_spends_no_more_than_its_share(works: list[float], cost_s: float) -> None:
    allowance, spent_s = Allowance(budget_ratio=0.01, warm_up=1), -cost_s
    for work_s in works:
        if allowance.is_enough(work_s):
            allowance.spend(cost_s)
            spent_s += cost_s
    assert spent_s <= 0.01 * sum(works) + 1e-9


def test_an_allowance_spends_all_of_its_share() -> None:
    allowance, times = Allowance(budget_ratio=0.01), 0
    for _ in range(1_001):
        if allowance.is_enough(1.0):
            allowance.spend(0.05)
            times += 1
    assert times == pytest.approx(200, abs=1)


calls = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.just(-1) | st.integers(0, 10**9)), max_size=30)


@given(calls)
def test_an_operators_figures_are_sums_with_timed_cpu_scaled_by_tuples(own: list[tuple[int, int, int]]) -> None:
    sized = [(taken, given, ns, None if ns < 0 else (8 * taken, 16 * given)) for taken, given, ns in own]
    seen = OperatorObservation(*summed("o", sized, 3))
    timed = [c for c in own if c[2] >= 0]
    assert (seen.tuples_in, seen.tuples_out) == (sum(c[0] for c in own), sum(c[1] for c in own))
    assert (seen.blocks, seen.timed_blocks, seen.state_bytes) == (len(own), len(timed), 3)
    if not timed:
        assert seen.cpu_s is None
    elif len(timed) == len(own):
        assert seen.cpu_s == pytest.approx(sum(c[2] for c in own) / 1e9)
    elif sum(c[0] for c in timed):
        per_tuple = sum(c[2] for c in timed) / 1e9 / sum(c[0] for c in timed)
        assert seen.cpu_s == pytest.approx(per_tuple * seen.tuples_in)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=20))
def test_tuples_are_told_by_input_and_bytes_are_scaled_by_tuples(own: list[tuple[int, int, bool]]) -> None:
    sized = [((a, b), a, 5 if timed else -1, (8 * (a + b), 4 * a) if timed else None) for a, b, timed in own]
    seen = OperatorObservation(*summed("o", sized, 0))
    left, right = sum(a for a, _, _ in own), sum(b for _, b, _ in own)
    assert seen.tuples_by_port == ((left, right) if own else ())
    assert seen.tuples_in == left + right
    if any(timed and a + b for a, b, timed in own) or not left + right:
        assert seen.bytes_in == 8 * (left + right)
    else:
        assert seen.bytes_in is None
    assert seen.bytes_out in (4 * left, None)


def test_ticks_are_no_tuples_of_an_input() -> None:
    assert summed("o", [((3, 7), 1, -1, None)], 0, ports=1)[-1] == (3,)


def test_a_metered_operator_does_what_the_operator_does_and_counts_all_outputs() -> None:
    meter = OperatorMeter("halves", Pace())
    one, other = MeteredOperator(Halves(), meter), MeteredOperator(Halves(), meter)
    assert one.process([block(10)], EVERYTHING)[0].rows == 5
    other.process([block(3)], EVERYTHING)
    seen = OperatorObservation(*meter.take(9))
    assert (seen.tuples_in, seen.tuples_out, seen.blocks, seen.timed_blocks, seen.state_bytes) == (13, 7, 2, 2, 9)
    assert seen.cpu_s is not None
    assert (seen.tuples_by_port, seen.bytes_in, seen.bytes_out) == ((13,), 13 * 8, 7 * 8)
    assert meter.take() == ("halves", 0, 0, 0, 0, None, 0, 0, 0, ())
    assert (one.state_bytes, one.export()) == (7, {"a": 1})
    with pytest.raises(KeyError, match="state"):
        one.restore("state")


def test_what_a_source_reads_is_its_own_cpu_and_it_comes_first() -> None:
    meters = ElementMeters()
    meters.metered("after", Halves())

    def read() -> Block:
        sum(range(300_000))
        return block(5)

    assert meters.reading("source", read).rows == 5
    assert list(meters.operators) == ["source", "after"]
    name, tuples_in, tuples_out, _, timed, cpu_s, _, bytes_in, *_ = meters.operators["source"].take()
    assert (name, tuples_in, tuples_out, timed, bytes_in) == ("source", 5, 5, 1, 40)
    assert cpu_s is not None
    assert cpu_s > 0.001


def test_what_a_sink_writes_is_the_sinks_cpu() -> None:
    meter = OperatorMeter("out", Pace())
    for _ in range(2):
        MeteredOperator(Halves(), meter).process([block(6)], EVERYTHING)
        assert meter.delivery(3, lambda: sum(range(300_000))) == sum(range(300_000))
    name, tuples_in, _, calls, timed, cpu_s, *_ = meter.take()
    assert (name, tuples_in, calls, timed) == ("out", 12, 2, 2)
    assert cpu_s is not None
    assert cpu_s > 0.002
    assert meter.delivered == []


def test_a_sink_whose_writing_was_not_timed_has_no_cpu() -> None:
    meter = OperatorMeter("out", Pace())
    MeteredOperator(Halves(), meter).process([block(6)], EVERYTHING)
    meter.delivered.append((6, -1))
    assert meter.take()[5] is None


def test_a_gate_waits_where_the_time_is_not_cpu() -> None:
    def slow() -> Any:
        time.sleep(0.05)
        yield 1
        end_s = time.thread_time() + 0.05
        while time.thread_time() < end_s:
            pass
        yield 2

    transfer = TransferTime(Pace())
    assert list(transfer.inward(slow())) == [1, 2]
    assert transfer.passages == transfer.timed == 3
    assert transfer.waiting_s >= 0.045
    outward = TransferTime(Pace())
    for _ in outward.outward([1]):
        time.sleep(0.03)
    assert outward.waiting_s >= 0.025


@given(st.integers(1, 50), st.floats(1e-6, 1e-3), st.floats(0.0, 1.0))
def test_the_variance_of_service_times_is_found_from_blocks(tuples: int, mean_s: float, spread: float) -> None:
    times = ServiceTimes()
    seconds = np.random.default_rng(1).uniform(1 - spread, 1 + spread, size=(4_000, tuples)) * mean_s
    for own in seconds:
        times.add(tuples, round(own.sum() * 1e9))
    exact = (2 * spread * mean_s) ** 2 / 12
    assert times.variance_s2 == pytest.approx(exact, rel=0.1, abs=1e-6 * mean_s**2)  # sums of squares cancel


def test_the_variance_of_service_times_needs_two_blocks() -> None:
    times = ServiceTimes()
    times.add(5, 1_000)
    assert times.variance_s2 is None
    times.add(10, 2_000)
    assert times.variance_s2 == pytest.approx(0.0, abs=1e-24)


@given(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=30), max_size=40), st.floats(0.05, 1.0))
def test_slots_are_counted_exactly_or_scaled_from_some_blocks(blocks: list[list[int]], share: float) -> None:
    pace = Pace(share)
    pace.adapt(1.0, 1, 1.0)
    counts = SlotCounts(Turn(pace))
    for slots in blocks:
        counts.count("dealt", np.bincount(slots, minlength=8))
        counts.sample("one", len(slots), 8, lambda own=slots: np.array(own, np.int32))  # type: ignore[misc]
    found = counts.counts_by_element()
    everything = [slot for slots in blocks for slot in slots]
    if blocks:
        assert found["dealt"].tolist() == [everything.count(slot) for slot in range(8)]
        assert found["one"].sum() == pytest.approx(len(everything), abs=4)  # rounding, by slot


def replica(**figures: Any) -> ReplicaObservation:
    return ReplicaObservation(0, 1, 1, 1.0, **{"cpu_s": 0.0, "slots_rebuilt": 0} | figures)


def test_cpu_is_split_by_who_used_it() -> None:
    clocks = {"jvm": 10.0, "process": 1.0, "thread": 0.0}
    meter = CpuMeter(lambda: clocks["jvm"], lambda: clocks["process"], lambda: clocks["thread"])
    with meter.measuring():
        clocks["thread"] += 0.01
    meter.spent(0.02)
    clocks |= {"jvm": 12.5, "process": 1.25}
    timed = (OperatorObservation("a", 1, 1, 1, 1, 0.4), OperatorObservation("b", 1, 1, 1, 0, None))
    everyone = [replica(cpu_s=1.0, operators=timed, worker_loop_cpu_s=0.1, measuring_cpu_s=0.005)]
    cpu = meter.lap(everyone, meter.clocks(), meter.take_spent_s())
    assert (cpu.operators_s, cpu.element_s, cpu.worker_loop_s, cpu.driver_s, cpu.jvm_s) == pytest.approx(
        (0.4, 0.6, 0.1, 0.25, 2.5)
    )
    assert cpu.measuring_s == pytest.approx(0.035)
    assert cpu.measuring_ratio == pytest.approx(0.035 / 3.85)
    assert meter.take_spent_s() == 0


def test_without_a_clock_of_the_jvm_its_tasks_count_if_all_are_known() -> None:
    meter = CpuMeter(lambda: None)
    both, one = [replica(jvm_cpu_s=0.5), replica(jvm_cpu_s=0.25)], [replica(jvm_cpu_s=0.5), replica()]
    assert [meter.lap(own, meter.clocks(), 0.0).jvm_s for own in (both, one)] == [0.75, None]


def test_operators_are_summed_over_replicas() -> None:
    one = OperatorObservation("a", 1, 2, 3, 1, 0.5, 8, 80, 160, (1, 0))
    other = OperatorObservation("a", 10, 20, 30, 0, None, 16, None, None, (4, 6))
    seen = Observation(
        0, 0.0, 1.0, 1, 1, {"a": (replica(operators=(one,)), replica(operators=(other,), settled=False))}
    )
    assert seen.operators == {"a": OperatorObservation("a", 11, 22, 33, 1, 0.5, 24, 80, 160, (5, 6))}
    assert not seen.settled
    assert seen.machinery_cpu_ratio is None
