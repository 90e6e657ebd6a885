"""Applications survive a round trip through JSON, with every operator."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.app.operators import Operator
from tests.reference.everything import everything


def test_an_application_with_every_operator_comes_back_equal() -> None:
    app = everything()
    assert {type(o) for o in app.operators} == set(Operator.__args__)
    again = ps.Application.from_json(app.to_json())
    assert again == app
    assert again.to_json() == app.to_json()
    assert str(again) == str(app)
    assert [o.place for o in again.operators] == [o.place for o in app.operators]


def test_what_comes_back_can_be_run() -> None:
    app = ps.Application("halves")
    app.source("numbers", schema={"x": "int64"}).functor("half", where="x <> 2", emit={"h": "x / 2"}).sink("out")
    again = ps.Application.from_json(app.to_json())
    assert ps.evaluate(again, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist() == [0.5, 1.5]


def test_settings_of_event_time_come_back_and_the_stamp_defaults_to_the_event_time() -> None:
    app = ps.Application("timed")
    app.source(
        "ticks",
        schema={"t": "timestamp"},
        event_time="t",
        out_of_order_s=2,
        late="drop",
        max_ahead_s=60,
        idle_timeout_s=5,
    ).sink("out")
    (source,) = ps.Application.from_json(app.to_json()).graph.sources
    assert (source.stamp, source.event_time, source.out_of_order_s, source.late) == ("t", "t", 2.0, "drop")
    assert (source.max_ahead_s, source.idle_timeout_s) == (60.0, 5.0)


def test_functions_without_a_name_cannot_be_written() -> None:
    app = ps.Application("anonymous")
    app.source("s", schema={"x": "int64"}).map("m", lambda row: row, {"x": "int64"}, per_tuple=True)
    with pytest.raises(ps.errors.InputError, match=r"cannot be written as JSON; only functions with a name"):
        app.to_json()


class WithField:
    def __init__(self) -> None:
        self.step = 3

    def state(self) -> int:
        return 0

    def process(self, row: dict[str, int], state: int) -> None:
        return None


def test_objects_with_fields_cannot_be_written() -> None:
    app = ps.Application("fields")
    app.source("s", schema={"x": "int64"}).operator("o", WithField(), schema={"x": "int64"})
    with pytest.raises(ps.errors.InputError, match=r"objects without fields, can be found again by name"):
        app.to_json()


def test_a_broken_text_is_refused_in_one_sentence() -> None:
    text = ps.Application.to_json(everything())
    body = json.loads(text)
    broken = [
        "",
        "{}",
        "[]",
        text[:-20],
        text.replace('"Functor"', '"Fnctor"'),
        text.replace("everything:", "nowhere:"),
    ]
    for wrong in broken:
        with pytest.raises(
            ps.errors.InputError, match=r"an application's JSON is an object written by Application\.to_json"
        ):
            ps.Application.from_json(wrong)
    body["penstock"] = 99
    with pytest.raises(ps.errors.InputError, match=r"an application's JSON has format 1 here; got 99"):
        ps.Application.from_json(json.dumps(body))


def test_a_stream_that_nothing_emits_is_refused() -> None:
    app = ps.Application("halves")
    app.source("numbers", schema={"x": "int64"}).sink("out")
    text = app.to_json().replace('"inputs": [\n    "numbers"', '"inputs": [\n    "elsewhere"')
    with pytest.raises(
        ps.errors.InputError, match="operator 'out' reads 'elsewhere', which no operator before it emits"
    ):
        ps.Application.from_json(text)
