"""The benchmarks of the twin in small: they end, and their JSON has the names that others read."""

from __future__ import annotations

import pytest

from benchmarks.cloud import cloud
from benchmarks.cloud.granularity import ChainSearch, GraphSearch, chain, chain_optimum_s
from benchmarks.cloud.packing_ratio import worst_ratio
from benchmarks.cloud.scopes import image_model
from benchmarks.simulator import simulator
from benchmarks.simulator.speed_cases import figure_4a, figure_4a_nodes, tandem, trading_hour, with_events
from penstock import twin
from penstock.simulate.events.layout import new_state
from penstock.simulate.events.lines import line_of
from penstock.simulate.events.machines import machines_of


def test_figure_4a_has_20_operators_7_on_inputs_and_6_joins() -> None:
    model = figure_4a()
    assert len(model.operators) == 20
    assert sum(own.inputs[0].startswith("s") for own in model.operators) == 7
    assert sum(len(own.inputs) == 2 for own in model.operators) == 6
    assert figure_4a_nodes().cores == 35


def test_figure_4as_rate_keeps_the_cores_as_busy_as_it_says() -> None:
    result = twin.simulate(figure_4a(0.5), figure_4a_nodes(), seconds=4000, warm_up_s=100)
    work = sum(own.busy_s * (2.4 if "quad" in n else 2.0 if "dual" in n else 1.6) for n, own in result.by_node.items())
    assert work / result.seconds / (20 * 2.4 + 10 * 2.0 + 5 * 1.6) == pytest.approx(0.5, rel=0.05)


def test_the_simulators_json_has_the_names_that_others_read() -> None:
    effort = simulator.SimulatorEffort(events=2e4, peer_events=2e3, rounds=1, hour_events=None, sizes=((10, 16),))
    found = simulator.summary(simulator.measure(effort, lambda text: None))
    assert {"events_s", "tuples_s", "ratio_to_simpy", "ratio_to_simpy_tandem"} <= set(found)
    assert found["events_s"] > 1e5
    assert found["ratio_to_plain"] > 0


def test_a_line_is_timed_with_and_without_its_shortcut() -> None:
    line, by_events = tandem(), with_events(tandem())
    ones, others = (
        twin.simulate(own.model, own.nodes, schedule=own.schedule, seconds=200, warm_up_s=0)
        for own in (line, by_events)
    )
    assert ones.latency == others.latency
    state = [
        new_state(own.model, machines_of(own.model, own.nodes, own.schedule), own.nodes.network, 1)
        for own in (line, by_events)
    ]
    assert [line_of(own) is None for own in state] == [False, True]


def test_an_hour_has_the_events_of_a_trading_day() -> None:
    case = trading_hour(2e4, operators=20, cores=100)
    result = twin.simulate(case.model, case.nodes, seconds=case.seconds, warm_up_s=0)
    assert result.events == pytest.approx(2e4, rel=0.05)
    assert result.by_node["n-1"].busy_ratio > 0.1


def test_an_hour_that_takes_too_long_is_a_goal_missed() -> None:
    effort = simulator.SimulatorEffort(events=2e4, peer_events=2e3, rounds=1, hour_events=2e4, sizes=())
    found = simulator.measure(effort, lambda text: None)
    hour = simulator.Hour(int(6e8), 700.0)
    goal = "500 M events of an hour in 600 s"
    assert goal in simulator.summary(found, hour)["goals_missed"]
    assert goal not in simulator.summary(found, simulator.Hour(int(6e8), 500.0))["goals_missed"]
    assert simulator.measure_hour(simulator.QUICK, lambda text: None) is None


def test_the_chain_never_waits_so_that_its_optimum_is_a_closed_form() -> None:
    model = chain()
    partitions = {own.name: 10 for own in model.operators}
    result = twin.simulate(model, twin.Nodes((twin.Node("n", cores=64),)), partitions, seconds=50, warm_up_s=5)
    expected = sum(own.service.value / 10 + own.merge_s * 10 for own in model.operators)
    assert result.latency.mean_s == pytest.approx(expected)
    assert chain_optimum_s() < expected


def test_simulations_that_a_search_needs_are_counted_to_within_2_percent_of_the_best() -> None:
    found = GraphSearch(((1, 3.0), (50, 1.05), (90, 1.01), (100, 1.01)), ((1, 2.0), (40, 1.0), (100, 1.0)))
    assert found.simulations_needed == (90, 40)
    never = GraphSearch(((1, 3.0), (100, 1.5)), ((1, 2.0), (40, 1.0), (100, 1.0)))
    assert never.simulations_needed == (101, 40)


def test_the_clouds_goals_can_be_missed() -> None:
    graph = GraphSearch(((1, 1.0),), ((1, 1.0),))
    by_second = {name: [1.0] * 60 for name in ("(3,3)", "unpinned")}
    found = cloud.Cloud(
        by_second, {"global": 1.0, "local": 2.0, "tiered": 3.0}, [ChainSearch(2.0, 1.0, 1.0)], [graph], 1.2
    )
    assert len(cloud.missed(found)) == 7
    assert {"optimum_gap_median", "ga_over_random", "packing_ratio_worst"} <= set(cloud.summary(found))


def test_packing_is_judged_by_brute_force() -> None:
    assert 1.0 <= worst_ratio(5) <= 1.10


def test_the_image_application_has_two_streams_and_a_join() -> None:
    model = image_model(0.5)
    assert len(model.sources) == 2
    assert model.distances == {"background": 2, "foreground": 3, "edges": 2, "join": 1, "count": 0}
