"""Requested partitions become elements between which data flows one way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph, Request
from penstock.plan.elements.fusion import Element, fuse, is_convex
from tests.checkout import ROOT

SPADE = ROOT / "examples" / "spade"


def chain(*names: str) -> ps.Application:
    app = ps.Application("chain")
    stream = app.source(names[0], schema={"x": "int64"})
    for name in names[1:-1]:
        stream = stream.functor(name)
    stream.sink(names[-1])
    return app


def test_operators_without_requests_are_elements_of_their_own() -> None:
    fusion = fuse(chain("a", "b", "c").graph)
    assert fusion.elements == (Element("a", ("a",)), Element("b", ("b",)), Element("c", ("c",)))
    assert fusion.notes == ()


def test_a_partition_that_is_convex_stays_whole() -> None:
    app = chain("a", "b", "c", "d")
    for name in ("b", "c"):
        app.request(name, partition="pe1", host="node1")
    assert fuse(app.graph).element_of("c") == Element("pe1", ("b", "c"), "pe1", "node1")


def test_source_and_sink_in_one_partition_around_another_are_split_and_stay_on_their_host() -> None:
    app = chain("a", "b", "c")
    for name in ("a", "c"):
        app.request(name, partition="pe0", host="node0")
    fusion = fuse(app.graph)
    assert [element.name for element in fusion.elements] == ["pe0.1", "b", "pe0.2"]
    assert {element.host for element in fusion.elements if element.partition} == {"node0"}
    assert fusion.notes == (
        "partition 'pe0' is split into pe0.1 (a) and pe0.2 (c): "
        "the path a -> b -> c leaves it and comes back; both stay on node0",
    )


def test_a_partition_is_split_once_for_every_return() -> None:
    app = chain("a", "b", "c", "d", "e")
    for name in ("a", "c", "e"):
        app.request(name, partition="p")
    assert [e.operators for e in fuse(app.graph).elements if e.partition] == [("a",), ("c",), ("e",)]


def test_partitions_that_would_feed_each_other_are_split_although_each_is_convex() -> None:
    app = ps.Application("crossed")
    for letter in ("a", "b"):
        app.source(f"{letter}1", schema={"x": "int64"}).functor(f"{letter}2").sink(f"{letter}_out")
    for name, partition in (("a1", "p"), ("b2", "p"), ("b1", "q"), ("a2", "q")):
        app.request(name, partition=partition)
    fusion = fuse(app.graph)
    assert is_convex(app.graph, ["a1", "b2"])
    assert is_acyclic(app.graph, fusion.elements)
    assert "data would flow between it and another partition both ways" in fusion.notes[0]


def test_a_partition_on_two_hosts_is_split_by_host() -> None:
    app = chain("a", "b", "c")
    app.request("a", partition="p", host="one")
    app.request("b", partition="p", host="two")
    fusion = fuse(app.graph)
    assert [(e.name, e.host) for e in fusion.elements[:2]] == [("p.1", "one"), ("p.2", "two")]
    assert fusion.notes[0].endswith("its operators ask for different hosts (one, two)")


def test_a_host_named_once_holds_for_the_whole_partition() -> None:
    app = chain("a", "b", "c")
    app.request("a", partition="p", host="one")
    app.request("b", partition="p")
    assert fuse(app.graph).elements[0] == Element("p", ("a", "b"), "p", "one")


def test_a_request_for_an_operator_that_is_not_there_is_noted() -> None:
    graph = replace(chain("a", "b").graph, requests=(Request("z", partition="p"),))
    assert fuse(graph).notes == ("a request names the operator 'z', which application 'chain' does not have",)


@pytest.mark.parametrize("program", ["func3-cf4", "aggs-cf1", "aggt-cf1", "join-cf1.1"])
def test_printed_programs_have_pe0_split_between_source_and_sink(program: str) -> None:
    app = ps.spade.load((SPADE / f"{program}.spade").read_text(), file=f"{program}.spade")
    fusion = fuse(app.graph)
    parts = [element for element in fusion.elements if element.partition == "pe0"]
    assert [part.name for part in parts] == ["pe0.1", "pe0.2"]
    assert {part.host for part in parts} == {"pool[0]"}


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random graphs of functors and unions with random partitions."""
    app = ps.Application("random")
    streams = [app.source("o0", schema={"x": "int64"}), app.source("o1", schema={"x": "int64"})]
    for i in range(2, draw(st.integers(3, 12))):
        inputs = draw(st.lists(st.sampled_from(streams), min_size=1, max_size=3, unique_by=lambda s: s.name))
        made = inputs[0].functor(f"o{i}") if len(inputs) == 1 else inputs[0].union(f"o{i}", *inputs[1:])
        streams.append(made)
    for stream in streams:
        partition = draw(st.sampled_from([None, "p", "q", "r"]))
        if partition:
            app.request(stream.name, partition=partition)
    return app.graph


@given(graphs())
def test_elements_are_convex_acyclic_complete_and_never_mix_partitions(graph: Graph) -> None:
    elements = fuse(graph).elements
    assert sorted(name for e in elements for name in e.operators) == sorted(o.name for o in graph.operators)
    assert all(is_convex(graph, element.operators) for element in elements)
    assert is_acyclic(graph, elements)
    wishes = {request.operator: request.partition for request in graph.requests}
    assert all({wishes.get(name) for name in e.operators} == {e.partition} for e in elements)


@given(graphs())
def test_one_partition_has_as_few_parts_as_its_paths_return_to_it(graph: Graph) -> None:
    only = Graph(graph.name, graph.operators, tuple(r for r in graph.requests if r.partition == "p"))
    members = {request.operator for request in only.requests}
    parts = [element for element in fuse(only).elements if element.partition]
    assert len(parts) == (1 + most_returns(only, members) if members else 0)


def is_acyclic(graph: Graph, elements: tuple[Element, ...]) -> bool:
    """Whether elements can be taken away one by one, each without an input left: slow and obvious."""
    home = {name: element.name for element in elements for name in element.operators}
    edges = {(home[a], home[b]) for a, _, b in graph.edges() if home[a] != home[b]}
    left = set(home.values())
    while left:
        free = {name for name in left if not any(b == name and a in left for a, b in edges)}
        if not free:
            return False
        left -= free
    return True


def most_returns(graph: Graph, members: set[str]) -> int:
    """The most times that any path goes out of the members and comes back: every path is walked."""

    def walk(name: str, is_out: bool, returns: int, has_been_in: bool) -> int:
        inside = name in members
        returns += inside and is_out and has_been_in
        following = [reader.name for reader in graph.consumers(graph.operator(name))]
        here = has_been_in or inside
        return max([returns, *(walk(n, not inside, returns, here) for n in following)])

    return max(walk(source.name, True, 0, False) for source in graph.sources)
