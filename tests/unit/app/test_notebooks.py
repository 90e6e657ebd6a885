"""What notebooks show of applications and results: valid, escaped, and not too long."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import penstock as ps


def test_an_application_is_drawn_with_every_operator_and_stream() -> None:
    app = ps.Application("two")
    left = app.source("<script>", schema={"k": "int64"})
    right = app.source("right", schema={"k": "int64"})
    joined = left.join("both", right, on=["k"], left_window=ps.sliding(count=1), right_window=ps.sliding(count=1),
                       emit={"k": "left.k"})  # fmt: skip
    joined.sink("out")
    drawn = ET.fromstring(app._repr_html_())
    titles = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert {"<script>: Source", "right: Source", "both: Join", "out: Sink"} <= set(titles)
    assert len(drawn.findall("{http://www.w3.org/2000/svg}path")) == 3


def test_an_application_with_mistakes_shows_them_and_an_empty_one_too() -> None:
    app = ps.Application("wrong")
    app.source("in", schema={"x": "int64"}).functor("f", where="y < 1", emit={"x": "x"}).sink("out")
    assert "reads" in app._repr_html_()
    assert "&lt;" not in ps.Application("empty")._repr_html_()
    assert "has no operators" in ps.Application("empty")._repr_html_()


def test_tables_show_their_first_rows_escaped() -> None:
    app = ps.Application("texts")
    app.source("in", schema={"t": "string"}).functor("same", emit={"t": "t"}).sink("out")
    shown = ps.evaluate(app, {"in": {"t": ["<b>"] * 12}})._repr_html_()
    assert (shown.count("<td>&lt;b&gt;</td>"), "<td><b>" in shown) == (10, False)
    assert "out: 12 tuples, the first 10 of them" in shown
