"""The simulated element against closed forms, and against limits counted the slow way."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.simulate.element_model import ElementModel, OperatorModel
from penstock.simulate.element_plant import Change, ElementPlant, Machine, Noise
from penstock.simulate.element_shapes import balanced, bushy, data_parallel, mixed, one_operator, pipeline, skewed
from penstock.simulate.element_throughput import MachineCosts

FREE = MachineCosts(call_s=0, push_s=0, pop_s=0, scan_s=0, lock_s=0, contention=0, handoff=0, switching=0)
CLOSE = pytest.approx


def rate(model: ElementModel, threads: int, queued=(), *, cores: int = 64, costs: MachineCosts = FREE, **more) -> float:
    plant = ElementPlant(model, Machine(cores, costs), max_level=1000, **more)
    return plant.throughput_tuples_s(ElementSetting(threads, frozenset(queued)))


def test_without_queues_one_thread_does_all():
    model = pipeline(10, lambda n: range(100, 100 + n))
    assert rate(model, 5) == CLOSE(1e9 / sum(range(100, 110)))
    assert rate(model, 1) == rate(model, 50)


def test_calls_and_blocks_add_up():
    model = pipeline(4, balanced(100), block_tuples=64)
    costs = MachineCosts(call_s=1e-6)
    assert rate(model, 1, costs=costs) == CLOSE(64 / (4 * 64 * 100e-9 + 5 * 1e-6))


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_one_stateless_operator_scales_with_threads_up_to_the_cores(threads):
    model = one_operator(1000)
    assert rate(model, threads, ["work"]) == CLOSE(threads * 1e6)
    assert rate(model, 100, ["work"], cores=16) == CLOSE(16e6)


def test_waiting_threads_need_no_cores():
    model = one_operator(0, wait_s=0.005)
    assert rate(model, 64, ["work"], cores=2) == CLOSE(64 / 0.005)


def test_the_dearest_operator_is_the_bottleneck_of_an_ordered_pipeline():
    model = pipeline(5, lambda n: [100, 200, 700, 100, 100])
    assert rate(model, 60, model.names) == CLOSE(1e9 / 700)


def test_an_unordered_pipeline_has_no_bottleneck_but_its_threads():
    model = pipeline(5, lambda n: [100, 200, 700, 100, 100], ordered=False)
    assert rate(model, 6, model.names) == CLOSE(6e9 / 1200)


def test_pieces_share_the_scheduler_threads():
    model = pipeline(4, balanced(100))
    assert rate(model, 2, ["op2"]) == CLOSE(1e9 / 200)  # half by the source, half behind the queue
    assert rate(model, 1, ["op1", "op2", "op3"]) == CLOSE(1e9 / 300)


def test_a_lock_lets_one_thread_in_and_handing_it_over_costs():
    costs = MachineCosts(call_s=0, push_s=0, pop_s=0, scan_s=0, lock_s=1e-6, contention=0, handoff=0.5, switching=0)
    model = data_parallel(10, balanced(0))
    workers = [name for name in model.names if name != "sink"]
    lock_s = 1e-9 + 1e-6 * (1 + 0.5 * 4)  # four scheduler threads and the source's
    assert rate(model, 4, workers, costs=costs) == CLOSE(1 / (1e-9 + 1e-6 * (1 + 0.5 * 3)), rel=0.01)
    assert rate(model, 4, workers[:-1], costs=costs) == CLOSE(1 / lock_s, rel=0.01)


def test_taken_cores_are_shared_fairly():
    model = one_operator(1000)
    quiet = rate(model, 16, ["work"], cores=16)
    loaded = rate(model, 16, ["work"], cores=16, changes=(Change(0, taken_cores=16),))
    assert loaded == CLOSE(quiet / 2)


def test_more_threads_than_cores_lose_by_switching():
    costs = MachineCosts(call_s=0, push_s=0, pop_s=0, scan_s=0, lock_s=0, contention=0, handoff=0, switching=0.5)
    model = one_operator(1000)
    assert rate(model, 32, ["work"], cores=16, costs=costs) == CLOSE(16e6 / 1.5)


def test_changes_take_effect_at_their_period():
    heavy = one_operator(2000)
    plant = ElementPlant(one_operator(1000), Machine(4, FREE), changes=(Change(2, model=heavy),))
    plant.apply(ElementSetting(1, frozenset({"work"})))
    assert [plant.observe().throughput_tuples_s for _ in range(4)] == CLOSE([1e6, 1e6, 0.5e6, 0.5e6])


def test_the_same_seed_gives_the_same_observations():
    def seen(seed):
        plant = ElementPlant(bushy(skewed(1)), Machine(16), noise=Noise(0.02, 100, seed))
        return [plant.observe() for _ in range(5)]

    assert seen(3) == seen(3)
    assert seen(3) != seen(4)


def test_noise_is_as_large_as_asked_for():
    plant = ElementPlant(one_operator(1000), Machine(4), noise=Noise(0.02, 0, 5))
    rates = [plant.observe().throughput_tuples_s for _ in range(2000)]
    mean = sum(rates) / len(rates)
    spread = (sum((r - mean) ** 2 for r in rates) / len(rates)) ** 0.5 / mean
    assert spread == CLOSE(0.02, rel=0.1)


def test_sampled_costs_follow_the_time_spent():
    model = pipeline(3, lambda n: [10_000, 100, 1])
    plant = ElementPlant(model, Machine(4, FREE), noise=Noise(0, 100_000, 1))
    costs = plant.observe().operator_costs
    assert costs["op0"] / costs["op1"] == CLOSE(100, rel=0.1)


def test_a_graph_of_82_operators_visits_each_level_once():
    arrays = bushy(balanced()).arrays
    assert len(arrays.visits) == 82
    assert arrays.visits.sum() == CLOSE(10)  # source, eight levels, sink


def test_settings_and_graphs_that_cannot_be_are_refused():
    plant = ElementPlant(one_operator(1), Machine(4))
    with pytest.raises(InputError, match=r"^an element has 1 to 4 threads; got 5$"):
        plant.apply(ElementSetting(5))
    with pytest.raises(InputError, match=r"^only operators after the source can have a queue; got 'source'$"):
        plant.throughput_tuples_s(ElementSetting(1, frozenset({"source"})))
    backwards = (OperatorModel("a", 0), OperatorModel("b", 0, (("a", 1.0),)))
    with pytest.raises(InputError, match=r"an operator feeds only operators listed after it; 'b' feeds 'a'$"):
        ElementModel("loop", backwards)


def slow_rate(model: ElementModel, threads: int, queued: frozenset[str], costs: MachineCosts) -> float:
    """Follows every path of a block from every root on, and takes the lowest limit; no lock is held, cores abound."""
    by_name = {operator.name: operator for operator in model.operators}
    takers = min(threads, len(queued))
    dearer = 1 + costs.contention * max(0, takers - 1)

    def visits(name: str) -> float:
        if name == model.operators[0].name:
            return 1.0
        feeding = (o for o in model.operators for to, _ in o.outputs if to == name)
        return sum(visits(o.name) * dict(o.outputs)[name] for o in set(feeding))

    def spent(name: str) -> float:
        operator = by_name[name]
        total = operator.cpu_s * model.block_tuples + costs.call_s
        for to, share in operator.outputs:
            total += share * (costs.push_s * dearer if to in queued else spent(to))
        return total

    source_s = spent(model.operators[0].name)
    pop_s = costs.pop_s * dearer + costs.scan_s * len(queued)
    behind = [visits(name) * (spent(name) + pop_s) for name in queued]
    limits = [1 / source_s, *(1 / s for s in behind)]
    if behind:
        limits.append(threads / sum(behind))
    return min(limits) * model.block_tuples


@given(data=st.data(), threads=st.integers(1, 12), block=st.sampled_from([1, 64]))
@settings(max_examples=60, deadline=None)
def test_any_placement_equals_limits_counted_along_every_path(data, threads, block):
    shape = data.draw(
        st.sampled_from([pipeline(6, skewed(2)), mixed(2, 3, skewed(4)), data_parallel(5, balanced(300))])
    )
    operators = tuple(OperatorModel(o.name, o.cpu_s, o.outputs) for o in shape.operators)  # the slow way knows no locks
    model = ElementModel(shape.name, operators, block)
    queued = frozenset(data.draw(st.lists(st.sampled_from(model.names), unique=True)))
    costs = MachineCosts(lock_s=0.0, handoff=0.0)
    assert rate(model, threads, queued, cores=10_000, costs=costs) == CLOSE(slow_rate(model, threads, queued, costs))


def test_more_queues_and_threads_than_any_one_setting_are_all_finite_and_positive():
    model = mixed(2, 3, balanced())
    for size in range(len(model.names) + 1):
        for queued in itertools.combinations(model.names, size):
            assert 0 < rate(model, 2, queued, cores=4, costs=MachineCosts()) < 1e9
