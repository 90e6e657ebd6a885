"""The sketch's quantiles are the exact ones within its relative error, however results are split over sketches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.measure.latency_sketch import LOWEST_MS, RELATIVE_ERROR, LatencySketch, merged, sketch_of

weighted = st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 50)), max_size=60)
ratios = st.sampled_from((0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0)) | st.floats(0, 1)


def sketched(pairs: list[tuple[float, int]]) -> LatencySketch:
    return sketch_of(np.array([ms for ms, _ in pairs], float), np.array([n for _, n in pairs], np.int64))


@given(weighted, ratios)
def test_quantiles_are_within_the_relative_error_of_exact_ones(pairs: list[tuple[float, int]], ratio: float) -> None:
    exact = sorted(max(ms, LOWEST_MS) for ms, count in pairs for _ in range(count))
    sketch = sketched(pairs)
    assert sketch.results == len(exact)
    if exact:
        wanted = exact[math.floor(ratio * (len(exact) - 1))]
        assert sketch.quantile(ratio) == pytest.approx(wanted, rel=RELATIVE_ERROR * 1.0001)
        assert sketch.highest_ms == exact[-1]
        assert sketch.mean_ms == pytest.approx(math.fsum(exact) / len(exact))


@given(st.lists(weighted, max_size=5))
def test_merging_sketches_is_sketching_everything(parts: list[list[tuple[float, int]]]) -> None:
    one, whole = merged(sketched(part) for part in parts), sketched([pair for part in parts for pair in part])
    assert (one.first, one.counts, one.highest_ms) == (whole.first, whole.counts, whole.highest_ms)
    assert one.sum_ms == pytest.approx(whole.sum_ms)


def test_a_sketch_without_results_has_no_quantiles() -> None:
    with pytest.raises(ValueError, match="without results"):
        LatencySketch().quantile(0.5)
