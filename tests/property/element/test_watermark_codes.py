"""Different codes are found as numpy's `unique` finds them, few or many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.watermark.watermark_clock import _distinct


@given(codes=st.lists(st.integers(0, 3) | st.integers(-(2**40), 2**40), max_size=40))
def test_codes_and_their_places_are_those_of_unique(codes: list[int]) -> None:
    given_codes = np.array(codes, np.int64)
    different, which = np.unique(given_codes, return_inverse=True)
    found, places = _distinct(given_codes)
    assert found.tolist() == different.tolist()
    assert places.tolist() == which.tolist()
