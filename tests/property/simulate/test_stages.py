"""The tasks of a stage against the slow, obvious way to place them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.simulate.micro_batch.placing import in_shares, in_waves
from tests.reference.stages import shares, waves

WORKS = st.lists(st.floats(0.0, 5.0), min_size=1, max_size=40)


@settings(deadline=None, max_examples=200)
@given(WORKS, st.sampled_from([0.0, 0.01]), st.lists(st.sampled_from([0.5, 1.0, 2.4]), min_size=1, max_size=9))
def test_tasks_run_in_waves(works: list[float], extra_s: float, speeds: list[float]) -> None:
    ordered = sorted(speeds, reverse=True)
    begins_s, ends_s, slots = in_waves(np.array(works), extra_s, np.array(ordered))
    expected = waves(works, extra_s, ordered)
    assert list(zip(begins_s.tolist(), ends_s.tolist(), slots.tolist(), strict=True)) == expected


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0.05, 0.5), min_size=1, max_size=7), st.sampled_from([0.3, 1.0]), st.integers(1, 2),
       st.integers(2, 3))  # fmt: skip
def test_tasks_share_cores(works: list[float], cpu_ratio: float, cores: int, tasks_per_core: int) -> None:
    _, ends_s, _ = in_shares(np.array(works), 0.0, cpu_ratio, np.array([float(cores)]), np.array([1.0]), tasks_per_core)
    assert ends_s == pytest.approx(shares(works, cpu_ratio, cores, 1.0, tasks_per_core), abs=2e-3)


def test_a_task_goes_to_the_node_with_most_speed_for_it() -> None:
    _, ends_s, nodes = in_shares(np.ones(3), 0.0, 1.0, np.array([1.0, 1.0]), np.array([1.0, 2.0]), 2)
    assert nodes.tolist() == [1, 0, 0] or nodes.tolist() == [1, 0, 1]
    assert ends_s.max() <= 2.0
