"""Types of expressions, and every sentence about what is wrong with one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.block.schema import schema_of, word_of
from penstock.errors import ExpressionError
from penstock.expressions import Scope, aggregate_calls, check, parse, problems, to_text, type_of_expression

TRADES = schema_of(
    {"ticker": "symbol", "name": "string", "price": "float64", "small": "float32", "volume": "int32", "ok": "bool"}
    | {"ts": "timestamp", "tags": "list<string>", "prices": "list<float64>"}
)
SCOPE = Scope(((None, TRADES.append(pa.field("open", pa.null()))),))
PAIR = Scope((("left", schema_of({"id": "int64", "a": "string"})), ("right", schema_of({"id": "int64"}))))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("volume + 1", "int64"),
        ("volume / 2", "float64"),
        ("small", "float32"),
        ("small + small", "float64"),
        ("ticker", "symbol"),
        ("ticker + '!'", "string"),
        ("ts - ts", "int64"),
        ("ts + seconds(1)", "timestamp"),
        ("case when ok then 1 else 2.5 end", "float64"),
        ("coalesce(null, ticker)", "string"),
        ("tags[1]", "string"),
        ("cast(price as int8)", "int8"),
        ("price between 1 and volume", "bool"),
        ("open + 1", "int64"),
        ("list_sum(prices)", "float64"),
    ],
)
def test_types(text: str, word: str) -> None:
    assert problems(parse(text), SCOPE) == ()
    assert word_of(check(parse(text), SCOPE)) == word


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("pric > 1", ["reads 'pric', which its input does not have; it has: ticker, name, price, small, volume, ok, ts,"
                      " tags, prices, open; did you mean 'price'?"]),
        ("sume(price)", ["has no function 'sume'; did you mean 'sum'?"]),
        ("name + price", ["adds a string and a float64"]),
        ("ts - name", ["subtracts a string from a timestamp"]),
        ("name * 2", ["multiplies a string by an int64"]),
        ("name / 2", ["divides a string by an int64"]),
        ("price // 2", ["divides a float64 by an int64 as whole numbers; use trunc(a / b)"]),
        ("name % 2", ["takes a string modulo an int64"]),
        ("-name", ["negates a string"]),
        ("name = 1", ["compares a string with an int64"]),
        ("ts > '2005'", ["compares a timestamp with a string; write timestamp '...' for a moment"]),
        ("tags = tags", ["compares a list<string> with a list<string>"]),
        ("price and ok", ["uses a float64 as a condition of 'and'"]),
        ("if(ok, 1, 'x')", ["mixes an int64 and a string in if"]),
        ("cast(price as timestamp)", ["casts a float64 to a timestamp"]),
        ("to_integer(tags)", ["casts a list<string> to an int64"]),
        ("upper(price)", ["gives upper a float64 as its s, which takes a string"]),
        ("round()", ["calls round with no arguments; it is round(x, [digits])"]),
        ("starts_with(name, ticker)", ["gives starts_with a part that is no literal; it must be fixed"]),
        ("regex_match(name, '(')", ["has a pattern that cannot be used: missing ): ("]),
        ("regex_extract(name, '(a)', 2)", ["asks for group 2 of a pattern with 1"]),
        ("to_timestamp(name, '%Q')", ["has a time format with '%Q'; the codes are %Y %m %d %H %M %S %f %b and %%"]),
        ("to_timestamp(name, '%Y%Y')", ["has a time format to read that names one part twice"]),
        ("date_trunc('minut', ts)", ["truncates to 'minut'; there are: year, quarter, month, week, day, hour, minute,"
                                     " second, millisecond; did you mean 'minute'?"]),
        ("split(name, '')", ["gives split an empty text to look for"]),
        ("lpad(name, -1)", ["gives lpad the width -1; it is 0 to 1000000"]),
        ("lpad(name, 3, 'ab')", ["gives lpad a fill of 2 characters; it must be one"]),
        ("list_sum(tags)", ["calls list_sum on a list<string>, which holds no numbers"]),
        ("list_contains(tags, 1)", ["looks for an int64 in a list<string>"]),
        ("least(ok, ok)", ["orders a bool in least"]),
        ("microseconds(name)", ["takes microseconds of a string"]),
        ("sum(price)", ["calls sum, which only an aggregate can compute"]),
        ("null", ["is null whatever it gets, and so has no type; use cast(null as ...)"]),
        ("left.price", ["reads 'left.price', but has no input 'left'; it has: no named inputs"]),
        ("nam = 1 or upper(pric) = 2", ["reads 'nam'", "reads 'pric'", "compares a string with an int64"]),
    ],
)  # fmt: skip
def test_every_problem_is_told(text: str, sentences: list[str]) -> None:
    found = sorted(str(problem) for problem in problems(parse(text), SCOPE))
    assert len(found) == len(sentences)
    assert all(one.startswith(other) for one, other in zip(found, sorted(sentences), strict=True))


def test_an_open_type_raises_no_further_problem() -> None:
    assert problems(parse("upper(open) + 'x' = name and open > 3"), SCOPE) == ()
    assert len(problems(parse("upper(missing) + 'x' = name"), SCOPE)) == 1


def test_names_are_found_at_their_port() -> None:
    assert word_of(check(parse("a"), PAIR)) == "string"
    assert word_of(check(parse("left.id + right.id"), PAIR)) == "int64"
    assert str(problems(parse("id > 1"), PAIR)[0]) == (
        "reads 'id', which several of its inputs have; write left.id or right.id"
    )
    assert str(problems(parse("b"), PAIR)[0]) == "reads 'b', which none of its inputs has; they have: id, a"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("count()", "int64"),
        ("sum(volume)", "int64"),
        ("avg(volume) + 1", "float64"),
        ("min(small)", "float32"),
        ("any(ticker)", "symbol"),
        ("collect(ticker)", "list<string>"),
        ("window_end()", "timestamp"),
        ("median(price) * 2", "float64"),
    ],
)
def test_aggregates_have_types(text: str, word: str) -> None:
    scope = Scope(SCOPE.ports, {"Median": pa.float64()})
    assert problems(parse(text), scope, aggregates=True) == ()
    assert word_of(type_of_expression(parse(text), scope, aggregates=True)) == word


def test_aggregates_do_not_nest_and_attributes_stay_inside() -> None:
    found = [str(p) for p in problems(parse("price + sum(max(price))"), SCOPE, aggregates=True)]
    assert found == [
        "reads 'price' outside of an aggregate; use any(price)",
        "calls max within sum, but aggregates do not nest",
    ]


def test_aggregate_calls_come_once_each_in_order() -> None:
    calls = aggregate_calls(parse("sum(a) / count() + sum(a) + mine(b)"), {"mine": pa.int64()})
    assert [to_text(call) for call in calls] == ["sum(a)", "count()", "mine(b)"]


def test_check_raises_the_first_problem() -> None:
    with pytest.raises(ExpressionError, match="adds a string and a float64"):
        check(parse("name + price"), SCOPE)
