"""Every case of the benchmark compares equal outputs: ours, the limit's and the peers'."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.kernels.cases.kernel_cases import all_cases, chosen_cases
from benchmarks.kernels.equality import SLICE, check_equal, compare, limit_columns
from benchmarks.kernels.job import Case, Scale
from penstock.errors import InputError

# cases that differ in the number of keys alone are one and the same on a slice
CASES = [case for case in all_cases() if "_100000_" not in case.name and not case.name.endswith("_65536")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ours_limit_and_peers_give_the_same_rows(case: Case) -> None:
    assert check_equal(case, SLICE, with_peers=True) > 0


@pytest.mark.parametrize("name", ["sliding_4_2836_int32", "time_sliding_60s_int32", "join_int32"])
def test_a_limit_gives_the_same_however_the_stream_is_cut(name: str) -> None:
    (case,) = chosen_cases([name])
    whole = limit_columns(case.make(Scale(block_rows=2048, blocks=1, keys=5)))
    pieces = limit_columns(case.make(Scale(block_rows=128, blocks=16, keys=5)))
    compare(name, pieces, whole)


def test_outputs_that_differ_are_told_apart() -> None:
    one, other = (
        {"n": np.array([1, 2]), "total": np.array([1.0, 2.0])},
        {"n": np.array([1, 2]), "total": np.array([1.0, 2.1])},
    )
    compare("same", one, {name: values[::-1] for name, values in one.items()})
    with pytest.raises(AssertionError, match="ours and limit differ in 'total'"):
        compare("ours and limit", one, other)
    with pytest.raises(AssertionError, match="2 and 1 rows"):
        compare("ours and limit", one, {name: values[:1] for name, values in one.items()})


def test_cases_are_chosen_by_pattern() -> None:
    assert [case.name for case in chosen_cases(["filter", "time_tumbling*"])] == [
        "filter", "time_tumbling_1s_int32", "time_tumbling_1s_symbol",
    ]  # fmt: skip
    assert len(chosen_cases([])) == len(all_cases())


def test_an_unknown_case_is_named_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"there is no case 'filtr'.*did you mean 'filter'\?"):
        chosen_cases(["filtr"])


def test_goals_are_those_of_the_issue() -> None:
    goal = {case.name: case.goal_ratio for case in all_cases()}
    assert goal["vwap_int32"] == goal["vwap_symbol"] == 0.40
    assert goal["vwap_string"] == 0.15
    assert goal["filter"] == goal["projection"] == 0.30
    assert goal["sliding_1000_100000_int32"] == goal["time_sliding_60s_int32"] == goal["join_int32"] == 0.70
    assert goal["sliding_4_2836_string"] is None


def test_windows_and_joins_with_a_goal_have_their_kernel_beside_them() -> None:
    judged = [case for case in CASES if case.family in ("window", "join") and case.goal_ratio is not None]
    assert all(case.make(SLICE).kernel is not None for case in judged)
