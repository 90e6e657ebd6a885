"""The plan: default elements, elements as somebody asks for, what they cost, and what cannot be."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.errors import InputError
from penstock.plan.explain import explain
from penstock.plan.plan import Plan

PER_KEY = ps.tumbling(count=2, per_group=True)


def shape(plan: Plan) -> list[tuple[str, str, int]]:
    return [("+".join(element.operators), element.scope, element.replicas) for element in plan.elements]


def planned(app: ps.Application, fusion: list[list[str]], replicas: int = 2) -> Plan:
    return ps.plan_of(app, app.configuration(replicas).with_fusion(app.graph, fusion))


def test_the_default_plan_is_what_the_configuration_has() -> None:
    app = vwap_per_ticker()
    assert shape(ps.plan_of(app)) == [("quotes+trades", "none", 1), ("window+vwap+out", "key", 1)]
    assert [e.name for e in ps.plan_of(app).elements] == [e.name for e in app.configuration().elements]
    assert ps.plan_of(app).notes == ()


def test_a_stateless_operator_in_front_of_a_window_by_key_goes_by_its_key() -> None:
    assert shape(planned(vwap_per_ticker(), [["trades", "window"]])) == [
        ("quotes", "none", 2), ("trades+window", "key", 2), ("vwap+out", "none", 2),
    ]  # fmt: skip


def test_everything_in_the_source_s_element_has_one_replica_and_the_plan_says_what_that_costs() -> None:
    plan = planned(vwap_per_ticker(), [["quotes", "trades", "window", "vwap"]])
    assert shape(plan) == [("quotes+trades+window+vwap+out", "stream", 1)]
    assert plan.notes == (
        "element 'trades' runs on one replica, since its source reads for 'window', which goes by key, without an "
        "exchange between them; 'trades', 'window', 'vwap' could run on several in elements of their own",
    )


def test_a_stateless_operator_in_a_whole_stream_element_loses_its_replicas_when_asked() -> None:
    plan = planned(vwap(), [["trades", "window"], ["vwap"]])
    assert shape(plan)[1] == ("trades+window", "stream", 1)
    assert "'trades' could run on several" in plan.notes[0]
    assert planned(vwap(), []).notes == ()


def test_operators_by_different_keys_in_one_element_have_one_replica() -> None:
    app = ps.Application("keys")
    ticks = app.source("ticks", schema={"k": "int64", "j": "int64"})
    one = ticks.aggregate("one", by="k", window=PER_KEY, emit={"k": "any(k)", "j": "last(j)"})
    one.aggregate("two", by="j", window=PER_KEY, emit={"n": "count()"}).sink("out")
    plan = planned(app, [["one", "two"]])
    assert shape(plan)[1] == ("one+two+out", "stream", 1)
    assert "the key of 'two' (j) is computed in the element itself" in plan.notes[0]
    assert shape(planned(app, [])) == [
        ("ticks", "none", 2), ("one", "key", 2), ("two+out", "key", 2),
    ]  # fmt: skip


def test_a_time_window_behind_another_operator_of_its_element_has_one_replica() -> None:
    app = ps.Application("clock")
    ticks = app.source("ticks", schema={"k": "int64", "t": "float64"})
    many = ticks.functor("some", where="k > 0")
    many.aggregate("bars", by="k", window=ps.tumbling(time_s=1, on="t"), emit={"n": "count()"}).sink("out")
    assert "goes by the clock of the whole stream" in planned(app, [["some", "bars"]]).notes[0]
    assert shape(planned(app, [["bars"]]))[-1] == ("bars+out", "key", 2)


def test_changing_back_gives_the_default_again() -> None:
    app = vwap_per_ticker()
    other = app.configuration(2).with_fusion(app.graph, [["quotes", "trades", "window", "vwap"]])
    assert other.with_fusion(app.graph, None) == app.configuration(1)
    assert app.configuration(2).with_fusion(app.graph, [["window", "vwap"]]).element("window").replicas == 2


@pytest.mark.parametrize(
    ("fusion", "sentence"),
    [
        ([["windo"]], "fusion names the operator 'windo', which application 'vwap_per_ticker' does not have; it has: "
                      "quotes, trades, window, vwap, out; did you mean 'window'"),
        ([["window"], ["window", "vwap"]], "fusion names the operator 'window' twice; an operator is in one element"),
        ([["quotes", "window"]], "the operators quotes, window cannot be one element: the path quotes -> trades -> "
                                 "window leaves it and comes back"),
    ],
)  # fmt: skip
def test_a_fusion_that_cannot_be_gives_one_sentence(fusion: list[list[str]], sentence: str) -> None:
    app = vwap_per_ticker()
    with pytest.raises(InputError) as raised:
        app.configuration().with_fusion(app.graph, fusion)
    assert sentence in str(raised.value)


def test_elements_that_would_wait_for_each_other_are_named() -> None:
    app = ps.Application("crossed")
    for letter in ("a", "b"):
        app.source(f"{letter}1", schema={"x": "int64"}).functor(f"{letter}2").sink(f"{letter}_out")
    with pytest.raises(InputError, match=r"would wait for each other.*: .*a1\+b2.* -> .*"):
        app.configuration().with_fusion(app.graph, [["a1", "b2"], ["b1", "a2"]])


def test_sources_that_are_put_in_order_together_are_in_one_element() -> None:
    app = ps.Application("merged")
    one, two = (app.source(n, schema={"k": "int64", "t": "float64"}, stamp="t") for n in ("one", "two"))
    one.union("both", two).sink("out")
    with pytest.raises(InputError, match="the sources 'one', 'two' cannot be in different elements"):
        app.configuration().with_fusion(app.graph, [["one"], ["two"]])
    assert [e.name for e in planned(app, [["one", "two", "both"]]).elements] == ["read", "@intake"]


def test_partitions_become_elements_and_the_rest_stays_as_it_is_by_default() -> None:
    app = vwap_per_ticker()
    app.request("trades", partition="p")
    app.request("window", partition="p")
    assert [e.operators for e in ps.plan_of(app).elements] == [("quotes",), ("trades", "window"), ("vwap", "out")]


def test_an_explanation_has_the_elements_of_the_plan_with_their_partitions() -> None:
    app = vwap_per_ticker()
    for name in ("quotes", "out"):
        app.request(name, partition="p", host="one")
    found = explain(app.graph)
    assert [(p.element.name, p.element.partition, p.element.host) for p in found.elements] == [
        ("quotes", "p", "one"), ("trades", None, None), ("window", None, None), ("out", "p", "one"),
    ]  # fmt: skip
    assert [p.element.name for p in found.elements] == [e.name for e in ps.plan_of(app).elements]
    assert "partition 'p' is split into" in found.notes[0]
