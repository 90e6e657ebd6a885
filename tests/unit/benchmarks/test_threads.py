"""The benchmarks of an element's level: their keys, what they count, and that losses are shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.threads import elastic_operator, exhaustive, external_load, multilevel, multilevel_cases
from benchmarks.threads.command import Judged, body_of
from benchmarks.threads.element_case import ElementCase, fixed_rates, plant_case
from benchmarks.threads.multilevel_cases import Cell
from penstock.control.threads.elastic_operator import ElasticOperator
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel.policy import MultiLevel
from penstock.control.threads.multilevel.rules import OURS, PAPER
from penstock.control.threads.thread_control import ThreadControl
from penstock.element.pool.level_keeper import LevelKeeper
from penstock.plan.thread_setting import ElasticThreads
from penstock.simulate.element_plant import Change
from penstock.simulate.element_shapes import balanced, one_operator, pipeline


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (
            "elastic-operator",
            {
                "elastic_over_best_static_median", "elastic_over_best_static_worst", "periods_to_settle_worst",
                "changes_per_minute_worst",
            },
        ),
        ("external-load", {"worst_phase_ratio", "recovery_periods_worst"}),
        (
            "multilevel",
            {
                "worst_ratio_to_best_simple", "worst_ratio_to_exhaustive", "periods_with_optimisations",
                "periods_without",
            },
        ),
    ],
)  # fmt: skip
def test_the_last_line_is_json_with_the_keys_and_the_picture_is_drawn(command, keys, tmp_path):
    picture, file = tmp_path / "picture.png", tmp_path / "figures.json"
    result = CliRunner().invoke(app, [command, "--quick", "--no-real", "--picture", str(picture), "--json", str(file)])
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout.splitlines()[-1])
    assert keys <= body.keys()
    assert all(isinstance(body[key], int | float) for key in keys)
    assert body["measured"] is None
    assert {*keys, "goals_missed", "seeds"} <= body["simulated"].keys()
    assert all(body[key] == body["simulated"][key] for key in keys)
    assert all(goal.startswith("simulated: ") for goal in body["goals_missed"])
    assert body["machine"]["cores"] >= 1
    assert "numpy" in body["versions"]
    assert json.loads(file.read_text()) == body
    assert picture.stat().st_size > 10_000


def small_case() -> ElementCase:
    return plant_case(
        "heavy, 4 cores", one_operator(10_000, block_tuples=100), 4, max_level=8, queued=frozenset({"work"})
    )


def test_the_best_fixed_level_is_that_of_the_cores():
    rates = fixed_rates(small_case())
    assert list(rates) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert max(rates, key=rates.__getitem__) == 4
    assert rates[4] == pytest.approx(4e5, rel=0.02)


def test_what_is_benched_is_what_users_have():
    for name, policy in elastic_operator.POLICY_OF_ENGINE.items():
        assert elastic_operator.POLICIES[name] == ThreadControl(ElasticThreads(policy=policy), 2)._policy()
    assert elastic_operator.POLICIES["elastic_map's"] == LevelKeeper(64, 1.0)._policy
    assert MultiLevel(multilevel.RULES["pieces"]) == ThreadControl(ElasticThreads(policy="multilevel"), 2)._policy()


def test_elastic_threads_change_less_than_once_a_minute_by_their_looks_upwards():
    flat = plant_case("flat", one_operator(10_000, block_tuples=100), 1, max_level=8, queued=frozenset({"work"}))
    static = fixed_rates(flat)
    calm = elastic_operator.measure(flat, "leaping", 1, 600, static)
    quick = elastic_operator.measure(flat, "elastic_map's", 1, 600, static)
    assert 0 < calm.changes_per_minute <= elastic_operator.CHANGES_GOAL < quick.changes_per_minute


def test_the_json_has_every_load_at_every_fixed_level():
    run = elastic_operator.measure(small_case(), "leaping", 1, 40)
    statics = elastic_operator.statics([run, run])
    assert list(statics) == ["heavy, 4 cores"]
    assert list(statics["heavy, 4 cores"]) == list(range(1, 9))
    assert statics["heavy, 4 cores"][4] == pytest.approx(run.best_tuples_s, rel=1e-3)


def test_simulated_and_measured_figures_are_judged_apart_and_the_worse_one_is_on_top():
    good, bad = {"ratio": 1.0, "periods": 3, "simulated_alone": 7}, {"ratio": 0.8, "periods": None}
    body = body_of("x", Judged(good, []), Judged(bad, ["90 %"], {}, {"through": "y"}), {"ratio"})
    assert (body["ratio"], body["periods"], body["simulated_alone"]) == (0.8, None, 7)
    assert body["goals_missed"] == ["measured: 90 %"]
    assert body["simulated"]["goals_missed"] == []
    assert body["measured"] == {**bad, "goals_missed": ["90 %"], "by_policy": {}, "through": "y"}


def test_periods_that_were_not_measured_are_neither_given_nor_judged():
    cell, case = Cell("pipeline 4", "10,000 flop", 1, 4), plant_case("small", pipeline(4, balanced(10_000)), 4)
    run = multilevel.measure_small(cell, case, 1)
    figures = multilevel.summary([run], [run], [], [], "pieces")
    assert set(figures) == {"worst_ratio_to_best_simple", "median_ratio_to_best_simple", "worst_ratio_to_exhaustive"}
    assert multilevel.missed_goals(figures) == []
    assert multilevel.missed_goals({**figures, "periods_with_optimisations": 41}) == ["settled within 40 periods"]
    assert multilevel.missed_goals({"worst_ratio_to_best_simple": 0.94}) == ["0.95 of the better simple way"]


def test_a_run_counts_periods_until_the_level_holds_and_changes_afterwards():
    run = elastic_operator.measure(small_case(), "leaping", 1, 120)
    before, after = run.levels[: run.periods_to_settle], run.levels[run.periods_to_settle :]
    assert before[-1] != after[0]
    assert len(set(after)) == 1
    assert run.changes_per_minute == 0
    assert run.ratio >= 0.97


def test_a_run_that_never_holds_a_level_is_shown_as_such():
    assert elastic_operator._settled_period([1, 2] * 30) is None

    class Restless(ElasticOperator):
        def decide(self, state, observation):
            threads = 3 - observation.level
            return state, ElementSetting(threads, observation.queued), "to and fro"

    run = elastic_operator.measure(small_case(), Restless(), 1, 120)
    assert run.periods_to_settle == 120
    assert run.changes_per_minute == pytest.approx(60, rel=0.05)
    assert run.ratio == pytest.approx(1.5 / 4, rel=0.02)  # one and two threads in turns, of four


def test_goals_are_judged_by_the_figures():
    good = {
        "elastic_over_best_static_median": 0.99, "elastic_over_best_static_worst": 0.95,
        "periods_beyond_climb_worst": 3, "changes_per_minute_worst": 0.5,
    }  # fmt: skip
    assert elastic_operator.missed_goals(good) == []
    bad = good | {"elastic_over_best_static_worst": 0.5, "changes_per_minute_worst": 2.0}
    assert elastic_operator.missed_goals(bad) == ["worst 90% of the best level", "at most 1 change a minute"]


def test_recovery_counts_to_a_stretch_that_lasts():
    assert external_load._recovery([9, 9, 1, 9, 1, 9, 9, 9, 9, 9, 9], 5) == 5
    assert external_load._recovery([1] * 20, 5) is None
    assert external_load._worst([3, None, 5]) is None
    assert external_load._worst([3, 5]) == 5


def test_phases_are_compared_with_the_best_level_of_each():
    phases = external_load.schedule(8, 30)
    case = external_load.plant_load_case(8, phases)
    fixed = external_load.fixed_rates_tuples_s(replace(case, levels=(2, 8)), phases, 1)
    run = external_load.measure(case, "leaping", phases, 1, fixed)
    assert run.phases[0].best_level == 8
    assert fixed[8][0] > 1.9 * fixed[8][2]  # all cores are taken
    assert len(run.levels) == 150


def test_a_phase_counts_as_a_whole_and_once_more_without_the_periods_to_come_back():
    phases = external_load.schedule(2, 20)
    rates = [50.0] * 10 + [100.0] * 90
    run = external_load.load_run("x", "measured", "leaping", 0, phases, {1: [100.0] * 5}, [1] * 100, rates)
    assert (run.phases[0].ratio, run.phases[0].ratio_once_back) == (0.75, 1.0)
    figures = external_load.summary([run], "leaping")
    assert (figures["worst_phase_ratio"], figures["worst_phase_ratio_once_back"]) == (0.75, 1.0)
    assert external_load.missed_goals(figures) == ["90% of the best fixed level in each phase"]


def test_cores_are_taken_in_three_phases_even_where_there_are_two():
    assert [phase.taken_cores for phase in external_load.schedule(2, 10)] == [0, 1, 2, 1, 0]
    assert [phase.taken_cores for phase in external_load.schedule(16, 10)] == [0, 8, 16, 4, 0]


def test_exhaustive_search_finds_what_no_other_placement_beats():
    case = plant_case("small", pipeline(4, balanced(10_000)), 4)
    best = exhaustive.best_tuples_s(case)
    assert best >= case.fixed_tuples_s(ElementSetting(4, frozenset(case.operators)))
    assert best >= case.fixed_tuples_s(ElementSetting(1))
    assert multilevel.settle(case, OURS, 1).throughput_tuples_s <= best


def test_a_contest_of_all_settings_keeps_to_its_time_and_finds_the_best_however_glimpses_err():
    case = plant_case("small", pipeline(4, balanced(10_000)), 4)
    glimpses: list[tuple[ElementSetting, float]] = []

    def glimpsed(setting, seconds):
        glimpses.append((setting, seconds))
        return case.fixed_tuples_s(setting) * (1 + 0.02 * (len(glimpses) % 3) * (seconds < 1))

    case = replace(case, glimpsed_tuples_s=glimpsed)
    run = multilevel.measure_small(Cell("pipeline 4", "10,000 flop", 1, 4), case, 1, seconds=20.0)
    settings = 4 * 2 ** len(case.operators)
    assert run.exhaustive_tuples_s == pytest.approx(exhaustive.best_tuples_s(case))
    assert run.tried == (settings, settings)
    assert {setting for setting, _ in glimpses} == set(exhaustive.all_settings(case))
    assert sum(seconds for _, seconds in glimpses if seconds < 2 * case.period_s) <= 20.0
    few = exhaustive.contest(case, [], 0.8, lambda step: None, 1)
    assert (few.tried, few.settings) == (20, settings)


def test_a_policy_that_does_not_settle_in_time_says_so():
    case = plant_case("long", pipeline(100, balanced()), 16)
    assert multilevel.settle(case, PAPER, 1, periods=3).periods is None


def test_a_changed_workload_counts_from_the_change():
    run = multilevel.measure_change("pieces", 5)
    assert run.ratio_unadapted < 0.2
    assert run.ratio_after > 0.9
    assert run.periods is not None
    assert 3 <= run.periods <= 40
    assert run.levels[multilevel_cases.CHANGE_PERIOD - 1] < run.levels[-1]


def test_cases_cover_every_graph_cost_and_block_size():
    cells = [cell for cell, _ in multilevel_cases.large_cases(False, 1) if cell.machine == "standard"]
    assert len(cells) == len(set(cells)) == 10 * 2 * 3 * 2
    assert all(len(case.operators) <= 8 for _, case in multilevel_cases.small_cases(False, 1))


def test_a_change_of_cores_is_felt_by_the_port():
    case = plant_case("heavy", one_operator(10_000), 4, noise=0, queued=frozenset({"work"}), changes=(Change(1, 4),))
    port = case.port_factory(1)
    port.apply(ElementSetting(4, case.queued))
    before, after = port.observe(), port.observe()
    assert after.throughput_tuples_s < 0.6 * before.throughput_tuples_s
