"""The applications of the paper MODEL, and what is learned and predicted of each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import penstock as ps
from penstock.app.application import Application
from penstock.app.graph import Graph
from penstock.cli import generate
from penstock.runtime.profiling.profiled_graph import profiled

SPADE = Path(__file__).resolve().parents[2] / "examples" / "spade"
REGEX = ("Regex1", "Regex2", "Regex3")
VWAP = ("TradeFilter", "VWAPAggregator", "VWAPSum")
Groups = tuple[tuple[str, ...], ...]
# Sources repeat their rows, so that a join meets the same pairs again: their share of all pairs is off by as much as
# a sample of so many rows is, and another with each proportion of the sources.
_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Case:
    """An application, the fusion it is learned in, and the fusions that are predicted.

    `ratios`: shares of the first source that are tried, where an operator has two ports.  `chosen`: also compared with
    the fusion that the chooser takes, over all that there are.  `lent`: a case that operators of the same name are
    learned from instead.
    """

    name: str
    graph: Graph
    learned: Groups
    predicted: tuple[Groups, ...]
    ratios: tuple[float, ...] = (1.0,)
    chosen: bool = False
    lent: Case | None = None


def cases(folder: Path, *, quick: bool) -> Iterator[Case]:
    """All of them; a source's tuples are repeated without an end."""
    generate.write_all(folder, rows=_ROWS, seed=3)
    func3 = _printed("func3-cf4", REGEX[-1], folder)
    yield Case("func3", func3, (REGEX,), (_cut(REGEX), (REGEX[:2], REGEX[2:]), (REGEX[:1], REGEX[1:])), chosen=True)
    func2 = Case("func2", _printed("func3-cf4", REGEX[1], folder), (REGEX[:2],), ())
    yield Case("func3-cf3 by func2-cf2", func3, (REGEX,), (_cut(REGEX),), lent=func2)
    vwap = _printed("vwap-cf3", VWAP[-1], folder)
    yield Case("vwap", vwap, _cut(VWAP), ((VWAP,), (VWAP[:2], VWAP[2:]), (VWAP[:1], VWAP[1:])), chosen=True)
    for name, program, operator in (
        ("func1", "func3-cf4", REGEX[0]), ("aggs", "aggs-cf1", "Aggreg1"), ("aggt", "aggt-cf1", "Aggreg1"),
        ("join", "join-cf1.1", "Join1"),
    ):  # fmt: skip
        graph, fused = _behind_functor(_printed(program, operator, folder)), ("pass", operator)
        yield Case(name, graph, _cut(fused), ((fused,),), (1.0, 0.5, 2.0) if name == "join" else (1.0,))
    for seed in (1,) if quick else (1, 2, 3):
        names = tuple(f"load{number}" for number in range(4))
        chain = _loads(names, seed)
        yield Case(f"chain {seed}, learned fused", chain, (names,), (_cut(names), (names[:2], names[2:])))
        yield Case(f"chain {seed}, learned cut", chain, _cut(names), ((names,), (names[:1], names[1:])))
    yield Case("mixed", _mixed(), _cut(("window", "dear", "after")), ((("window", "dear", "after"),),), chosen=True)


def func1(folder: Path) -> Case:
    """One functor alone in its element."""
    generate.write_all(folder, rows=_ROWS, seed=3)
    return Case("func1", _printed("func3-cf4", REGEX[0], folder), (REGEX[:1],), ())


def _cut(names: tuple[str, ...]) -> Groups:
    return tuple((name,) for name in names)


def _printed(program: str, last: str, folder: Path) -> Graph:
    """A printed program up to an operator, whose tuples are counted."""
    printed = ps.spade.load((SPADE / f"{program}.spade").read_text(), data_dir=folder, file=program).graph
    names = [operator.name for operator in printed.operators]
    leading = printed.operators[: names.index(last) + 1]
    app = Application.from_graph(replace(printed, operators=leading, requests=()))
    app.stream(last).sink("result", ps.sinks.discard())
    own = folder / f"{program} {last}"  # sources of several programs have the same name, and their files too
    own.mkdir(exist_ok=True)
    return profiled(app.graph, {}, own)


def _behind_functor(graph: Graph) -> Graph:
    """The graph with a functor that passes all tuples between its first source and what reads that."""
    source = graph.sources[0].name
    app = Application.from_graph(graph)
    app.stream(source).functor("pass")
    others = [
        replace(own, inputs=tuple("pass" if name == source else name for name in own.inputs))
        for own in graph.operators if own not in graph.sources
    ]  # fmt: skip
    return replace(graph, operators=(*graph.sources, app.operators[-1], *others))


def _loads(names: tuple[str, ...], seed: int) -> Graph:
    """A chain of operators whose costs are drawn."""
    chance = random.Random(seed)
    app = ps.Application(f"chain {seed}")
    stream = app.source("quotes", ps.sources.trace("unbounded", keys=100))
    for name in names:
        stream = stream.load(name, flop_per_tuple=round(10 ** chance.uniform(1.5, 3.0)))
    stream.sink("out", ps.sinks.discard())
    return app.graph


def _mixed() -> Graph:
    """A dear stateless functor behind a window over the whole stream: its best fusion is neither all nor none."""
    app = ps.Application("mixed")
    quotes = app.source("quotes", ps.sources.trace("unbounded", keys=100))
    window = quotes.aggregate(
        "window", window=ps.sliding(count=8, every=1), emit={"p": "max(price)", "v": "sum(volume)"}
    )
    window.load("dear", flop_per_tuple=2000).functor("after", emit={"r": "p * v"}).sink("out", ps.sinks.discard())
    return app.graph
