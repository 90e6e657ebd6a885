"""Algorithms 1 and 2: functions that were put in come out again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from penstock import costs
from penstock.errors import InputError

TABLE = costs.Communication((8.0, 64.0), (1e6, 5e5), (1.0, 1.0), (0.5, 0.6))
RATES = (1e4, 2e4, 4e4, 6e4)


def test_communication_is_what_the_equations_say() -> None:
    assert TABLE.send(2e5, 64.0) == pytest.approx(1.0 * 2e5 / 5e5)
    assert TABLE.receive(2e5, 8.0) == pytest.approx(0.5 * 2e5 / 1e6)
    assert TABLE.send(1.0, 36.0) == pytest.approx((1 / 1e6 + 1 / 5e5) / 2)
    assert TABLE.send(1.0, 120.0) == pytest.approx(3e-6)
    assert costs.Communication().send(1e6) == 0.0


def test_an_unfused_operator_is_its_element_without_communication() -> None:
    points = [
        {
            "cpu_cores": 0.02 + 3e-6 * r + TABLE.receive(r, 64.0) + TABLE.send(r / 10, 8.0),
            "tuples_in_s": [r], "tuples_out_s": {"w": r / 10}, "bytes_in": [64.0], "bytes_out": {"w": 8.0},
        }
        for r in RATES
    ]  # fmt: skip
    found = costs.recover_unfused(points, TABLE)
    assert [term.coefficient for term in found.cpu.terms] == pytest.approx([0.02, 3e-6])
    assert found.outputs["w"].at([5e4]) == pytest.approx(5e3)


def test_a_join_is_recovered_as_a_plane() -> None:
    grid = [(1e4, 5e3), (2e4, 5e3), (1e4, 9e3), (2e4, 9e3), (1.5e4, 7e3)]
    points = [{"cpu_cores": 0.01 + 5e-6 * a + 9e-6 * b, "tuples_in_s": [a, b], "tuples_out_s": a + b} for a, b in grid]
    found = costs.recover_unfused(points, None)
    assert found.cpu.at([1.2e4, 6e3]) == pytest.approx(0.01 + 0.06 + 0.054)
    assert found.outputs["out"].at([1e4, 1e4]) == pytest.approx(2e4)


def test_saturated_points_do_not_bend_the_function() -> None:
    points: list[dict[str, Any]] = [{"cpu_cores": 1e-5 * r, "tuples_in_s": r} for r in (2e4, 4e4, 6e4)]
    points += [{"cpu_cores": 1.0, "tuples_in_s": 1.2e5}]
    assert costs.recover_unfused(points).cpu.at([5e4]) == pytest.approx(0.5)


def fused(bias: bool = True) -> list[dict[str, Any]]:
    """A chain of two operators of 4 and 5 us with 1 us around them; SPADE's estimate is elapsed x utilization."""
    points = []
    for r in (1e4, 2e4, 4e4, 6e4, 8e4):
        utilization = 1e-5 * r
        own = {
            name: {
                "cpu_cores": cost * r * (utilization if bias else 1.0), "tuples_in_s": r, "tuples_out_s": {name: r / 2},
            }
            for name, cost in (("a", 4e-6), ("b", 5e-6))
        }  # fmt: skip
        points.append({"cpu_cores": utilization, "operators": own})
    return points


def test_the_biased_estimate_of_fused_operators_is_corrected_at_the_saturated_rate() -> None:
    found = costs.recover_fused(fused())
    assert found["a"].saturated_rate_tuples_s == pytest.approx(1e5)
    assert found["a"].cpu.at([1.0]) == pytest.approx(4e-6)
    assert found["b"].cpu.at([1.0]) == pytest.approx(5e-6)
    assert found["b"].outputs["b"].at([1e4]) == pytest.approx(5e3)


def test_an_unbiased_estimate_stays_as_it_is() -> None:
    found = costs.recover_fused(fused(bias=False))
    assert found["a"].cpu.at([1.0]) == pytest.approx(4e-6)


REFUSED = {
    "two points": ([{"cpu_cores": 0.1, "tuples_in_s": 1e4}, {"cpu_cores": 0.2, "tuples_in_s": 2e4}],
                   "needs points at 3 different rates at least; got 2"),
    "saturated": ([{"cpu_cores": 1.0, "tuples_in_s": r} for r in RATES], "every point is saturated"),
    "none": ([], "needs points; got none"),
    "negative": ([{"cpu_cores": -1, "tuples_in_s": 1}], "point 1 .*cpu_cores is a number of at least 0; got -1"),
    "unknown": ([{"cpu": 1}], "there is no 'cpu' in a point; known are: cpu_cores"),
    "no rate": ([{"cpu_cores": 1}], "tuples_in_s is a number of at least 0 for each input port; got None"),
    "text": (["x"], "a point is a mapping with cpu_cores"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_points_that_say_nothing_are_refused_in_a_sentence(name: str) -> None:
    points, sentence = REFUSED[name]
    with pytest.raises(InputError, match=sentence):
        costs.recover_unfused(points, TABLE)


def test_fused_points_need_operators_and_three_rates() -> None:
    with pytest.raises(InputError, match="needs the operators of each point"):
        costs.recover_fused([{"cpu_cores": 0.1, "tuples_in_s": 1}])
    with pytest.raises(InputError, match="operator 'a' needs points at 3 different rates at least; got 2"):
        costs.recover_fused(fused()[:2])
    with pytest.raises(InputError, match="every point is saturated"):
        costs.recover_fused([{**point, "cpu_cores": 1.0} for point in fused()])


def test_an_operator_that_blocks_alone_in_its_element_is_refused() -> None:
    points = [{"cpu_cores": 1e-6 * r, "elapsed_cores": 4e-6 * r, "tuples_in_s": [r]} for r in RATES]
    with pytest.raises(InputError, match="the operator of these points blocks: 75% of its time is waiting, not CPU"):
        costs.recover_unfused(points)
    computes = [{**point, "elapsed_cores": point["cpu_cores"]} for point in points]
    assert costs.recover_unfused(computes).cpu.at([1e5]) == pytest.approx(0.1)


def test_an_operator_that_blocks_is_refused() -> None:
    points = fused(bias=False)
    for point in points:
        point["operators"]["b"]["elapsed_cores"] = 4 * point["operators"]["b"]["cpu_cores"]
    with pytest.raises(InputError, match="operator 'b' blocks: 75% of its time is waiting, not CPU"):
        costs.recover_fused(points)


def test_operators_of_two_ports_and_flat_cpu_are_refused() -> None:
    two = [{"cpu_cores": 1e-5 * r, "operators": {"j": {"cpu_cores": 0.1, "tuples_in_s": [r, r]}}} for r in RATES]
    with pytest.raises(
        InputError, match="recovery \\(Algorithm 2\\) takes operators of one input port; operator 'j' has 2"
    ):
        costs.recover_fused(two)
    flat = [{"cpu_cores": 0.3, "operators": {"a": {"cpu_cores": 0.1, "tuples_in_s": r}}} for r in RATES]
    with pytest.raises(InputError, match="the element's CPU does not grow with the rate"):
        costs.recover_fused(flat)


FORMS: dict[str, Any] = {
    "pairs": [(r, 0.1 + 1e-6 * r) for r in RATES],
    "numpy": [{"cpu_cores": np.float64(0.1 + 1e-6 * r), "tuples_in_s": np.array([r])} for r in RATES],
    "whole numbers": [{"cpu_cores": np.float64(0.1 + 1e-6 * r), "tuples_in_s": np.int64(r)} for r in RATES],
    "a DataFrame": pd.DataFrame({"cpu_cores": [0.1 + 1e-6 * r for r in RATES], "tuples_in_s": RATES}),
    "a generator": ({"cpu_cores": 0.1 + 1e-6 * r, "tuples_in_s": {"s": r}} for r in RATES),
}


@pytest.mark.parametrize("name", FORMS)
def test_points_come_in_natural_forms(name: str) -> None:
    assert costs.recover_unfused(FORMS[name]).cpu.at([5e4]) == pytest.approx(0.15)


def test_communication_may_be_the_table_of_a_profile() -> None:
    table = {"bytes_per_tuple": [8], "max_rate_tuples_s": [1e6], "send_cores": [1.0], "receive_cores": [0.5]}
    points = [{"cpu_cores": 0.1 + 1e-6 * r, "tuples_in_s": [r]} for r in RATES]
    assert costs.recover_unfused(points, table).cpu.at([1e5]) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"widths": [8]}, "communication has the unknown key 'widths'; known are: bytes_per_tuple"),
        ({"bytes_per_tuple": [8]}, "the lists of communication are equally long; got 0 and 1 values"),
        (5, "communication is an object; got 5"),
    ],
)
def test_a_table_that_is_none_is_refused(table: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        costs.recover_unfused([{"cpu_cores": 0.1 + 1e-6 * r, "tuples_in_s": [r]} for r in RATES], table)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"replicas": "two"}, "replicas is a whole number of at least 1; got 'two'"),
        ({"operators": [1]}, "operators is a mapping of points by operator"),
        ({"bytes_in": [8, 8]}, "bytes_in has one number for each of 1 input ports; got 2"),
    ],
)
def test_points_with_wrong_parts_are_refused(change: dict[str, Any], sentence: str) -> None:
    points = [{"cpu_cores": 0.1 + 1e-6 * r, "tuples_in_s": [r], **change} for r in RATES]
    with pytest.raises(InputError, match=sentence):
        costs.recover_unfused(points)


def test_points_are_a_list_of_equally_many_ports() -> None:
    with pytest.raises(InputError, match="takes a list of points; got None"):
        costs.recover_unfused(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs as many input ports in each point; got 1 and 2 of them"):
        costs.recover_unfused([{"cpu_cores": 0.1, "tuples_in_s": own} for own in ([1e4], [2e4, 1.0], [3e4])])
