"""The loop, its guard, routes and goals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.goals.goal import Goal, Price, derived_weights, latency, throughput
from penstock.control.goals.goal_check import breaks, breaks_p95_apart
from penstock.control.journal.recorded_decision import recorded
from penstock.control.loop.loop import Loop, Record
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.routes.hot_keys import advice, heaviest_slot, slots_to_split
from penstock.control.routes.routing import Routing
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.within_limits import WithinLimits
from penstock.control.setting import Grid, Setting, amplitude
from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.simulate.micro_batch.plant import BatchPlant
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant


def step(number: int, replicas: int = 4, **other: object) -> ControlStep:
    seen = ControlStep(
        step=number, ended_at_s=float(number), period_s=1.0, setting=Setting(replicas), arrived_tuples=1000.0,
        served_tuples=1000.0, backlog_tuples=0.0, busy_ratio=0.5, service_s=0.002,
    )  # fmt: skip
    return replace(seen, **other)  # type: ignore[arg-type]


def to(replicas: int) -> Change:
    return Change(Setting(replicas), "asked for")


@dataclass(frozen=True, slots=True)
class Script:
    """Wants so many replicas after each step."""

    wanted: tuple[int, ...]
    name: str = "script"

    def start(self) -> int:
        return 0

    def decide(self, state: int, seen: ControlStep) -> tuple[int, Decision]:
        replicas = self.wanted[min(state, len(self.wanted) - 1)]
        same = replicas == seen.setting.replicas
        return state + 1, Hold("as it is") if same else Change(replace(seen.setting, replicas=replicas), "scripted")


def plant() -> BatchPlant:
    arrivals = counted_arrivals(np.arange(31.0), np.full(30, 2000, np.int64))
    return shape_plant(PlantShape(noise=0.0), arrivals, Setting(4, None, 50_000), end_s=30.0)


def test_changes_are_applied_and_recorded_with_what_they_move() -> None:
    records: list[Record] = []
    list(Loop(Script((6, 6, 3)), throughput(), record=records.append).run(plant()))
    assert [r.seen.setting.replicas for r in records[:4]] == [4, 6, 6, 3]
    assert records[0].requested == Setting(6, None, 50_000)
    assert records[0].moved_slots > 0
    assert records[1].requested is None


def test_passive_mode_says_what_it_would_do_and_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        records = list(Loop(Script((6,)), throughput(), passive=True).run(plant()))
    assert {r.seen.setting.replicas for r in records} == {4}
    assert all(isinstance(r.wanted, Change) for r in records)
    assert "would go 4 replicas, cap 50000 -> 6 replicas, cap 50000; scripted" in caplog.text


def test_every_decision_keeps_to_the_limits_whatever_the_policy() -> None:
    for policy, bounds, last in (
        (Script((1,)), Bounds(3, 8), 3),
        (Script((20,)), Bounds(3, 8), 8),
        (Thresholds(), Bounds(3, 8), 3),  # whose own bounds are 1 to 12
    ):
        records = list(Loop(policy, throughput(), application_rules(bounds=bounds)).run(plant()))
        assert all(3 <= r.requested.replicas <= 8 for r in records if r.requested is not None)
        assert records[-1].seen.setting.replicas == last


def test_what_is_outside_the_limits_is_not_held_on_to() -> None:
    for bounds, last in ((Bounds(6, 8), 6), (Bounds(1, 2), 2)):
        records = list(Loop(Script((4,)), throughput(), application_rules(bounds=bounds)).run(plant()))
        assert records[-1].seen.setting.replicas == last
        assert isinstance(records[0].wanted, Hold)
        assert "4 replicas are outside the limits" in records[0].decided.because


def test_a_change_within_the_limits_that_is_on_its_way_is_left_alone() -> None:
    limits, hold = WithinLimits(Bounds(3, 8)), Hold("enough")
    assert limits(step(1, 2, requested=Setting(3)), hold) == hold
    assert limits(step(1, 2, requested=Setting(3)), to(8)) == to(8)
    late = limits(step(1, setting=Setting(9, 1.2, 100), requested=Setting(9, 1.5, 400)), hold)
    assert isinstance(late, Change)
    assert late.setting == Setting(8, 1.5, 400)


def check(guard: Guard, steps: list[tuple[ControlStep, Decision]], goal_broken: bool = False) -> list[Decision]:
    decisions = []
    for own, decision in steps:
        seen = replace(own, goal_broken=goal_broken)
        decisions.append(guard(seen, decision))
        guard = guard.after(seen, decision)
    return decisions


def test_the_guard_stops_going_down_after_so_many_reversals() -> None:
    moves = [(step(1, 4), to(6)), (step(2, 6), to(4)), (step(3, 4), to(6)), (step(5, 6), to(4))]
    decisions = check(Guard(reversals=2), moves)
    assert isinstance(decisions[2], Change)
    assert isinstance(decisions[3], Hold)
    assert "too often; not down before step 13" in decisions[3].because


def test_the_guard_waits_for_a_level_below_but_not_for_ever() -> None:
    moves = [(step(n, 4, settled_below=False), to(5)) for n in range(1, 8)]
    kinds = [type(d) for d in check(Guard(patience_steps=3), moves)]
    assert kinds == [Hold, Hold, Hold, Change, Change, Change, Change]
    assert isinstance(check(Guard(), moves[:1], goal_broken=True)[0], Change)


def test_the_guards_patience_begins_with_the_first_step_whatever_its_number() -> None:
    moves = [(step(n, 4, settled_below=False), to(5)) for n in range(5)]
    assert [type(d) for d in check(Guard(patience_steps=3), moves)] == [Hold, Hold, Hold, Change, Change]


def test_the_guard_does_not_answer_its_own_backlog_with_more_replicas() -> None:
    moves = [
        (step(1, 4, backlog_tuples=0.0), to(5)),
        (step(2, 5, backlog_tuples=900.0, reconfigured=True), to(7)),
        (step(3, 5, backlog_tuples=400.0), to(7)),
        (step(9, 5, backlog_tuples=900.0), to(7)),
    ]
    decisions = check(Guard(), moves)
    assert [type(d) for d in decisions] == [Change, Hold, Hold, Change]
    assert "from the last change and falls by itself" in decisions[1].because


def test_the_guard_lets_a_backlog_be_answered_that_goes_on_breaking_the_goal() -> None:
    moves = [
        (step(1, 4, backlog_tuples=0.0), to(5)),
        (step(2, 5, backlog_tuples=900.0, reconfigured=True), to(7)),
        (step(3, 5, backlog_tuples=850.0), to(7)),
    ]
    assert [type(d) for d in check(Guard(), moves, goal_broken=True)] == [Change, Hold, Change]


def test_the_guard_does_not_press_on_a_full_service() -> None:
    full = {"waiting_ratio": 0.7, "service_s": 0.009, "backlog_tuples": 5000.0}
    moves = [(step(1, 4, **full), to(8)), (step(3, 8, **full), to(12))]
    refused = check(Guard(), moves)[1]
    assert isinstance(refused, Hold)
    assert "what the element waits for is the bottleneck" in refused.because


def configuration(replicas: int, slots: int = 16) -> Configuration:
    return Configuration(
        (ElementConfiguration("intake", 1), ElementConfiguration("window", replicas, even_route(replicas, slots)))
    )


def test_routing_balances_by_load_when_replicas_change() -> None:
    load = (8.0,) + (1.0,) * 15
    routed = Routing().configured(configuration(1), Setting(2), step(1, 1, load_by_slot=load))
    totals = np.bincount(routed.configuration.element("window").route, load)
    assert totals.max() / totals.mean() < 1.1
    assert routed.moved_slots == 16 - list(routed.configuration.element("window").route).count(0)
    assert routed.configuration.element("intake").replicas == 1
    scaled = Routing(scalable=("intake",)).configured(configuration(1), Setting(2), step(1, 1, load_by_slot=load))
    assert scaled.configuration.element("intake").replicas == 2


def test_routing_leaves_a_route_alone_until_loads_have_drifted() -> None:
    before = configuration(2)
    near = (1.05,) * 8 + (1.0,) * 8
    assert Routing().configured(before, Setting(2), step(1, 2, load_by_slot=near)).moved_slots == 0
    apart = (2.0,) * 8 + (1.0,) * 8
    assert Routing().configured(before, Setting(2), step(1, 2, load_by_slot=apart)).moved_slots > 0


def test_routing_does_not_chase_a_hot_slot() -> None:
    hot = (100.0,) + (1.0,) * 15
    balanced = Routing().configured(configuration(2), Setting(2), step(1, 2, load_by_slot=hot)).configuration
    again = Routing().configured(balanced, Setting(2), step(2, 2, load_by_slot=hot))
    assert again.moved_slots == 0


def test_a_hot_slot_is_split_where_its_element_can_be_and_the_replicas_are_needed() -> None:
    hot, routing = (100.0,) + (1.0,) * 15, Routing(splittable=("window",))
    busy = step(1, 2, load_by_slot=hot, service_s=0.002)
    assert busy.offered_ratio is not None
    assert busy.offered_ratio > 0.8
    routed = routing.configured(configuration(2), Setting(2), busy)
    assert routed.configuration.element("window").split == (0,)
    assert routed.advice == ()
    idle = step(1, 2, load_by_slot=hot, service_s=0.0001)
    assert routing.configured(configuration(2), Setting(2), idle).configuration.element("window").split == ()
    whole = Routing().configured(configuration(4), Setting(4), replace(busy, setting=Setting(4)))
    assert whole.configuration.element("window").split == ()
    assert "slot 0 has 87% of the load, so that more than 2 replicas do not help" in whole.advice[0]
    assert "its windows cannot be split" in whole.advice[0]


def test_a_split_slot_is_whole_again_when_it_has_cooled_down() -> None:
    assert slots_to_split((9.0, 1.0, 1.0, 1.0), 2, 0.9) == (0,)
    assert slots_to_split((3.0, 1.0, 1.0, 1.0), 2, 0.3, (0,)) == (0,)
    assert slots_to_split((1.0, 1.0, 1.0, 1.0), 2, 0.9, (0,)) == ()
    assert slots_to_split((9.0, 1.0, 1.0, 1.0), 1, 0.9, (0,)) == ()
    assert slots_to_split((9.0, 1.0, 1.0, 1.0), 2, None) == ()


def test_the_load_of_a_split_slot_counts_for_no_replica() -> None:
    before = configuration(2)
    own = before.element("window")
    split = before.with_element(replace(own, split=(0,)))
    routing = Routing(splittable=("window",))
    seen = step(1, 2, load_by_slot=(100.0,) + (1.0,) * 15, service_s=0.002)
    assert routing.configured(split, Setting(2), seen).moved_slots == 0
    hot = heaviest_slot(seen.load_by_slot, 1.0, (0,))
    assert hot is not None
    assert hot.slot == 1
    assert hot.highest_useful_replicas > 100


def test_the_heaviest_slot_bounds_useful_replicas() -> None:
    hot = heaviest_slot([0.1, 1.5, 0.4], 1.0)
    assert hot is not None
    assert (hot.slot, hot.highest_useful_replicas, hot.exceeds_a_replica) == (1, 2, True)
    assert "more than 2 replicas do not help; it exceeds a replica, and its windows cannot be split" in advice(
        hot, "window", splits=False
    )
    assert "two stages" in advice(hot, "window", splits=True)
    assert heaviest_slot([0.0, 0.0], 1.0) is None


def test_violations() -> None:
    behind = step(1, served_tuples=800.0, backlog_tuples=2000.0)
    assert breaks(throughput(), behind)
    assert not breaks(throughput(), replace(behind, backlog_tuples=500.0))  # under way, not behind
    assert not breaks(throughput(), replace(behind, served_tuples=1200.0))  # catching up
    assert breaks(latency(mean_ms=500), step(1, latency_mean_s=0.6))
    assert breaks(latency(p95_ms=500), step(1, latency_mean_s=0.1, latency_p95_s=0.6))
    assert breaks(latency(p95_ms=500), step(1, backlog_tuples=9.0))


def test_a_percentile_is_judged_apart_where_the_goal_bounds_the_mean_too() -> None:
    both, seen = latency(mean_ms=300, p95_ms=500), step(1, latency_mean_s=0.2, latency_p95_s=0.6)
    assert not breaks(both, seen)
    assert breaks_p95_apart(both, seen) is True
    assert breaks_p95_apart(both, replace(seen, latency_p95_s=0.4)) is False
    for one in (latency(p95_ms=500), latency(mean_ms=300), throughput()):
        assert breaks_p95_apart(one, seen) is None
    held = Record(seen, Hold("as it is"), Hold("as it is"), None)
    assert recorded(held, "mpc", both, passive=False).broken_p95 is True


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: throughput(1.5), "a share of the tuples, above 0 and at most 1; got 1.5"),
        (latency, "a latency goal needs a bound"),
        (lambda: throughput("0.9"), "above 0 and at most 1; got '0.9'"),  # type: ignore[arg-type]
        (lambda: throughput(float("nan")), "above 0 and at most 1; got nan"),
        (lambda: latency(p95_ms=-1), "p95_ms of a latency goal is a number of milliseconds above 0; got -1"),
        (lambda: latency(p95_ms="500"), "milliseconds above 0; got '500'"),  # type: ignore[arg-type]
        (lambda: latency(mean_ms=float("nan")), "mean_ms of a latency goal is a number .* above 0; got nan"),
        (lambda: latency(p95_ms=500, mean_ms=float("inf")), "mean_ms .* got inf"),
        (lambda: Grid((3, 2)), "replicas of a grid ascend"),
        (lambda: Grid((1,), (2.0, 1.0)), "the frequencies of a grid ascend"),
    ],
)
def test_wrong_goals_and_grids_are_refused(wrong: object, sentence: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_weights_follow_from_what_a_user_understands() -> None:
    calm = derived_weights(throughput(), 12, Price(), payback_s=10, period_s=1)
    eager = derived_weights(throughput(), 12, Price(), payback_s=2, period_s=1)
    assert calm.gammas[0] > eager.gammas[0]
    assert calm.alpha * 0.05 >= 12  # a violated step outweighs every replica there is
    by_power = derived_weights(Goal(), 12, Price(core_hour=0, kwh=1), 5, 1)
    assert (by_power.replicas_weight, by_power.watts_weight > 0) == (0.0, True)


def test_amplitude_counts_frequencies_by_rank() -> None:
    grid = Grid((1, 2, 3, 4), (1.2, 1.3, 1.4))
    assert amplitude(grid, Setting(1, 1.2), Setting(4, 1.4)) == pytest.approx((9 + 4) ** 0.5)
    assert [grid.index(grid.setting(u)) for u in range(len(grid))] == list(range(len(grid)))
