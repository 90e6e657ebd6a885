"""Groups of like cost, rules R1 to R5 within them, and cuts into pieces of like cost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.threads.multilevel import group_search, piece_search
from penstock.control.threads.multilevel.group_search import GroupSearch, start_group_search
from penstock.control.threads.multilevel.piece_search import cut, front
from penstock.control.threads.multilevel.policy import PlacementRecord, cost_groups
from penstock.control.threads.multilevel.rules import OURS, PAPER

TEN = tuple(f"op{n}" for n in range(10))
FROM_HALF = replace(PAPER, whole_group_first=False)


def test_groups_are_powers_of_the_base_below_the_dearest_and_the_unseen_come_last():
    costs = {"a": 1000.0, "b": 0.0, "c": 101.0, "d": 99.0, "e": 100.0, "f": 1.0}
    assert cost_groups(costs, 10) == (("a", "c"), ("d", "e"), ("f",), ("b",))


def test_no_operator_makes_no_group():
    assert cost_groups({}, 10) == ()


def followed(rate_of: Callable[[frozenset[str]], float], groups, queued=frozenset(), direction="up", rules=FROM_HALF):
    """The search over placements of known rates: every number of moved operators, the reasons, the end."""
    search, reason = start_group_search(direction, groups, queued, rate_of(queued), rules)
    moved, reasons = [], [reason]
    while not search.finished:
        moved.append(search.moved)
        search, reason = group_search.step(search, rate_of(search.placement), rules)
        reasons.append(reason)
        assert len(reasons) < 100
    return moved, reasons, search


def by_count(*points: tuple[int, float]) -> Callable[[frozenset[str]], float]:
    """A rate that depends on the number of queues, linear between the points."""

    def rate(queued: frozenset[str]) -> float:
        for (x, y), (x2, y2) in itertools.pairwise(points):
            if x <= len(queued) <= x2:
                return y + (y2 - y) * (len(queued) - x) / (x2 - x)
        raise AssertionError(queued)

    return rate


def test_rule_1_goes_on_to_all_of_the_group_none_left_out():
    moved, reasons, search = followed(by_count((0, 100), (10, 1100)), (TEN,))
    assert moved == [5, 8, 9, 10]
    assert search.placement == frozenset(TEN)
    assert "R1, more" in reasons[1]


def test_all_of_a_group_leads_to_the_next_one():
    groups = (("a", "b"), ("c", "d"))
    _, reasons, search = followed(by_count((0, 100), (2, 300), (4, 200)), groups)
    assert search.placement == frozenset({"a", "b"})
    assert any("all of the group; try queues for 1 of 2 in group 2" in reason for reason in reasons)


def test_rule_3_takes_half_back_where_more_queues_were_slower():
    moved, reasons, search = followed(by_count((0, 100), (10, 10)), (TEN,))
    assert moved == [5, 2, 1]
    assert search.placement == frozenset()
    assert not search.changed
    assert "R3, fewer" in reasons[1]


def test_rules_2_and_5_meet_between_a_worse_and_a_better_count():
    peak = by_count((0, 100), (6, 700), (7, 400), (10, 100))
    moved, reasons, search = followed(peak, (TEN,))
    assert moved == [5, 8, 6]
    assert "R3, fewer" in reasons[2]
    assert "R5, stop" in reasons[3]
    assert len(search.placement) == 6


def test_rule_2_goes_up_again_where_more_was_better():
    state = GroupSearch("up", (TEN,), frozenset(), frozenset(), frozenset(), 100.0, 4, (0, 100.0), (8, 300.0))
    state, reason = group_search.step(state, 200.0, FROM_HALF)
    assert (state.moved, state.fewer) == (6, (4, 200.0))
    assert "less than 8: R2, more" in reason


def test_no_trend_stops_where_it_is_as_printed():
    moved, reasons, search = followed(by_count((0, 100), (10, 102)), (TEN,))
    assert moved == [5]
    assert "no trend: stop; 5 queues" in reasons[-1]
    assert search.changed


def test_no_trend_may_take_back_what_brought_nothing():
    rules = replace(FROM_HALF, take_back=True)
    moved, reasons, search = followed(by_count((0, 100), (10, 102)), (TEN,), rules=rules)
    assert moved == [5]
    assert "no trend: stop, take it back" in reasons[-1]
    assert not search.changed
    moved, _, search = followed(by_count((0, 100), (5, 200), (10, 202)), (TEN,), rules=rules)
    assert moved == [5, 8]
    assert len(search.placement) == 5


def test_downwards_begins_with_the_cheapest_group():
    groups = (("dear1", "dear2"), ("cheap1", "cheap2"))
    every = frozenset(name for group in groups for name in group)

    def rate(queued: frozenset[str]) -> float:
        return 100.0 + 50 * len(queued & {"dear1", "dear2"}) - 20 * len(queued & {"cheap1", "cheap2"})

    _, reasons, search = followed(rate, groups, every, "down")
    assert search.placement == frozenset({"dear1", "dear2"})
    assert reasons[0] == "try no queues for 1 of 2 in group 1"


def test_nothing_left_to_move_is_the_end_at_once():
    _, reasons, search = followed(by_count((0, 1), (10, 1)), (TEN,), frozenset(TEN), "up")
    assert reasons == ["no operator left to move up"]
    assert search.placement == frozenset(TEN)


@given(rates=st.lists(st.floats(1, 1000), min_size=31, max_size=31), sizes=st.lists(st.integers(1, 10), max_size=3))
@settings(max_examples=200)
def test_any_rates_end_within_a_logarithm_of_trials_per_group(rates, sizes):
    names = iter(range(100))
    groups = tuple(tuple(f"g{next(names)}" for _ in range(size)) for size in sizes)
    moved, _, search = followed(lambda queued: rates[len(queued)], groups)
    assert len(moved) <= sum(2 * len(group).bit_length() + 1 for group in groups)
    assert search.rate == pytest.approx(rates[len(search.placement)])


def test_a_record_widens_with_the_same_placement_and_starts_anew_with_another():
    record = PlacementRecord(frozenset("a"), 8, 8).after(frozenset("a"), 16)
    assert (record.fewest_threads, record.most_threads) == (8, 16)
    assert [record.direction(n) for n in (4, 8, 12, 16, 32)] == ["down", "none", "none", "none", "up"]
    assert record.after(frozenset("b"), 12) == PlacementRecord(frozenset("b"), 12, 12)


def dearest_piece(costs: list[float], places: tuple[int, ...]) -> float:
    bounds = [0, *places, len(costs)]
    return max(sum(costs[a:b]) for a, b in itertools.pairwise(bounds))


@given(costs=st.lists(st.integers(1, 9), min_size=1, max_size=9), limit=st.integers(1, 30))
@settings(max_examples=300)
def test_a_pipeline_is_cut_in_as_few_places_as_any_cut_within_the_limit(costs, limit):
    limit = max(limit, *costs)  # what a single operator costs cannot be cut
    named = {f"op{n}": float(cost) for n, cost in enumerate(costs)}
    found = cut(float(limit), 0.0, named, {})
    places = tuple(sorted(int(name[2:]) for name in found))
    # a queue in front of the first operator leaves the source a piece of its own, of no cost
    assert dearest_piece(costs, tuple(p for p in places if p)) <= limit
    fewest = min(
        size
        for size in range(len(costs))
        for some in itertools.combinations(range(1, len(costs)), size)
        if dearest_piece(costs, some) <= limit
    )
    assert len(places) == fewest


def test_a_fan_out_loses_its_dearest_branches_first():
    feeds = {"source": ("a", "b", "c"), "a": (), "b": (), "c": ()}
    assert cut(5.0, 0.0, {"a": 4.0, "b": 9.0, "c": 1.0}, feeds) == frozenset({"b"})


def test_a_dear_operator_carries_a_trifle_along():
    costs = {"a": 100.0, "b": 4.0, "c": 50.0}
    assert cut(10.0, 0.0, costs, {}) == frozenset({"a", "b", "c"})
    assert cut(10.0, 0.05, costs, {}) == frozenset({"a", "c"})


def test_front_is_what_the_source_feeds():
    assert front({"a": 1.0, "b": 1.0}, {"source": ("a", "b"), "a": (), "b": ()}) == frozenset({"a", "b"})
    assert front({"a": 1.0, "b": 1.0}, {}) == frozenset({"a"})


def walked(rate_by_rung: dict[int, float], begin: int, *, hopeless=frozenset()):
    ladder = {rung: frozenset(map(str, range(rung))) for rung in rate_by_rung}
    search, _ = piece_search.start_piece_search(
        ladder, begin, rate_by_rung[begin], 2, OURS, up_first=True, hopeless=hopeless
    )
    rungs = []
    while not search.finished:
        rungs.append(search.rung)
        search, _ = piece_search.step(search, rate_by_rung[search.rung], OURS)
    return rungs, search


def test_the_ladder_is_walked_to_its_peak():
    rates = {0: 50, 1: 60, 2: 70, 3: 80, 4: 90, 5: 95, 6: 120, 7: 110, 8: 20, 9: 10}
    rungs, search = walked(rates, piece_search.NONE)
    assert rungs == [4, 5, 6, 7]
    assert (search.best, search.rate) == (6, 120)


def test_no_queues_win_where_queues_only_cost():
    _, search = walked({n: 100 - 10 * n for n in range(10)}, piece_search.NONE)
    assert search.best == piece_search.NONE
    assert search.rate == 100


def test_a_first_rung_that_satisfies_is_taken_at_once():
    rungs, search = walked({0: 100, 4: 230}, piece_search.NONE)  # 0.6 of two more threads: 220
    assert (rungs, search.best) == ([4], 4)


def test_hopeless_rungs_are_not_tried():
    rungs, search = walked({3: 90, 4: 100, 5: 50}, 4, hopeless=frozenset({5}))
    assert rungs == [3]
    assert search.best == 4


def test_known_rungs_are_judged_without_a_trial():
    ladder = {rung: frozenset(map(str, range(rung))) for rung in (3, 4, 5, 6)}
    known = {3: 90.0, 5: 130.0}
    search, reason = piece_search.start_piece_search(
        ladder, 4, 100.0, 2, OURS, up_first=True, hopeless=frozenset(), known=known
    )
    assert (search.best, search.rung, search.rate) == (5, 6, 130.0)
    assert reason.endswith("try 4 pieces per thread")


def test_a_rung_has_more_queues_the_more_threads_there_are():
    costs = {f"op{n}": 1.0 for n in range(100)}
    assert [len(piece_search.place(2, threads, costs, {})) for threads in (1, 3, 9)] == [1, 3, 9]
    assert piece_search.place(piece_search.ALL, 1, costs, {}) == frozenset(costs)


def test_rungs_that_place_queues_alike_are_one():
    rungs = piece_search.ladder(16, {f"op{n}": 1.0 for n in range(4)}, {})
    assert list(rungs) == [piece_search.NONE, piece_search.FRONT, 2]
    assert rungs[2] == frozenset({"op0", "op1", "op2", "op3"})


def test_an_element_of_a_source_alone_has_no_queues_to_place():
    search, reason = piece_search.start_piece_search(
        piece_search.ladder(2, {}, {"source": ()}), 0, 10.0, 2, OURS, up_first=True, hopeless=frozenset()
    )
    assert search.finished
    assert reason == "no operator can have a queue"
