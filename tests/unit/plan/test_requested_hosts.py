"""Hosts that an application asks for: found among those there are, or a warning."""

from __future__ import annotations

import penstock as ps
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.placement.placement import Packing
from penstock.plan.placement.requested_hosts import RequestedHosts, requested_hosts


def found(app: ps.Application, known: list[str]) -> RequestedHosts:
    return requested_hosts(app.graph, pipeline_of(app.graph), known)


def test_an_element_is_on_the_host_that_one_of_its_operators_asks_for() -> None:
    app = vwap_per_ticker()
    app.request("vwap", host="two")
    assert found(app, ["one", "two"]) == RequestedHosts({"window": "two"})
    assert found(app, ["one.example", "two.example"]).by_element == {"window": "two.example"}


def test_an_unknown_host_is_a_warning() -> None:
    app = vwap_per_ticker()
    app.request("window", host="three")
    assert found(app, ["one", "two"]) == RequestedHosts(
        {}, frozenset({"element 'window' asks for host 'three', which has no executor; there are: one, two; it runs on "
                       "any of them"}),
    )  # fmt: skip


def test_nodes_of_a_pool_without_hosts_are_dealt_out() -> None:
    app = vwap_per_ticker()
    app.request("trades", host="pool[0]")
    app.request("window", host="pool[3]")
    assert found(app, ["b", "a"]) == RequestedHosts({"trades": "a", "window": "b"})


def test_operators_of_one_element_that_ask_for_two_hosts_are_warned_of() -> None:
    app = vwap_per_ticker()
    app.request("window", host="one")
    app.request("vwap", host="two")
    assert found(app, ["one", "two"]).by_element == {"window": "one"}
    assert "ask for the hosts one, two; an element is on one of them, 'one'" in next(
        iter(found(app, ["one", "two"]).warnings)
    )


def test_all_replicas_of_such_an_element_are_placed_there_and_others_are_not() -> None:
    packing = Packing({"one": 2, "two": 2}, hosts={"window": "two"})
    assert packing.place("window", 3, (0, 1, 2), None).hosts == ("two", "two", "two")
    assert set(packing.place("other", 4, (0, 1, 2, 3), None).hosts) == {"one", "two"}
