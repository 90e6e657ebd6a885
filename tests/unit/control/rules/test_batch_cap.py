"""The cap of micro-batches follows what tuples cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Hold
from penstock.control.rules.batch_cap import LONGEST_WORK_S, CapPace, cap_ladder, first_pace, grows
from penstock.control.rules.pace import within_pace
from penstock.control.rules.waiting import unshrunk_cap
from penstock.control.setting import Setting


@given(st.integers(1, 10**8), st.floats(1e-8, 10.0))
def test_full_micro_batches_come_to_the_largest_cap_in_time_and_stay_there(highest: int, per_tuple_s: float) -> None:
    pace, seen = first_pace(highest), []
    for _ in range(40):
        seen.append(pace.cap_tuples)
        pace = pace.after(pace.cap_tuples, pace.cap_tuples * per_tuple_s)
    in_time = [cap for cap in cap_ladder(highest) if cap * per_tuple_s <= LONGEST_WORK_S]
    assert pace.cap_tuples == max(in_time, default=cap_ladder(highest)[0])
    assert len(set(seen[-20:])) == 1


def test_micro_batches_that_are_not_full_say_nothing_for_a_larger_cap() -> None:
    pace = first_pace(8_388_608)
    assert pace.cap_tuples == 8192
    assert pace.after(0, 0.0) == pace
    assert pace.after(100, 0.01).cap_tuples == 8192
    assert pace.after(8192, 0.4).cap_tuples == 32_768
    assert pace.after(100, 60.0).cap_tuples == 512


@pytest.mark.parametrize(("work_s", "expected"), [(0.4, 32_768), (0.1, 131_072), (0.01, 524_288), (0.0, 524_288)])
def test_a_short_full_micro_batch_is_followed_by_one_that_is_in_time_whatever_tuples_caused(
    work_s: float, expected: int
) -> None:
    assert first_pace(8_388_608).after(8192, work_s).cap_tuples == expected


@given(st.lists(st.tuples(st.integers(1, 10**7), st.floats(0.0, 20.0), st.floats(0.0, 1e6)), min_size=1, max_size=20))
def test_a_leap_is_never_longer_than_what_tuples_can_have_caused(batches: list[tuple[int, float, float]]) -> None:
    pace = first_pace(8_388_608)
    for number, (offered, work_s, rate) in enumerate(batches):
        tuples = min(offered, pace.cap_tuples)
        after = pace.after(tuples, work_s, arriving_tuples_s=rate)
        if after.place > pace.place + 1 and (number or pace.is_full(tuples)):
            assert after.cap_tuples * work_s / tuples <= LONGEST_WORK_S
            assert after.place <= pace.place + 3
        elif after.place > pace.place and not pace.is_full(tuples):
            assert after.cap_tuples <= rate
            assert tuples >= 64
            assert work_s <= 0.5
        pace = after


def test_a_stream_that_opens_at_its_full_rate_is_taken_in_two_micro_batches() -> None:
    """As the trading example opens: 200,000 tuples/s, and the first micro-batch has those of its first milliseconds."""
    rate, pace, taken, clock_s, sizes = 200_000, first_pace(8_388_608), 0, 0.0, []
    tuples = 271
    while clock_s < 2.0:
        work_s = 0.06 + tuples * 2e-6
        taken, clock_s = taken + tuples, clock_s + work_s + 0.2
        sizes.append(tuples)
        pace = pace.after(tuples, work_s, arriving_tuples_s=rate)
        tuples = min(int(clock_s * rate) - taken, pace.cap_tuples)
    assert sizes[1] > 8192
    assert tuples < pace.cap_tuples  # nothing is left behind
    assert clock_s * rate - taken < 0.5 * rate


@pytest.mark.parametrize("rate", [400, 20_000, 200_000])
@pytest.mark.parametrize("first", [1, 10, 63, 64, 271, 5000])
def test_calls_of_a_slow_service_never_raise_the_cap(rate: int, first: int) -> None:
    tuple_s, pace, tuples = 0.02, first_pace(8_388_608), first
    for _ in range(20):
        pace = pace.after(tuples, 0.05 + tuples * tuple_s, arriving_tuples_s=rate)
        assert pace.cap_tuples <= 8192
        tuples = pace.cap_tuples
    assert pace.cap_tuples == 512  # the least of the ladder


@given(st.floats(0.0, 0.9), st.floats(1e-7, 1e-2), st.integers(1, 8192), st.integers(1, 10**6))
def test_a_steady_load_comes_to_one_cap(fixed_s: float, per_tuple_s: float, first: int, rate: int) -> None:
    pace, seen, tuples = first_pace(8_388_608), [], first
    for _ in range(40):
        work_s = fixed_s + tuples * per_tuple_s
        pace = pace.after(tuples, work_s, arriving_tuples_s=rate)
        tuples = min(pace.cap_tuples, max(int((work_s + 0.1) * rate), 1))
        seen.append(pace.cap_tuples)
    assert len(set(seen[-15:])) == 1


@given(st.floats(0.0, 5.0), st.floats(1e-7, 1e-3), st.integers(1, 200))
def test_what_a_micro_batch_takes_without_tuples_is_no_reason_for_smaller_ones(
    fixed_s: float, per_tuple_s: float, first: int
) -> None:
    pace = first_pace(8_388_608).after(first, fixed_s + first * per_tuple_s)
    assert _settled_cap(pace, fixed_s, per_tuple_s) >= _highest_in_time(per_tuple_s) / 4


@given(st.floats(0.0, 0.9), st.floats(1e-7, 1e-5))
def test_a_backlog_from_the_start_is_taken_in_large_micro_batches(fixed_s: float, per_tuple_s: float) -> None:
    pace = first_pace(8_388_608)
    assert _settled_cap(pace, fixed_s, per_tuple_s) >= _highest_in_time(per_tuple_s) / 4


def _settled_cap(pace: CapPace, fixed_s: float, per_tuple_s: float) -> int:
    for _ in range(40):
        pace = pace.after(pace.cap_tuples, fixed_s + pace.cap_tuples * per_tuple_s)
    return pace.cap_tuples


def _highest_in_time(per_tuple_s: float) -> int:
    return max(cap for cap in cap_ladder(8_388_608) if cap * per_tuple_s <= LONGEST_WORK_S)


def test_workers_that_start_do_not_make_micro_batches_small_for_long() -> None:
    """As the demonstration once had it, on a machine that was busy elsewhere: 400 tuples/s were taken of 8,000."""
    pace = first_pace(8_388_608)
    for tuples, work_s in [(6, 1.73), (8192, 3.16), (8192, 2.1), (8192, 1.2), (8192, 0.8)]:
        pace = pace.after(min(tuples, pace.cap_tuples), work_s)
        assert pace.cap_tuples >= 8192


@pytest.mark.parametrize(("cap", "kind"), [(4096, Hold), (1024, Change), (512, Change)])
def test_no_larger_cap_is_decided_than_is_in_time(cap: int, kind: type) -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(2, None, 2048), 10.0, 10.0, 0.0, 0.5, highest_cap_tuples=2048)
    decided = within_pace(seen, Change(Setting(2, None, cap), "latency"))
    assert isinstance(decided, kind)
    if isinstance(decided, Change):
        assert decided.setting.micro_batch_tuples == cap
    free = replace(seen, highest_cap_tuples=None)
    assert isinstance(within_pace(free, Change(Setting(2, None, cap), "latency")), Change)


@pytest.mark.parametrize(("cap", "expected"), [(512, 2048), (4096, 4096)])
def test_no_smaller_cap_is_decided_while_that_would_only_hide_the_waiting(cap: int, expected: int) -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(2, None, 2048), 10.0, 10.0, 0.0, 0.5, cap_may_shrink=False)
    decided = unshrunk_cap(seen, Change(Setting(3, None, cap), "latency"))
    assert isinstance(decided, Change)
    assert decided.setting == Setting(3, None, expected)
    free = replace(seen, cap_may_shrink=True)
    assert unshrunk_cap(free, Change(Setting(3, None, cap), "latency")) == Change(Setting(3, None, cap), "latency")
    assert first_pace(8_388_608).after(8192, 60.0, may_shrink=False).cap_tuples == 8192
    assert (grows(110.0, 100.0), grows(101.0, 100.0), grows(5.0, None)) == (True, False, False)
