"""The configurations cf1 to cf6 of the paper MODEL, from the printed SPADE programs, equal the in-process engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.cli import generate
from penstock.element.evaluation import evaluate
from tests.checkout import ROOT
from tests.dataplane.plane import Plane
from tests.reference.python_functions import plain_rows

SPADE = ROOT / "examples" / "spade"
REGEX = ["Regex1", "Regex2", "Regex3"]
VWAP = ["TradeFilter", "VWAPAggregator", "VWAPSum"]
# program, operators between source and result, those that share an element
CONFIGURATIONS: dict[str, tuple[str, list[str], list[list[str]]]] = {
    "func1-cf1": ("func3-cf4", REGEX[:1], []),
    "aggs-cf1": ("aggs-cf1", ["Aggreg1"], []),
    "aggt-cf1": ("aggt-cf1", ["Aggreg1"], []),
    "join-cf1.1": ("join-cf1.1", ["Join1"], []),
    "func2-cf2": ("func3-cf4", REGEX[:2], [REGEX[:2]]),
    "func3-cf3": ("func3-cf4", REGEX, []),
    "vwap-cf3": ("vwap-cf3", VWAP, []),
    "func3-cf4": ("func3-cf4", REGEX, [REGEX]),
    "vwap-cf4": ("vwap-cf3", VWAP, [VWAP]),
    "vwap-cf4 with the source": ("vwap-cf3", VWAP, [["TradeQuote", *VWAP]]),
    "vwap-cf5": ("vwap-cf3", VWAP, [VWAP[:2]]),
    "vwap-cf6": ("vwap-cf3", VWAP, [VWAP[1:]]),
}


def application(program: str, last: str, data_dir: Path, *, partitions: bool = False) -> ps.Application:
    """A printed program up to an operator, whose tuples are the result."""
    printed = ps.spade.load((SPADE / f"{program}.spade").read_text(), data_dir=data_dir, file=program).graph
    names = [operator.name for operator in printed.operators]
    kept = printed.operators[: names.index(last) + 1]
    requests = tuple(r for r in printed.requests if partitions and r.operator in {o.name for o in kept})
    app = ps.Application.from_graph(type(printed)(printed.name, kept, requests))
    app.stream(last).sink("result")
    return app


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate.write_all(folder, rows=120, seed=11)
    return folder


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_of_the_paper_runs(name: str, data_dir: Path, tmp_path: Path) -> None:
    program, operators, fusion = CONFIGURATIONS[name]
    app = application(program, operators[-1], data_dir)
    sources = [source.name for source in app.graph.sources]
    expected = evaluate(app, taps=sources)
    plane = Plane(app.graph, {source: expected[source] for source in sources}, tmp_path, seed=7, kills=0.1)
    plane.unfused = ()
    plane.fusion = app.configuration().with_fusion(app.graph, fusion).fusion
    elements = [e for e in plane.layout(plane._any_configuration()).pipeline.elements if "result" not in e.operators]
    got, _ = plane.run_all()
    assert repr(plain_rows(got["result"])) == repr(plain_rows(expected["result"]))
    assert {e.operators for e in elements} >= {tuple(g) for g in fusion if operators[-1] not in g}


def test_printed_partitions_are_the_elements_and_pe0_is_split(data_dir: Path) -> None:
    app = ps.spade.load((SPADE / "vwap-cf3.spade").read_text(), data_dir=data_dir, file="vwap-cf3")
    assert [e.operators for e in ps.plan_of(app).elements] == [
        ("TradeQuote",), ("TradeFilter",), ("VWAPAggregator",), ("VWAPSum",), ("DummySink",),
    ]  # fmt: skip
    regex = ps.spade.load((SPADE / "func3-cf4.spade").read_text(), data_dir=data_dir, file="func3-cf4")
    assert [e.operators for e in ps.plan_of(regex).elements] == [
        ("Source1",), ("Regex1",), ("Regex2",), ("Regex3",), ("DummySink",),
    ]  # fmt: skip
