"""Wrong arguments of connectors have a sentence each, and what may be a password is in none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InputError

SECRET = b"geheim"
WRONG: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: ps.sources.kafka("h:1", "t", options={"sasl.password": SECRET}),  # type: ignore[dict-item]
        "options of ps.sources.kafka is a dict of librdkafka's settings, or None; got an object of the type dict",
    ),
    (
        lambda: ps.sinks.kafka("h:1", "t", options={"sasl.password": SECRET}),  # type: ignore[dict-item]
        "options of ps.sinks.kafka is a dict of librdkafka's settings, or None; got an object of the type dict",
    ),
    (
        lambda: ps.sinks.kafka("h:1", "t", options=[("sasl.password", SECRET)]),  # type: ignore[arg-type]
        "options of ps.sinks.kafka is a dict of librdkafka's settings, or None; got an object of the type list",
    ),
    (
        lambda: ps.sinks.postgres(b"password=geheim", "t"),  # type: ignore[arg-type]
        "dsn of ps.sinks.postgres is text; got an object of the type bytes, which is not shown",
    ),
    (
        lambda: ps.sinks.iceberg("lake", "a.b", catalog={"token": SECRET}),  # type: ignore[dict-item]
        "catalog of ps.sinks.iceberg is a dict of pyiceberg's properties, or None; got an object of the type dict",
    ),
    (
        lambda: ps.sources.websocket("ws://h", headers={"token": SECRET}),  # type: ignore[dict-item]
        "headers of ps.sources.websocket is a dict of texts, or None; got an object of the type dict",
    ),
    (lambda: ps.sinks.kafka("", "t"), "servers of ps.sinks.kafka is a text; got an empty one"),
    (lambda: ps.sinks.kafka("h:1", ""), "topic of ps.sinks.kafka is a text; got an empty one"),
    (lambda: ps.sinks.postgres("host=h", ""), "table of ps.sinks.postgres is a text; got an empty one"),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_a_wrong_argument_has_its_sentence_without_its_secret(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InputError) as told:
        call()
    assert str(told.value).startswith(sentence)
    assert SECRET.decode() not in str(told.value)


def test_a_setting_that_the_sink_makes_itself_is_refused() -> None:
    app = ps.Application("own")
    sink = ps.sinks.kafka("h:1", "t", options={"transactional.id": "mine", "linger.ms": 5})  # type: ignore[dict-item]
    app.source("in", schema={"n": "int64"}).sink("out", sink)
    (problem,) = app.problems
    assert "has transactional.id among its options, which ps.sinks.kafka sets itself" in str(problem)
