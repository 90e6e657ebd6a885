"""Natural mistakes in public calls: a misspelt or missing argument, a name that is not there, another kind of table."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import penstock as ps
from penstock.arguments import checked_call


def stream() -> ps.Stream:
    return ps.Application("app").source("numbers", schema={"k": "symbol", "x": "int64"})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: ps.latency(p95=500),  # type: ignore[call-arg]
            "ps.latency has no argument 'p95'; it has: p95_ms, mean_ms; did you mean 'p95_ms'?",
        ),
        (
            lambda: ps.tumbling(10),  # type: ignore[misc]
            "ps.tumbling takes its arguments by name; it has: count, time_s, delta, punctuation, on, per_group; got 10",
        ),
        (
            lambda: ps.Price(core=1),
            "ps.Price has no argument 'core'; it has: core_hour, kwh; did you mean 'core_hour'?",
        ),  # type: ignore[call-arg]
        (
            lambda: stream().functor("f", wher="x > 1"),  # type: ignore[call-arg]
            "Stream.functor has no argument 'wher'; it has: name, where, emit; did you mean 'where'?",
        ),
        (lambda: stream().functor(where="x > 1"), "Stream.functor needs name; it has: name, where, emit"),  # type: ignore[call-arg]
        (
            lambda: ps.sinks.csv("a", "b"),  # type: ignore[call-arg]
            "ps.sinks.csv takes at most 1 arguments without a name; it has: path; got 'b'",
        ),
        (lambda: ps.aggregate_function(len), "ps.aggregate_function needs returns; it has: function, returns"),  # type: ignore[call-arg]
    ],
)
def test_arguments_that_do_not_fit_have_a_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ps.errors.CallError) as raised:
        call()
    assert str(raised.value) == sentence
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize("call", [ps.run, ps.start])
def test_names_that_go_are_not_recommended(call: Callable[..., Any]) -> None:
    with pytest.raises(ps.errors.CallError, match="did you mean 'policy'") as raised:
        call(None, polic="ds2")
    assert "willingness" not in str(raised.value)


def test_a_type_error_from_inside_a_function_stays_as_it_is() -> None:
    @checked_call("own")
    def own(function: Callable[[], object]) -> object:
        return function()

    def wrong() -> object:
        return 1 + "1"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand") as raised:
        own(wrong)
    assert not isinstance(raised.value, ps.errors.PenstockError)


def test_values_with_checked_calls_are_values_still() -> None:
    limits = ps.Limits(max_replicas=3)
    assert pickle.loads(pickle.dumps(limits)) == limits
    assert repr(limits).startswith("Limits(min_replicas=1, max_replicas=3")


@pytest.mark.parametrize("name", ["sources", "sinks"])
def test_a_connector_that_is_not_there_is_answered_with_what_is(name: str) -> None:
    module = getattr(ps, name)
    with pytest.raises(AttributeError, match=f"module 'penstock.{name}' has no attribute 'csvv'; did you mean 'csv'"):
        _ = module.csvv
    with pytest.raises(AttributeError, match=r"has no attribute 'json'; (it has: |did you mean 'json_lines'\?)"):
        _ = module.json
    assert set(dir(module)) == set(module.__all__)
    with pytest.raises(AttributeError):
        _ = module.__wrapped__


def test_a_result_by_attribute_is_answered_with_how_to_get_it() -> None:
    stream_ = stream()
    stream_.sink("out")
    tables = ps.evaluate(stream_.application, {"numbers": {"k": ["a"], "x": [1]}})
    with pytest.raises(AttributeError, match=r"^tables have no attribute 'out'; a result is tables\['out'\]$"):
        _ = tables.out


def test_a_sink_without_a_name_is_answered_with_where_it_goes() -> None:
    stream_ = stream()
    stream_.sink(ps.sinks.memory())  # type: ignore[arg-type]
    (problem,) = stream_.application.problems
    assert problem.hint == "write the name first: .sink('name', ...)"


def test_a_path_is_no_spade_program() -> None:
    with pytest.raises(ps.errors.InputError, match=r"ps\.spade\.load takes the text of a program; got 'a\.spade'"):
        ps.spade.load("a.spade")


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"k": ["a", "b"], "x": [1, 2], "more": [0.5, 1.5]}),
        [{"k": "a", "x": 1}, {"k": "b", "x": 2, "more": None}],
    ],
    ids=["pandas", "rows"],
)
def test_dataframes_and_rows_are_inputs(given: Any) -> None:
    stream_ = stream()
    stream_.functor("double", emit={"k": "k", "x": "2 * x"}).sink("out")
    tables = ps.evaluate(stream_.application, {"numbers": given})
    assert tables["out"].to_pylist() == [{"k": "a", "x": 2}, {"k": "b", "x": 4}]


def test_a_misspelt_name_in_rows_is_missed() -> None:
    stream_ = stream()
    stream_.sink("out")
    with pytest.raises(ps.errors.InputError, match="its input lacks x; it has: k, y"):
        ps.evaluate(stream_.application, {"numbers": [{"k": "a", "y": 1}]})
