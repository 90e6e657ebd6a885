"""MODEL: resource functions of operators and elements (Equations 3 to 6), Algorithms 1 and 2, nodes (3.5)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import costs
from penstock.errors import InputError
from penstock.model.costs.node_speed import contention_of
from penstock.model.costs.profile_file import profile_from_json

TABLE = costs.Communication((8.0, 64.0), (1e6, 5e5), (1.0, 1.0), (0.5, 0.6))
RATES = (1e4, 2e4, 3e4, 4e4)


def profile(**nodes: Any) -> costs.Profile:
    """A functor of 2 us, an aggregate of 4 us that gives one of ten, and another functor of 3 us."""

    def own(cpu: float, share: float, stream: str, kind: str) -> dict[str, Any]:
        return {
            "key": None, "class": kind, "cpu": [{"powers": [1], "coefficient": cpu}], "covariance": [],
            "outputs": {stream: [{"powers": [1], "coefficient": share}]}, "bytes_per_tuple": {stream: 64},
        }  # fmt: skip

    return profile_from_json(
        {
            "version": 1,
            "fixed": {"micro_batch_cpu_s": 0.0, "task_cpu_s": 0.0, "envelope_cpu_s": 0.0},
            "operators": {
                "filter": own(2e-6, 0.5, "filter", "functor"), "window": own(4e-6, 0.1, "window", "aggregate"),
                "sum": own(3e-6, 1.0, "sum", "functor"),
            },
            "communication": {
                "bytes_per_tuple": [8, 64], "max_rate_tuples_s": [1e6, 5e5], "send_cores": [1.0, 1.0],
                "receive_cores": [0.5, 0.6],
            },
            "node": {"speed": {"functor": 1.0, "aggregate": 1.0}}, **nodes,
        }
    )  # fmt: skip


def biased(rates: tuple[float, ...] = RATES, costs_s: tuple[float, ...] = (6e-6, 9e-6)) -> list[dict[str, Any]]:
    """func2-cf2: two operators in one element, estimated by elapsed time x utilization of the thread (3.3.2)."""
    points = []
    for rate in rates:
        utilization = sum(costs_s) * rate
        own = {
            f"Regex{number + 1}": {
                "cpu_cores": cost_s * rate * utilization, "tuples_in_s": rate, "tuples_out_s": {f"s{number}": rate},
            }
            for number, cost_s in enumerate(costs_s)
        }  # fmt: skip
        points.append({"cpu_cores": utilization, "operators": own})
    return points


def test_equation_4_the_receiving_overhead_is_the_sinks_share_at_that_size() -> None:
    assert TABLE.receive(2e5, 64.0) == pytest.approx(0.6 * 2e5 / 5e5)


def test_equation_5_the_sending_overhead_is_the_sources_share_at_that_size() -> None:
    assert TABLE.send(2e5, 8.0) == pytest.approx(1.0 * 2e5 / 1e6)


def test_3_2_wider_tuples_cost_more_to_send_and_to_receive() -> None:
    assert TABLE.send(1e5, 64.0) > TABLE.send(1e5, 8.0)
    assert TABLE.receive(1e5, 64.0) > TABLE.receive(1e5, 8.0)


def test_algorithm_1_the_operator_is_its_element_without_communication() -> None:
    points = [
        {
            "cpu_cores": 4e-6 * r + TABLE.receive(r, 64.0) + TABLE.send(r / 4, 8.0), "tuples_in_s": [r],
            "tuples_out_s": {"out": r / 4}, "bytes_in": [64.0], "bytes_out": {"out": 8.0},
        }
        for r in RATES
    ]  # fmt: skip
    found = costs.recover_unfused(points, TABLE)
    assert found.cpu.at([2.5e4]) == pytest.approx(0.1)
    assert found.outputs["out"].at([2e4]) == pytest.approx(5e3)  # step 4


def test_algorithm_1_a_tuple_eight_times_as_wide_changes_communication_and_not_the_operator() -> None:
    def recovered(width: float) -> costs.Recovered:
        points = [
            {"cpu_cores": 4e-6 * r + TABLE.receive(r, width), "tuples_in_s": [r], "bytes_in": [width]} for r in RATES
        ]
        return costs.recover_unfused(points, TABLE)

    narrow, wide = recovered(8.0), recovered(64.0)
    assert wide.cpu.at([3e4]) == pytest.approx(narrow.cpu.at([3e4]))


def test_algorithm_2_steps_4_and_5_project_the_saturated_rate() -> None:
    found = costs.recover_fused(biased())
    assert found["Regex1"].saturated_rate_tuples_s == pytest.approx(1 / 15e-6, rel=1e-6)


def test_algorithm_2_steps_8_and_9_the_function_is_the_line_to_the_saturated_point() -> None:
    found = costs.recover_fused(biased())
    for name, cost_s in (("Regex1", 6e-6), ("Regex2", 9e-6)):
        assert found[name].cpu.at([0.0]) == pytest.approx(0.0)
        assert found[name].cpu.at([1e4]) == pytest.approx(cost_s * 1e4, rel=1e-6)


def test_equation_6_an_element_is_its_operators_and_what_crosses_its_border() -> None:
    own = profile().predict({"source": 4e4}, fusion=[["filter", "window"], ["sum"]]).elements["filter"]
    assert own.parts["operators"] == pytest.approx(4e4 * 2e-6 + 2e4 * 4e-6)
    assert own.parts["send"] == pytest.approx(2e3 / 5e5)
    assert own.cpu_cores == pytest.approx(sum(own.parts.values()))


def test_3_4_rates_inside_an_element_follow_the_output_functions() -> None:
    q = profile().predict({"source": 4e4}, fusion=[["filter"], ["window"], ["sum"]])
    assert [q.elements[name].tuples_in_s for name in ("filter", "window", "sum")] == pytest.approx([4e4, 2e4, 2e3])


def test_figure_3_fusing_saves_a_send_and_a_receive_for_each_stream() -> None:
    apart = profile().predict({"source": 4e4}, fusion=[["filter"], ["window"], ["sum"]])
    fused = profile().predict({"source": 4e4}, fusion=[["filter", "window", "sum"]])
    saved = sum(TABLE.send(rate, 64.0) + TABLE.receive(rate, 64.0) for rate in (2e4, 2e3))
    assert apart.cpu_cores - fused.cpu_cores == pytest.approx(saved)


def test_3_5_a_faster_node_is_the_same_curve_at_a_lower_rate() -> None:
    fast = costs.Node("fast", speed=2.0)
    on_fast = profile().predict({"source": 4e4}, node=fast).elements["filter"].parts["operators"]
    at_half = profile().predict({"source": 2e4}).elements["filter"].parts["operators"]
    assert on_fast == pytest.approx(at_half)


def test_3_5_speeds_go_by_operator_class_since_one_number_misleads() -> None:
    node = costs.Node("n", speed_by_class={"functor": 3.0})
    plain, own = (profile().predict({"source": 4e4}, node=where).elements for where in (None, node))
    assert own["filter"].parts["operators"] == pytest.approx(plain["filter"].parts["operators"] / 3)
    assert own["window"].parts["operators"] == pytest.approx(plain["window"].parts["operators"])


def test_figure_21_busy_neighbours_raise_the_cpu_of_an_element_by_the_learned_factor() -> None:
    factor = contention_of(alone_cores=0.4, shared_cores=0.6, neighbours_cores=3.0)  # "almost by 50%"
    own = profile(contention=factor)
    alone, shared = (own.predict({"source": 4e4}, neighbours_cores=cores).elements["filter"] for cores in (0.0, 3.0))
    assert shared.cpu_cores == pytest.approx(1.5 * alone.cpu_cores)


def test_two_rates_make_no_function() -> None:
    with pytest.raises(InputError):
        costs.recover_fused(biased(RATES[:2]))
