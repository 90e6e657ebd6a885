"""The cap of micro-batches follows what tuples cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Hold
from penstock.control.rules.batch_cap import LONGEST_WORK_S, cap_ladder, first_pace, within_pace
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
    assert pace.after(100, 0.01) == pace.after(0, 0.0) == pace
    assert pace.after(8192, 0.1).cap_tuples == 32_768
    assert pace.after(100, 60.0).cap_tuples == 512


@pytest.mark.parametrize(("cap", "kind"), [(4096, Hold), (1024, Change), (512, Change)])
def test_no_larger_cap_is_decided_than_is_in_time(cap: int, kind: type) -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(2, None, 2048), 10.0, 10.0, 0.0, 0.5, highest_cap_tuples=2048)
    decided = within_pace(Change(Setting(2, None, cap), "latency"), seen)
    assert isinstance(decided, kind)
    if isinstance(decided, Change):
        assert decided.setting.micro_batch_tuples == cap
    free = replace(seen, highest_cap_tuples=None)
    assert isinstance(within_pace(Change(Setting(2, None, cap), "latency"), free), Change)
