"""Parsing and printing of expressions, in both dialects."""

from __future__ import annotations

import pytest

from penstock.errors import ExpressionError
from penstock.expressions import Attribute, Call, parse, replace_calls, to_text, uses_sequence


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a + b * 2", "a + (b * 2)"),
        ("a - b - c", "(a - b) - c"),
        ("not a = b or c and d", "(not (a = b)) or (c and d)"),
        ("-a * b", "(-(a)) * b"),
        ("- -5", "-(-5)"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("a not between 1 and 2 and b", "(not (a between 1 and 2)) and b"),
        ("a not in (1, 2)", "not (a in (1, 2))"),
        ("a is not null", "not (a is null)"),
        ("case a when 1 then 'x' end", "case when a = 1 then 'x' else null end"),
        ("'it''s' || b", "concat('it''s', b)"),
        ("CAST(a AS Float64)", "cast(a as float64)"),
        ("cast(a as list<string>)", "cast(a as list<string>)"),
        ("x[1]", "element(x, 1)"),
        ("a // 2 % 3", "div(a, 2) % 3"),
        ("left.price == \"odd name\"", 'left.price = "odd name"'),
        ("größe > 1e3", "größe > 1000.0"),
        ("timestamp '2005-12-27 14:23'", "timestamp '2005-12-27 14:23:00.000000'"),
        ("timestamp > 1", "timestamp > 1"),
        ("REGEXMATCH(a, 'b')", "regex_match(a, 'b')"),
        ("a = 1 & !b | c", "((a = 1) and (not b)) or c"), ("x * 100.0d", "x * 100.0"),
    ],
)  # fmt: skip
def test_sql_is_read_and_printed_back(text: str, printed: str) -> None:
    assert to_text(parse(text)) == printed
    assert parse(printed) == parse(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('ttype="Trade"', "ttype = 'Trade'"),
        ("$1.a = $2.b & $2.c <= 1 | !d", '(("1".a = "2".b) and ("2".c <= 1)) or (not d)'),
        ("(s/v)*100.0d", "(s / v) * 100.0"),
        ("100d", "100.0"),
        ("7l", "7"),
        (r'regexReplace(t,"\d\"","0",true)', "regex_replace(t, '\\d\"', '0', true)"),
        ("MCnt() + Cnt() + seqNum()", "(mcnt() + count()) + seq_num()"),
        ('select(toInteger(d[2])-1, "JAN")', "select(to_integer(element(d, 2)) - 1, 'JAN')"),
        ("timeStampToMicroseconds(d, t)", "timestamp_to_microseconds(d, t)"),
        ("toDouble(x) + toFloat(y)", "to_float(x) + to_float(y)"),
    ],
)
def test_spade_is_read(text: str, printed: str) -> None:
    assert to_text(parse(text, "spade")) == printed


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("1 +", 4, "expected a value at column 4, got the end"),
        ("a b", 3, "expected an operator or the end at column 3, got 'b'"),
        ("f(a", 4, "expected ',' or ')' at column 4, got the end"),
        ("a < b < c", 7, "expected 'and', 'or' or the end (comparisons do not chain) at column 7, got '<'"),
        ("a not 5", 7, "expected 'between', 'in' or 'like' after 'not' at column 7, got '5'"),
        ("case 1 end", 8, "expected 'when' at column 8, got 'end'"),
        ("'abc", 1, "has a quote ' that is never closed"),
        ("12abc", 1, "has a number that runs into a name: '12abc'"),
        ("a ? b", 3, "has a character that belongs to no expression: '?'"),
        ("+".join(["a"] * 200), None, "is nested more than 150 deep; compute parts of it in a functor before"),
        ("(" * 2000 + "a" + ")" * 2000, None, "is nested more than 150 deep"),
        ("9223372036854775808", 1, "has a number that does not fit into 64 bits: 9223372036854775808"),
        ("timestamp 'soon'", 11, "has a timestamp that cannot be read: 'soon'"),
        ("cast(a as flaot64)", 11, "there is no type 'flaot64'"),
    ],
)
def test_a_mistake_is_told_with_its_column(text: str, column: int | None, sentence: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value).startswith(sentence)
    assert caught.value.column == column


def test_replaced_calls_become_attributes() -> None:
    tree = parse("sum(a) / count() + sum(a)")
    mapping = {Call("sum", (Attribute("a"),)): Attribute("s"), Call("count", ()): Attribute("n")}
    assert to_text(replace_calls(tree, mapping)) == "(s / n) + s"


def test_sequence_numbers_are_noticed() -> None:
    assert uses_sequence(parse("1 + seq_num()"))
    assert not uses_sequence(parse("seq + 1"))
