"""Applications are graphs that can be walked, printed and compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.operators import Functor, Split
from penstock.block.schema import schema_of
from penstock.cli.demo.vwap import vwap_per_ticker
from tests.reference.everything import everything


def small(name: str = "small") -> ps.Application:
    app = ps.Application(name)
    low, high = app.source("numbers", schema={"x": "int64"}).split("parts", {"low": "x < 0", "high": None})
    low.functor("flipped", emit={"x": "-x"}).union("all", high).sink("out")
    return app


def test_a_graph_prints_its_operators_in_program_order() -> None:
    assert str(small()) == (
        "application small\n"
        "  numbers := Source -> x int64\n"
        "  parts := Split(numbers) -> x int64\n"
        "  flipped := Functor(parts.low) -> x int64\n"
        "  all := Union(flipped, parts.high) -> x int64\n"
        "  out := Sink(all) -> x int64"
    )


def test_graphs_are_walked_by_stream() -> None:
    graph = small().graph
    assert isinstance(graph.producer("parts.high"), Split)
    assert isinstance(graph.operator("flipped"), Functor)
    assert [o.name for o in graph.consumers(graph.operator("parts"))] == ["flipped", "all"]
    assert list(graph.edges())[2:4] == [("flipped", "flipped", "all"), ("parts", "parts.high", "all")]


def test_equal_programs_are_equal_wherever_they_were_written() -> None:
    assert small() == small()
    assert small() != small("other")
    assert everything() == everything()
    assert small().graph.operators[0].place != small().graph.operators[-1].place


def test_streams_are_found_by_name() -> None:
    app = small()
    assert app.stream("parts.low").schema == pa.schema({"x": pa.int64()})
    assert repr(app.stream("all")) == "<stream all: x int64>"
    with pytest.raises(KeyError, match="nowhere"):
        app.stream("nowhere")


def test_branches_are_found_by_name_and_in_order() -> None:
    branches = ps.Application("b").source("s", schema={"x": "int64"}).split("p", {"a": "x < 0"}, rest=None)
    assert [stream.name for stream in branches] == ["p.a", "p.rest"]
    assert (branches["a"].name, branches.rest.name, len(branches)) == ("p.a", "p.rest", 2)
    with pytest.raises(AttributeError):
        _ = branches.nothing


def test_a_functor_without_emit_copies_and_booleans_and_numbers_are_expressions() -> None:
    stream = ps.Application("f").source("s", schema={"odd name": "int64", "b": "bool"})
    assert stream.functor("copy", where=True).schema == stream.schema  # type: ignore[arg-type]
    assert stream.functor("one", emit={"x": 1.5, "y": 2, "z": False}).schema.names == ["x", "y", "z"]  # type: ignore[dict-item]


def test_types_of_emits_follow_the_rules_of_expressions() -> None:
    stream = ps.Application("t").source("s", schema={"i": "int8", "f": "float32", "k": "symbol", "at": "timestamp"})
    emit = {
        "i": "any(i)",
        "s": "sum(i)",
        "f": "max(f)",
        "a": "avg(i)",
        "k": "last(k)",
        "c": "collect(k)",
        "n": "count()",
    }
    words = schema_of(stream.aggregate("a", window=ps.tumbling(count=2), emit=emit).schema)
    assert [str(t) for t in words.types[:4]] == ["int8", "int64", "float", "double"]
    assert [words.field(n).type for n in "cn"] == [pa.list_(pa.string()), pa.int64()]


def test_applications_that_come_with_penstock_have_places_like_any_other() -> None:
    places = [str(operator.place) for operator in vwap_per_ticker().operators]
    assert all(place.startswith("vwap.py:") for place in places)
    assert len(set(places)) > 1


def test_a_folder_whose_name_begins_like_the_package_is_the_users_own() -> None:
    program = "import penstock as ps\n\napp = ps.Application('own')\napp.source('numbers', schema={'x': 'int64'})\n"
    package = Path(ps.__file__).parent
    namespace: dict[str, Any] = {}
    exec(compile(program, f"{package}_apps{os.sep}own.py", "exec"), namespace)
    assert str(namespace["app"].operators[0].place) == "own.py:4"


def test_printed_types_are_the_words_that_users_write() -> None:
    app = ps.Application("prices")
    stream = app.source("quotes", schema={"ticker": "symbol", "price": "float64"})
    assert str(app) == "application prices\n  quotes := Source -> ticker symbol, price float64"
    assert repr(stream) == "<stream quotes: ticker symbol, price float64>"
    assert repr(app) == "<application prices: quotes>"
    assert repr(ps.Application("new")) == "<application new: no operators>"
