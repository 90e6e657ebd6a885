"""Multi-level elasticity on the plant: what it starts with, when it looks at queues, where it ends."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import pytest

from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel.policy import MultiLevel, MultiLevelState
from penstock.control.threads.multilevel.rules import OURS, PAPER, MultiLevelRules, without_optimisations
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import EXACT, Change, ElementPlant, Machine, Noise
from penstock.simulate.element_shapes import balanced, bushy, data_parallel, mixed, pipeline, skewed

NOISY = Noise(0.01, 200, 7)


@dataclass(frozen=True, slots=True)
class Run:
    state: MultiLevelState
    settings: list[ElementSetting]
    journal: list[str]
    settled_after: int | None
    plant: ElementPlant

    @property
    def setting(self) -> ElementSetting:
        return self.settings[-1]

    @property
    def throughput_tuples_s(self) -> float:
        return self.plant.throughput_tuples_s(self.setting)


def run(model: ElementModel, rules: MultiLevelRules = OURS, *, cores=16, periods=80, noise=NOISY, changes=()) -> Run:
    plant = ElementPlant(model, Machine(cores), period_s=5.0, noise=noise, changes=changes)
    policy = MultiLevel(rules)
    state, setting = policy.start(plant.observe())
    used, journal, settled_after = [setting], [], None
    for period in range(periods):
        plant.apply(setting)
        state, setting, reason = policy.decide(state, plant.observe())
        used.append(setting)
        journal.append(reason)
        if settled_after is None and policy.settled(state):
            settled_after = period + 1
    return Run(state, used, journal, settled_after, plant)


def best_simple_tuples_s(model: ElementModel, cores: int) -> float:
    plant = ElementPlant(model, Machine(cores))
    every = frozenset(model.names)
    manual = plant.throughput_tuples_s(ElementSetting(1))
    return max(manual, *(plant.throughput_tuples_s(ElementSetting(n, every)) for n in range(1, cores + 1)))


def test_it_starts_with_two_idle_threads_and_no_queues():
    assert run(pipeline(10, balanced()), periods=1).settings[0] == ElementSetting(2, frozenset())


@pytest.mark.parametrize("rules", [OURS, PAPER])
def test_the_journal_names_phase_trial_and_reason(rules):
    journal = run(pipeline(100, balanced(10_000)), rules).journal
    assert journal[0].startswith("queues up: no queues to begin with; try ")
    assert any(line.startswith("threads: ") for line in journal)
    assert any("; settled: " in line for line in journal)
    assert journal[-1] == "settled: hold"


@pytest.mark.parametrize("rules", [OURS, PAPER, without_optimisations(OURS), without_optimisations(PAPER)])
@pytest.mark.parametrize("shape", [pipeline(50, skewed(3)), data_parallel(20, balanced()), bushy(skewed(5))])
def test_a_steady_load_stops_producing_changes(rules, shape):
    found = run(shape, rules, periods=200)
    assert found.settled_after is not None
    assert set(found.settings[found.settled_after :]) == {found.setting}


@pytest.mark.parametrize("block_tuples", [1, 64, 8192])
@pytest.mark.parametrize("cores", [16, 88])
@pytest.mark.parametrize("costs", [balanced(), skewed(11)])
def test_it_is_never_far_below_the_better_of_no_queues_and_all_queues(block_tuples, cores, costs):
    shapes = (pipeline(100, costs, block_tuples=block_tuples), data_parallel(50, costs, block_tuples=block_tuples),
              mixed(10, 20, costs, block_tuples=block_tuples), bushy(costs, block_tuples=block_tuples))  # fmt: skip
    for model in shapes:
        found = run(model, cores=cores)
        assert found.throughput_tuples_s >= 0.95 * best_simple_tuples_s(model, cores), model.name


def test_a_satisfying_thread_count_keeps_its_queues():
    journal = run(pipeline(100, balanced(10_000), block_tuples=64), noise=EXACT).journal
    assert "threads: 4 satisfy, queues stay; 4 threads gave" in "\n".join(journal)


def test_without_optimisations_every_thread_count_looks_at_queues():
    journal = run(pipeline(100, balanced(10_000)), without_optimisations(PAPER)).journal
    assert not any("queues stay" in line for line in journal)


def test_history_and_satisfaction_shorten_the_search_at_500_operators():
    model = pipeline(500, skewed(1), block_tuples=64)
    with_both = run(model, cores=88, periods=200).settled_after
    without = run(model, without_optimisations(OURS), cores=88, periods=200).settled_after
    assert with_both is not None
    assert without is not None
    assert with_both <= 40
    assert with_both <= 0.55 * without


def test_what_was_measured_at_a_thread_count_is_not_tried_there_again():
    found = run(pipeline(500, skewed(1), block_tuples=1), cores=88, periods=60)
    tried = [(s.threads, s.queued) for s in found.settings[: found.settled_after]]
    assert len(tried) == len(set(tried))


@pytest.mark.parametrize("rules", [OURS, PAPER])
def test_a_changed_workload_is_explored_anew(rules):
    light, heavy = (pipeline(100, skewed(2, heavy=part, medium=0.05), block_tuples=64) for part in (0.1, 0.9))
    found = run(light, rules, cores=88, periods=250, changes=(Change(120, model=heavy),))
    assert any("the rate changed by -" in line for line in found.journal[115:130])
    assert found.journal[-1] == "settled: hold"
    before = found.plant.throughput_tuples_s(found.settings[110])
    assert found.throughput_tuples_s >= before
    assert len(found.setting.queued) > len(found.settings[110].queued)


def test_ours_comes_near_the_best_after_a_changed_workload():
    light, heavy = (pipeline(100, skewed(2, heavy=part, medium=0.05), block_tuples=64) for part in (0.1, 0.9))
    found = run(light, cores=88, periods=250, changes=(Change(120, model=heavy),))
    assert found.throughput_tuples_s >= 0.95 * best_simple_tuples_s(heavy, 88)


def test_decisions_are_a_function_of_state_and_observation():
    first, second = (run(mixed(5, 10, skewed(4)), PAPER) for _ in range(2))
    assert first.journal == second.journal
    assert first.settings == second.settings
    assert pickle.loads(pickle.dumps(first.state)) == first.state


def test_another_seed_picks_other_operators_of_a_group():
    queues = [run(pipeline(100, balanced()), replace(PAPER, seed=seed), noise=EXACT).setting.queued for seed in (1, 2)]
    assert queues[0] != queues[1]
