"""The port of an element's level: the plant and the real element keep the same contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from benchmarks.threads.measured.real_element import RealElement
from penstock.control.threads.elastic_operator import ElasticOperator
from penstock.control.threads.element_loop import run_periods
from penstock.control.threads.element_port import ElementPort
from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import ElementPlant, Machine
from penstock.simulate.element_shapes import balanced, data_parallel, one_operator, pipeline

MakePort = Callable[[ElementModel], ElementPort]
MOST = 16


@pytest.fixture(params=["plant", "real"])
def make_port(request: pytest.FixtureRequest) -> Iterator[MakePort]:
    opened: list[RealElement] = []

    def make(model: ElementModel) -> ElementPort:
        if request.param == "plant":
            return ElementPlant(model, Machine(8), max_level=MOST, period_s=0.1)
        opened.append(RealElement(model, max_level=MOST, period_s=0.1))
        return opened[-1]

    yield make
    for element in opened:
        element.close()


@pytest.mark.parametrize("model", [pipeline(5, balanced()), data_parallel(4, balanced())], ids=lambda m: m.name)
def test_an_observation_is_of_the_setting_in_force(make_port: MakePort, model: ElementModel) -> None:
    port = make_port(model)
    first = port.observe()
    assert (first.level, first.queued, first.max_level) == (1, frozenset(), MOST)
    for setting in (ElementSetting(3, frozenset(model.names)), ElementSetting(2, frozenset(model.names[:1]))):
        port.apply(setting)
        seen = next((seen for seen in (port.observe() for _ in range(100)) if seen.tuples), port.observe())
        assert (seen.level, seen.queued) == (setting.threads, setting.queued)
        assert seen.throughput_tuples_s > 0
        assert seen.tuples > 0
        assert seen.period_s > 0


def test_every_operator_but_the_source_has_a_cost_and_the_graph_is_told(make_port: MakePort) -> None:
    model = data_parallel(4, balanced())
    seen = make_port(model).observe()
    assert tuple(seen.operator_costs) == model.names
    assert all(cost >= 0 for cost in seen.operator_costs.values())
    assert seen.feeds == model.feeds


def try_out(port: ElementPort, setting: ElementSetting) -> None:
    port.apply(setting)
    port.observe()


def test_settings_that_do_not_fit_are_told(make_port: MakePort) -> None:
    port = make_port(pipeline(3, balanced()))
    for setting in (ElementSetting(MOST + 1), ElementSetting(-1)):
        with pytest.raises(InputError):
            port.apply(setting)
    with pytest.raises(InputError):
        try_out(port, ElementSetting(1, frozenset({"source"})))


def test_threads_speed_up_what_waits(make_port: MakePort) -> None:
    port = make_port(one_operator(1, block_tuples=8, wait_s=0.01))
    rates = []
    for threads in (1, 8):
        port.apply(ElementSetting(threads, frozenset({"work"})))
        port.observe()
        rates.append(port.observe().throughput_tuples_s)
    assert rates[1] > 3 * rates[0]


def test_the_elastic_operator_climbs_where_threads_pay(make_port: MakePort) -> None:
    port = make_port(one_operator(1, block_tuples=8, wait_s=0.02))
    port.apply(ElementSetting(1, frozenset({"work"})))
    steps = list(run_periods(port, ElasticOperator(), 12))
    assert max(step.setting.threads for step in steps) >= 4
    assert max(step.observation.throughput_tuples_s for step in steps) > 2 * steps[0].observation.throughput_tuples_s
