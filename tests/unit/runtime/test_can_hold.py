"""Which elements' tuples the splitter may hold: those whose numbers grow from batch to batch."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.plan.elements.layout import layout_of
from penstock.runtime.slots.state_slots import can_defer, can_hold


@pytest.mark.parametrize(
    ("connector", "holds"),
    [(ps.sources.rate(10), False), (None, True)],
)
def test_tuples_of_sources_that_number_rows_anew_are_not_held(connector: Any, holds: bool) -> None:
    app = ps.Application("held")
    schema = {"timestamp": "timestamp", "value": "int64"}
    source = app.source("in", schema=schema) if connector is None else app.source("in", connector)
    counted = source.aggregate(
        "counted", by="value", window=ps.sliding(count=4, every=1, per_group=True), emit={"n": "count()"}
    )
    counted.sink("out", ps.sinks.discard())
    layout = layout_of(app.graph, ())
    (keyed,) = [element for element in layout.pipeline.elements if element.scope == "key"]
    assert can_defer(app.graph, layout, keyed)
    assert can_hold(app.graph, layout, keyed) == holds
