"""Elements side by side: what each may use, and what they come to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.threads.fair_share import fair_max_level


@given(levels=st.lists(st.integers(1, 200), min_size=1, max_size=12), cores=st.integers(1, 200))
def test_an_even_share_is_never_refused_and_what_others_leave_is_free(levels, cores):
    for own, level in enumerate(levels):
        most = fair_max_level(levels, own, cores)
        assert most >= max(1, cores // len(levels))
        if sum(levels) <= cores:
            assert most >= level  # nobody is taken from while all fit


def test_an_element_alone_has_all_cores():
    assert fair_max_level([3], 0, 16) == 16


def test_others_at_work_leave_the_even_share():
    assert fair_max_level([8, 8, 8, 8], 2, 16) == 4
    assert fair_max_level([1, 1, 1, 4], 3, 16) == 13
