"""MULTILEVEL: threading-model elasticity (3.1, Figure 4), coordinated with thread counts (3.2, 3.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel import group_search
from penstock.control.threads.multilevel.group_search import GroupSearch, start_group_search
from penstock.control.threads.multilevel.policy import MultiLevel, PlacementRecord, cost_groups
from penstock.control.threads.multilevel.rules import PAPER, MultiLevelRules
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import EXACT, ElementPlant, Machine
from penstock.simulate.element_shapes import balanced, pipeline, skewed

EIGHT = tuple(f"op{n}" for n in range(8))
FROM_HALF = replace(PAPER, whole_group_first=False)
NONE: frozenset[str] = frozenset()


def started(
    rate: float = 100.0, groups: tuple[tuple[str, ...], ...] = (EIGHT,), rules: MultiLevelRules = PAPER
) -> GroupSearch:
    return start_group_search("up", groups, NONE, rate, rules)[0]


def after(search: GroupSearch, rate: float, rules: MultiLevelRules = PAPER) -> GroupSearch:
    return group_search.step(search, rate, rules)[0]


def settled_rate(model: ElementModel, rules: MultiLevelRules, cores: int) -> float:
    """Throughput with the setting that the policy ends with, measured without noise."""
    plant, policy = ElementPlant(model, Machine(cores), period_s=5.0, noise=EXACT), MultiLevel(rules)
    state, setting = policy.start(plant.observe())
    for _ in range(120):
        plant.apply(setting)
        state, setting, _ = policy.decide(state, plant.observe())
        if policy.settled(state):
            break
    return plant.throughput_tuples_s(setting)


def test_3_1_the_search_begins_with_no_queues_and_the_group_of_the_highest_cost() -> None:
    groups = cost_groups({"cheap": 1.0, "dear": 1000.0, "dear too": 900.0}, PAPER.bin_base)
    assert groups[0] == ("dear", "dear too")
    assert started(groups=groups).placement == {"dear", "dear too"}


def test_3_1_logarithmic_binning_puts_operators_of_like_cost_together() -> None:
    assert cost_groups({"a": 10_000.0, "b": 5_000.0, "c": 100.0, "d": 1.0}, 10.0) == (("a", "b"), ("c",), ("d",))


def test_3_1_the_whole_group_is_tried_and_if_it_is_faster_the_next_group_follows() -> None:
    search = started(groups=(EIGHT, ("next1", "next2")))
    assert search.moved == len(EIGHT)
    search = after(search, 200.0)
    assert search.placement == {*EIGHT, "next1", "next2"}


def test_3_1_a_group_is_split_only_where_all_of_it_is_slower() -> None:
    slower = after(started(), 50.0)
    assert (slower.moved, slower.more) == (4, (8, 50.0))
    assert after(slower, 150.0).moved == 4, "faster than none and than all: R5"


def test_figure_4_allows_a_search_that_begins_below_the_whole_group() -> None:
    assert started(rules=FROM_HALF).moved == 4


def test_r1_more_operators_where_fewer_were_slower_and_more_were_not_tried() -> None:
    search = after(started(rules=FROM_HALF), 200.0, FROM_HALF)
    assert (search.moved, search.fewer, search.more) == (6, (4, 200.0), None)


def test_r2_more_operators_where_more_were_faster() -> None:
    search = replace(started(rules=FROM_HALF), fewer=(0, 100.0), more=(8, 300.0))
    assert after(search, 200.0, FROM_HALF).moved == 6


def test_r3_and_r4_fewer_operators_where_fewer_were_faster() -> None:
    search = after(started(rules=FROM_HALF), 50.0, FROM_HALF)
    assert (search.moved, search.fewer, search.more) == (2, (0, 100.0), (4, 50.0))


def test_r5_the_search_stops_where_fewer_and_more_are_both_slower() -> None:
    search = after(replace(started(rules=FROM_HALF), fewer=(0, 100.0), more=(8, 150.0)), 200.0, FROM_HALF)
    assert search.finished
    assert len(search.placement) == 4


def test_figure_4_lines_12_and_13_stay_with_none_and_change_otherwise() -> None:
    search = started()
    while not search.finished:
        search = after(search, 10.0)
    assert not search.changed
    kept = after(started(), 101.0)
    assert kept.finished
    assert kept.changed


@pytest.mark.parametrize(("rate", "is_a_trend"), [(104.0, False), (105.0, True)])
def test_3_1_1_five_per_cent_make_a_trend(rate: float, is_a_trend: bool) -> None:
    assert PAPER.sensitivity == 0.05
    search = after(started(groups=(EIGHT, ("next",))), rate)
    assert search.finished is not is_a_trend


def test_3_1_1_an_arbitrary_set_of_the_group_is_chosen_and_the_seed_says_which() -> None:
    chosen = {
        start_group_search("up", (EIGHT,), NONE, 1.0, replace(FROM_HALF, seed=seed))[0].placement for seed in range(6)
    }
    assert len(chosen) > 1
    assert {len(own) for own in chosen} == {4}


def test_3_2_it_begins_with_no_queue_and_two_scheduler_threads_that_idle() -> None:
    plant = ElementPlant(pipeline(10, balanced()), Machine(16), noise=EXACT)
    assert MultiLevel(PAPER).start(plant.observe())[1] == ElementSetting(2, NONE)


def test_3_3_history_skips_thread_counts_within_the_range_of_a_placement() -> None:
    record = PlacementRecord(frozenset({"a"}), 64, 64).after(frozenset({"a"}), 96)
    assert [record.direction(threads) for threads in (80, 128, 32)] == ["none", "up", "down"]


def test_3_3_the_satisfaction_factor_is_a_share_of_what_the_same_efficiency_would_bring() -> None:
    assert PAPER.satisfaction == 0.6


def test_figure_1_queues_everywhere_are_not_best_for_a_chain_of_100_operators() -> None:
    plant = ElementPlant(pipeline(100, balanced(100)), Machine(16), noise=EXACT)
    names = plant.observe().operator_costs
    by_share = {
        every: max(
            plant.throughput_tuples_s(ElementSetting(threads, frozenset(list(names)[::every])))
            for threads in range(1, 17)
        )
        for every in (1, 2, 5, 10, 20)
    }
    assert max(by_share, key=by_share.__getitem__) != 1
    assert max(by_share.values()) > plant.throughput_tuples_s(ElementSetting(1)), "and none is not best, either"


def test_3_1_a_whole_group_first_does_not_end_below_half_of_it_first_on_a_long_skewed_pipeline() -> None:
    model = pipeline(500, skewed(4))
    assert settled_rate(model, PAPER, 88) >= 0.95 * settled_rate(model, FROM_HALF, 88)
