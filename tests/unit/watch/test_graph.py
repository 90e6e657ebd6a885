"""Graphs laid out and drawn: nothing overlaps, every edge arrives."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.errors import InputError
from penstock.plan.explain import explain
from penstock.watch.graph_layout import lay_out
from penstock.watch.pictures.graph_picture import save_graph
from penstock.watch.terminal.terminal_graph import draw_graph

Edges = list[tuple[str, str]]


@st.composite
def dags(draw: st.DrawFn) -> tuple[list[str], Edges]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 9)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return names, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []


@given(dags())
def test_boxes_of_a_layer_never_overlap_and_edges_go_down(dag: tuple[list[str], Edges]) -> None:
    names, edges = dag
    layout = lay_out(names, edges, dict.fromkeys(names, 5.0), gap=2.0)
    for layer in layout.layers:
        places = [layout.center[name] for name in layer if name in names]
        assert all(b - a >= 7.0 - 1e-9 for a, b in pairwise(places))
    layer_of = {name: number for number, layer in enumerate(layout.layers) for name in layer}
    assert all(layer_of[a] < layer_of[b] for a, b in edges)
    assert sorted(name for layer in layout.layers for name in layer if name in names) == sorted(names)


@given(dags())
def test_every_box_is_drawn_whole_and_every_edge_has_an_arrow(dag: tuple[list[str], Edges]) -> None:
    names, edges = dag
    text = draw_graph({name: [name] for name in names}, edges)
    assert all(text.count(f" {name} ") == 1 for name in names)
    assert text.count("▼") == len(edges)


def test_a_diamond_is_drawn_as_people_draw_it() -> None:
    labels = {name: [name] for name in ("top", "left", "right", "end")}
    edges = [("top", "left"), ("top", "right"), ("left", "end"), ("right", "end")]
    assert draw_graph(labels, edges).splitlines() == [
        "       ┌─────┐",
        "       │ top │",
        "       └──┬──┘",
        "    ┌─────┴─────┐",
        "    ▼           ▼",
        "┌───────┐   ┌───────┐",
        "│  left │   │ right │",
        "└───┬───┘   └───┬───┘",
        "    └───┐   ┌───┘",
        "        ▼   ▼",
        "      ┌───────┐",
        "      │  end  │",
        "      └───────┘",
    ]


def test_layers_keep_crossings_away() -> None:
    layout = lay_out(["a", "b", "c", "d"], [("a", "d"), ("b", "c")], dict.fromkeys("abcd", 1.0), gap=1.0)
    first, second = layout.layers
    assert [("d" if name == "a" else "c") for name in first] == list(second)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_written_whole_under_its_name_alone(tmp_path: Path, ending: str) -> None:
    app = vwap_per_ticker()
    for name in ("quotes", "out"):
        app.request(name, partition="pe0", host="node0")
    path = tmp_path / "new" / f"graph.{ending}"
    save_graph(explain(app.graph), path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    content = path.read_bytes()
    assert content.startswith(b"<?xml" if ending == "svg" else b"\x89PNG")


def test_the_same_graph_gives_the_same_svg(tmp_path: Path) -> None:
    explanation = explain(vwap_per_ticker().graph)
    for name in ("a.svg", "b.svg"):
        save_graph(explanation, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*graph\.svg: "):
        save_graph(explain(vwap_per_ticker().graph), tmp_path / "file" / "graph.svg")
