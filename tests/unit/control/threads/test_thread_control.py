"""Thread control from task to task: what is decided, remembered and handed on, with rates that are given."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.thread_control import LearnedThreads, Share, ThreadControl, learned_from_text
from penstock.measure.element_observation import ElementObservation
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.thread_setting import ElasticThreads, ThreadPolicyName
from penstock.runtime.driver.thread_memory import ThreadMemory

FRONT = frozenset({"service"})


def share(level: int, rate_tuples_s: float, *, busy_s: float = 0.25, waits: bool = True) -> Share:
    """A task's part of a period at some rate."""
    seen = ElementObservation(
        busy_s, round(rate_tuples_s * busy_s), rate_tuples_s, level, 64, {"service": 1.0}, idle_cores=1.0
    )
    return Share(seen, 100, 0.01 if waits else 0.2, 0.2 if waits else 0.01)


def run(
    request: ElasticThreads,
    cores: int,
    rate: Callable[[int], float],
    *,
    waits: bool,
    tasks: int = 400,
    learned: LearnedThreads | None = None,
) -> tuple[ThreadControl, list[int]]:
    """Task after task, each by a new worker that knows only what the one before wrote down."""
    control, levels = ThreadControl(request, cores, learned), []
    for _ in range(tasks):
        levels.append(control.level)
        control.take(share(control.level, rate(control.level), waits=waits))
        control = ThreadControl(request, cores, learned_from_text(control.learned.to_text()))
    return control, levels


def looked(request: ElasticThreads) -> ThreadControl:
    """After the look at one thread alone."""
    control = ThreadControl(request, 2)
    control.take(share(1, 1e4, busy_s=1.0, waits=False))
    return control


@pytest.mark.parametrize("policy", ["elastic", "elastic_operator"])
def test_a_waiting_element_finds_the_knee_of_its_service(policy: ThreadPolicyName) -> None:
    control, levels = run(ElasticThreads(most=32, policy=policy), 2, lambda n: 1e4 * min(n, 12), waits=True)
    assert control.learned.waits
    assert control.learned.settled
    assert 12 <= levels[-1] <= 13
    assert levels[:9] == [1] * 8 + [2]  # a period takes four of these tasks; that it waits is looked at for two


@pytest.mark.parametrize("cores", [1, 4])
def test_a_computing_element_keeps_to_the_cores_even_if_more_seems_to_pay(cores: int) -> None:
    control, levels = run(ElasticThreads(), cores, lambda n: 1e4 * n, waits=False)
    assert not control.learned.waits
    assert max(levels) == control.level == cores
    assert control.learned.settled


def test_an_element_that_waits_no_longer_goes_back_to_the_cores() -> None:
    request = ElasticThreads(most=32)
    control, _ = run(request, 2, lambda n: 1e4 * min(n, 12), waits=True)
    for _ in range(8):
        control.take(share(control.level, 1e5, waits=False))
    assert control.level <= 2


def test_bounds_are_kept() -> None:
    control, levels = run(ElasticThreads(least=3, most=6), 2, lambda n: 1e4 / n, waits=True)
    assert min(levels[8:]) == control.level == 3  # the first two periods are for a look at one thread alone
    _, levels = run(ElasticThreads(least=3, most=6), 2, lambda n: 1e4 * n, waits=True)
    assert levels[-1] == max(levels) == 6


@pytest.mark.parametrize("policy", ["elastic", "elastic_operator"])
@pytest.mark.parametrize("least", [2, 4])
def test_levels_above_the_least_are_found(policy: ThreadPolicyName, least: int) -> None:
    control, _ = run(ElasticThreads(least, 32, policy), 2, lambda n: 1e4 * min(n, 12), waits=True)
    assert 12 <= control.level <= 13
    assert control.learned.settled


def test_levels_above_the_least_are_found_once_they_pay() -> None:
    request = ElasticThreads(least=4, most=32)
    control, _ = run(request, 2, lambda n: 1e4, waits=True)
    assert control.level == 4
    control, _ = run(request, 2, lambda n: 2e4 * min(n, 12), waits=True, learned=control.learned)
    assert 12 <= control.level <= 13


def test_what_was_learned_with_another_least_is_gone_on_from() -> None:
    control, _ = run(ElasticThreads(most=32), 2, lambda n: 1e4, waits=True)
    assert control.level == 1
    control, levels = run(ElasticThreads(4, 32), 2, lambda n: 1e4 * min(n, 12), waits=True, learned=control.learned)
    assert levels[0] == 4
    assert 12 <= control.level <= 13
    control, _ = run(ElasticThreads(2, 32), 2, lambda n: 1e4 * min(n, 3), waits=True, learned=control.learned)
    assert control.level == 3


def test_multilevel_sets_queues_too_and_keeps_them_from_task_to_task() -> None:
    control, _ = run(ElasticThreads(most=8, policy="multilevel", period_s=1.0), 2, lambda n: 1e4 * n, waits=True)
    assert control.learned.settled
    assert control.in_force(FRONT) == control.learned.setting
    assert control.learned.reason.startswith("settled")


def test_sensitivity_says_how_much_more_threads_must_gain_for_the_search_to_go_on() -> None:
    def tried(sensitivity: float | None) -> list[int]:
        request = ElasticThreads(most=32, policy="multilevel", period_s=1.0, sensitivity=sensitivity)
        return run(request, 2, lambda n: 1e4 * n**0.3, waits=True)[1]  # twice the threads gain 23 %

    assert max(tried(0.5)) < max(tried(None)) == max(tried(0.05))


@pytest.mark.parametrize("as_printed", [False, True])
def test_the_settings_of_multilevel_reach_its_rules(as_printed: bool) -> None:
    request = ElasticThreads(policy="multilevel", sensitivity=0.2, satisfaction=None, as_printed=as_printed)
    rules = ThreadControl(request, 2)._policy().rules  # type: ignore[attr-defined]
    assert (rules.sensitivity, rules.satisfaction) == (0.2, None)
    assert (rules.placement, rules.levels.least_gain) == (("groups", 0.05) if as_printed else ("pieces", 0.2))
    assert ThreadControl(replace(request, sensitivity=None), 2)._policy().rules.sensitivity == 0.05  # type: ignore[attr-defined]


def test_one_thread_is_the_feeding_one_and_more_have_queues_in_front() -> None:
    control = ThreadControl(ElasticThreads(), 2)
    assert control.in_force(FRONT) == ElementSetting(0)
    assert looked(ElasticThreads(least=4)).in_force(FRONT) == ElementSetting(4, FRONT)


def test_a_period_has_steps_for_all_threads_however_slow_they_are() -> None:
    control = looked(ElasticThreads(least=8))
    assert not control.is_over(5.0, 15)
    assert control.is_over(5.0, 16)
    assert not control.is_over(0.5, 1_000)


def test_what_another_version_or_policy_learned_is_left_alone() -> None:
    strange = base64.b85encode(pickle.dumps((0, "old"))).decode()
    assert learned_from_text(strange) is None
    assert learned_from_text("no pickle at all") is None
    control, _ = run(ElasticThreads(most=32), 2, lambda n: 1e4 * n, waits=True)
    other = ThreadControl(ElasticThreads(most=32, policy="multilevel", period_s=1.0), 2, control.learned)
    assert other.level == 1
    assert other.learned.state is None


def test_new_replicas_start_from_what_a_settled_one_has_found_and_old_ones_from_their_own() -> None:
    settled, _ = run(ElasticThreads(most=16), 2, lambda n: 1e4 * n, waits=True)
    young = ThreadControl(ElasticThreads(most=16), 2)
    for _ in range(5):
        young.take(share(young.level, 1e4))
    configuration = Configuration(
        (ElementConfiguration("a", 3, threads=ElasticThreads()), ElementConfiguration("b", 2))
    )
    learned = ThreadMemory()
    learned.take([("a", 0, young.learned.to_text()), ("a", 1, settled.learned.to_text())])
    plan = learned.for_plan(configuration, {})
    assert set(plan) == {"a"}
    assert plan["a"][0] == young.learned.to_text()
    new = learned_from_text(plan["a"][2])
    assert new is not None
    assert (new.setting.threads, new.settled, new.busy_s) == (16, True, 0.0)
    again = ThreadMemory().for_plan(configuration, plan)  # a new driver, with the plan before
    assert again == plan
