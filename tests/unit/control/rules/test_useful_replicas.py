"""How many replicas can help, and what the loop makes of it."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Hold
from penstock.control.routes.routing import Routing, narrowed
from penstock.control.rules.useful_replicas import CpuShares, HighestReplicas
from penstock.control.setting import Setting
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route


def step(replicas: int, **loads: tuple[float, float, float]) -> ControlStep:
    """Elements with (busy, cpu, stalled) seconds."""
    elements = tuple(
        ElementLoad(name, replicas, 100.0, 100.0, busy_s, cpu_s=cpu_s, stalled_s=stalled_s)
        for name, (busy_s, cpu_s, stalled_s) in loads.items()
    )
    return ControlStep(1, 1.0, 1.0, Setting(replicas), 100.0, 100.0, 0.0, 0.5, elements=elements)


def with_shares(seen: ControlStep) -> ControlStep:
    """As the loop completes it."""
    return replace(seen, cpu_share_by_element=CpuShares().learn(seen.elements).by_element)


def test_time_in_line_for_a_core_does_not_make_an_element_a_waiting_one() -> None:
    seen = step(2, burn=(10.0, 1.0, 8.9), ask=(10.0, 0.5, 0.1), idle=(0.0, 0.0, 0.0))
    seen = with_shares(seen)
    rule = HighestReplicas(2, 16, frozenset({"whole"}))
    assert rule.by_element(seen) == {"burn": 2, "ask": 16, "idle": 2}
    assert rule.of("whole", seen.cpu_share_by_element) == 1


def test_more_than_any_element_can_use_is_not_decided() -> None:
    rule, wanted = HighestReplicas(2, 16), Change(Setting(9), "demand")
    bounded = rule(with_shares(step(1, burn=(1.0, 0.9, 0.0))), wanted)
    assert isinstance(bounded, Change)
    assert bounded.setting.replicas == 2
    assert "9 replicas wanted, but an element that computes can use 2 on 2 cores; demand" in bounded.because
    assert isinstance(rule(with_shares(step(2, burn=(1.0, 0.9, 0.0))), wanted), Hold)
    stays = rule(with_shares(step(5, burn=(1.0, 0.9, 0.0))), wanted)  # it was not this rule that made them five
    assert isinstance(stays, Hold)
    waiting = step(2, ask=(1.0, 0.01, 0.0), burn=(0.1, 0.1, 0.0))
    assert rule(with_shares(waiting), wanted) == wanted


def test_as_many_replicas_as_the_user_wants_are_kept_where_fewer_would_help() -> None:
    seen = with_shares(step(8, burn=(1.0, 0.9, 0.0), whole=(1.0, 0.9, 0.0)))
    rule = HighestReplicas(2, 16, frozenset({"whole"}), lowest=8)
    assert rule.by_element(seen) == {"burn": 8, "whole": 1}
    another_cap = Change(Setting(8, None, 4096), "faster")
    assert rule(seen, another_cap) == another_cap
    more = rule(seen, Change(Setting(9), "demand"))
    assert isinstance(more, Hold)
    assert "but 8 are the fewest of the limits, more than an element that computes can use on 2 cores" in more.because


def test_each_element_gets_as_many_replicas_as_it_can_use() -> None:
    elements = (
        ElementConfiguration("read", 2), ElementConfiguration("ask", 2, even_route(2, 16)),
        ElementConfiguration("whole", 1),
    )  # fmt: skip
    routed = Routing(scalable=("read",)).configured(
        Configuration(elements), Setting(8), step(2), {"read": 2, "ask": 16, "whole": 1}
    )
    assert [e.replicas for e in routed.configuration.elements] == [2, 8, 1]
    narrow = narrowed(routed.configuration, 3)
    assert [e.replicas for e in narrow.elements] == [2, 3, 1]
    assert set(narrow.element("ask").route) == {0, 1, 2}
    assert narrowed(narrow, 5) == narrow


def test_every_element_is_balanced_by_its_own_loads() -> None:
    heavy_first, heavy_last = (5.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 5.0)
    elements = tuple(ElementConfiguration(name, 1, (0,) * 4) for name in ("first", "last"))
    loads = tuple(
        ElementLoad(name, 1, 8.0, 8.0, 8.0, load_by_slot=own)
        for name, own in (("first", heavy_first), ("last", heavy_last))
    )
    seen = ControlStep(1, 1.0, 1.0, Setting(1), 8.0, 8.0, 0.0, 0.5, elements=loads, load_by_slot=heavy_first)
    configuration = Routing().configured(Configuration(elements), Setting(2), seen).configuration
    for name, place in (("first", 0), ("last", 3)):
        route = configuration.element(name).route
        assert [replica == route[place] for replica in route].count(True) == 1, name


def test_chance_is_no_drift() -> None:
    element = ElementConfiguration("window", 2, (0, 0, 1, 1))
    loads = (0.3, 0.3, 0.2, 0.2)
    few = ControlStep(1, 1.0, 1.0, Setting(2), 50.0, 50.0, 0.0, 0.5, load_by_slot=loads)
    many = ControlStep(1, 1.0, 1.0, Setting(2), 5e6, 5e6, 0.0, 0.5, load_by_slot=loads)
    routing = Routing(deviations=3.0)
    assert routing.configured(Configuration((element,)), Setting(2), few).moved_slots == 0
    assert routing.configured(Configuration((element,)), Setting(2), many).moved_slots > 0
