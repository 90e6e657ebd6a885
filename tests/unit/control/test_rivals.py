"""Rules of the rivals, one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Hold
from penstock.control.rivals.ds2 import Ds2, optimal_parallelism
from penstock.control.rivals.flink_autoscaler import FlinkAutoscaler
from penstock.control.rivals.kubernetes_hpa import KubernetesHpa
from penstock.control.rivals.spark_batch_ratio import SparkBatchRatio
from penstock.control.rivals.spark_dynamic_allocation import SparkDynamicAllocation
from penstock.control.rivals.spl import Spl, congestion_index
from penstock.control.rivals.static import Static
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.rules.replica_bounds import Bounds, sped_up
from penstock.control.setting import Setting


def step(
    number: int = 1, replicas: int = 4, rate: float = 1000.0, service_s: float = 0.003, **other: object
) -> ControlStep:
    busy_s = rate * service_s
    seen = ControlStep(
        step=number, ended_at_s=float(number), period_s=1.0, setting=Setting(replicas), arrived_tuples=rate,
        served_tuples=min(rate, replicas / service_s), backlog_tuples=0.0, micro_batch_s=0.3,
        busy_ratio=min(busy_s / replicas, 1.0), service_s=service_s,
        elements=(ElementLoad("window", replicas, rate, rate, busy_s),),
    )  # fmt: skip
    return replace(seen, **other)  # type: ignore[arg-type]


def wanted(decision: object) -> int | None:
    return decision.setting.replicas if isinstance(decision, Change) else None


def test_static_goes_to_its_number_and_stays() -> None:
    assert wanted(Static(8).decide(None, step())[1]) == 8
    assert isinstance(Static(8).decide(None, step(replicas=8))[1], Hold)


@pytest.mark.parametrize(("service_s", "expected"), [(0.0038, 5), (0.003, 3), (0.0034, None)])
def test_thresholds_go_one_up_or_down(service_s: float, expected: int | None) -> None:
    assert wanted(Thresholds(0.9, 0.8).decide(None, step(service_s=service_s))[1]) == expected


def test_thresholds_hold_within_their_range() -> None:
    assert isinstance(Thresholds(bounds=Bounds(4, 4)).decide(None, step(service_s=0.01))[1], Hold)


def test_ds2_goes_through_the_graph_with_selectivities() -> None:
    loads = [
        ElementLoad("source", 1, 1000, 500, 1.0),  # 1,000/s a replica, half of it goes on
        ElementLoad("window", 2, 500, 50, 2.0, ("source",)),  # 250/s a replica
        ElementLoad("sink", 1, 50, 50, 0.01, ("window",)),
    ]
    assert optimal_parallelism(loads, 4000) == {"source": 4, "window": 8, "sink": 1}


def test_ds2_keeps_an_element_that_did_nothing() -> None:
    assert optimal_parallelism([ElementLoad("idle", 3, 0, 0, 0.0)], 100) == {"idle": 3}


def test_ds2_decides_once_per_interval_and_warms_up_after_a_change() -> None:
    policy = Ds2(interval_s=3, warm_up_s=5)
    state, decisions = policy.start(), []
    for number in range(1, 13):
        state, decision = policy.decide(state, step(number, replicas=2))
        decisions.append(wanted(decision))
    assert decisions == [None, None, 3, *[None] * 7, 3, None], "what is measured in five seconds does not count"


def test_ds2_gathers_anew_when_a_change_of_fusion_makes_other_elements() -> None:
    def fused(number: int, *names: str) -> ControlStep:
        return step(number, elements=tuple(ElementLoad(name, 4, 1000, 1000, 3.0) for name in names))

    policy = Ds2(interval_s=3, warm_up_s=0)
    steps = [fused(1, "a", "b"), fused(2, "a", "b", "c"), *(fused(n, "c", "a") for n in range(3, 6))]
    state, decisions = policy.start(), []
    for seen in steps:
        state, decision = policy.decide(state, seen)
        decisions.append(decision.because)
    assert decisions[:4] == ["gathering"] * 4
    assert decisions[4].startswith("true rates ask for 3")


def spl(steps: list[ControlStep], **other: object) -> list[int | None]:
    policy = replace(Spl(adaptation_s=1), **other)  # type: ignore[arg-type]
    state, decisions = policy.start(), []
    for seen in steps:
        state, decision = policy.decide(state, seen)
        decisions.append(wanted(decision))
    return decisions


def test_spl_goes_back_where_more_replicas_brought_nothing() -> None:
    congested, no_faster = step(1, 2, service_s=0.004), step(2, 3, service_s=0.006)  # 500 of 1,000 each
    assert spl([congested, no_faster]) == [3, 2]
    assert spl([congested, step(2, 3, service_s=0.005)]) == [3, 4]  # 600: it helped


def test_spl_takes_a_throughput_that_moves_against_the_level_for_another_load() -> None:
    congested, slower = step(1, 2, service_s=0.004), step(2, 3, service_s=0.0062)  # 500 and 484 of 1,000
    assert spl([congested, slower]) == [3, 4]  # less at 3 than at 2: less load, so that 2's congestion is forgotten


def test_spl_goes_down_until_the_level_below_is_known_to_be_congested() -> None:
    steps = [step(1, 4, service_s=0.003), step(2, 3, service_s=0.0045), step(3, 4, service_s=0.003)]
    assert spl(steps) == [3, 4, None]


def test_spl_forgets_congestion_below_when_a_replicas_share_of_the_load_is_gone() -> None:
    start = [step(1, 4, 1000.0), step(2, 3, 1300.0), step(3, 4, 1300.0)]  # 3 are too few, 4 are not
    assert spl([*start, step(4, 4, 1020.0)]) == [3, 4, None, None]  # 280 of 1,300 less: not yet 0.9 / 4 of it
    assert spl([*start, step(4, 4, 1000.0)]) == [3, 4, None, 3]


def test_spl_looks_at_whole_adaptation_periods() -> None:
    calm, congested = step(1, 2, 400.0, 0.004), [step(n, 2, service_s=0.004) for n in (2, 3, 4, 5)]
    assert spl([calm, *congested], adaptation_s=4) == [1, None, None, None, 3]
    mostly_calm = [step(n, 2, 400.0, 0.004) for n in (2, 3, 4)]
    assert spl([calm, *mostly_calm, step(5, 2, 550.0, 0.004)], adaptation_s=4)[-1] == 1


def test_spl_levels_grow_by_the_root_of_two_when_rapid() -> None:
    assert Spl(rapid=True).replicas_by_level() == (1, 2, 3, 4, 6, 8, 11, 12)
    assert spl([step(1, 4, service_s=0.006)], rapid=True) == [6]
    assert spl([step(1, 12, service_s=0.1)], rapid=True) == [None]


def test_congestion_index_counts_what_a_micro_batch_does_not_collect() -> None:
    assert congestion_index(step(backlog_tuples=300.0)) == 0.0
    assert congestion_index(step(backlog_tuples=800.0)) == pytest.approx(0.5)
    assert congestion_index(step(service_s=0.008)) == pytest.approx(0.5)


FLINK = FlinkAutoscaler(window_s=3, stabilisation_s=4, scale_down_delay_s=5, restart_s=0, catch_up_s=100)


def flink(steps: list[ControlStep]) -> list[int | None]:
    state, decisions = FLINK.start(), []
    for seen in steps:
        state, decision = FLINK.decide(state, seen)
        decisions.append(wanted(decision))
    return decisions


def test_flink_leaves_the_band_alone() -> None:
    assert flink([step(n, 4, 1000, 0.0028) for n in range(1, 10)]) == [None] * 9


def test_flink_scales_up_to_its_target_once_the_window_is_full_then_stabilises() -> None:
    decisions = flink([step(n, 2, 1000, 0.0028) for n in range(1, 9)])
    assert decisions[:2] == [None, 4]  # 2.8 replicas' work at 0.7
    assert decisions[2:6] == [None] * 4


def test_flink_delays_its_way_down() -> None:
    decisions = flink([step(n, 12, 1000, 0.0028) for n in range(1, 9)])
    assert decisions[:6] == [None] * 6
    assert decisions[6] == 5  # at most 60 % down at once


def test_hpa_multiplies_replicas_by_the_ratio() -> None:
    assert wanted(KubernetesHpa().decide(KubernetesHpa().start(), step(1, 3, 1000, 0.0028))[1]) == 4
    assert isinstance(KubernetesHpa().decide(KubernetesHpa().start(), step(1, 4, 1000, 0.0029))[1], Hold)


def test_hpa_adds_at_most_twice_or_four_in_a_period() -> None:
    policy = KubernetesHpa(target=0.1)
    assert wanted(policy.decide(policy.start(), step(1, 1, 1000, 0.001))[1]) == 5
    assert wanted(policy.decide(policy.start(), step(1, 6, 6000, 0.001))[1]) == 12


def test_hpa_does_not_go_down_at_its_first_look() -> None:
    policy = KubernetesHpa(sync_s=1, stabilisation_s=3)
    assert isinstance(policy.decide(policy.start(), step(1, 8, 700.0, 0.001))[1], Hold)


def test_spark_allocation_asks_for_one_again_where_it_got_none() -> None:
    policy = SparkDynamicAllocation(12, bounds=Bounds(1, 4))
    state = policy.start()
    for number in range(1, 200):
        state, _ = policy.decide(state, step(number, 4, micro_batch_s=2.0))
    assert state.next_step == 1


def test_hpa_goes_down_to_the_highest_of_its_recommendations() -> None:
    policy = KubernetesHpa(sync_s=1, stabilisation_s=3)
    state, decisions = policy.start(), []
    for number, rate in enumerate((2800.0, 1000.0, 700.0, 700.0, 700.0), 1):
        state, decision = policy.decide(state, step(number, 4, rate, 0.001))
        decisions.append(wanted(decision))
    assert decisions == [None, None, None, 2, 1]


def test_spark_allocation_doubles_its_steps_while_tasks_wait() -> None:
    policy = SparkDynamicAllocation(12)
    state, replicas, seen = policy.start(), 1, []
    for number in range(1, 5):
        state, decision = policy.decide(state, step(number, replicas, micro_batch_s=2.0))
        replicas = wanted(decision) or replicas
        seen.append(replicas)
    assert seen == [2, 4, 8, 12]


def test_spark_allocation_gives_back_only_when_idle_for_long() -> None:
    policy = SparkDynamicAllocation(12, idle_s=3)
    state, decisions = policy.start(), []
    for number in range(1, 5):
        state, decision = policy.decide(state, step(number, 8, 0.0, served_tuples=0.0))
        decisions.append(wanted(decision))
    assert decisions == [None, None, 1, 1]
    busy = [policy.decide(policy.start(), step(number, 8, 10.0))[1] for number in range(100)]
    assert all(isinstance(decision, Hold) for decision in busy)


def test_spark_batch_ratio_adds_the_ratio_and_takes_one() -> None:
    policy = SparkBatchRatio(scaling_s=1)
    assert wanted(policy.decide(policy.start(), step(1, 2, 1000, 0.005))[1]) == 4
    assert wanted(policy.decide(policy.start(), step(1, 6, 1000, 0.001))[1]) == 5
    assert isinstance(policy.decide(policy.start(), step(1, 4, 1000, 0.002))[1], Hold)


def test_spark_batch_ratio_looks_for_the_first_time_after_a_whole_interval_whatever_the_clock_says() -> None:
    policy, epoch_s = SparkBatchRatio(scaling_s=3), 1.7e9
    state, decisions = policy.start(), []
    for number in range(1, 4):
        state, decision = policy.decide(state, step(number, 2, 1000, 0.005, ended_at_s=epoch_s + number))
        decisions.append(wanted(decision))
    assert decisions == [None, None, 4]


def test_time_constants_follow_a_speed_up() -> None:
    fast = sped_up(FlinkAutoscaler(), 100)
    assert (fast.window_s, fast.stabilisation_s, fast.scale_down_delay_s) == (9, 3, 36)
    assert fast.target == FlinkAutoscaler().target
