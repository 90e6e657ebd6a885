"""The catalogue: every function and aggregate that expressions can call, and how each may be spelt."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.expressions.functions import type_rules as rules
from penstock.expressions.functions.function import Function, function, index_by_spelling
from penstock.expressions.functions.number_functions import CHOICES, NUMBERS
from penstock.expressions.functions.operators import OPERATORS
from penstock.expressions.functions.text_functions import TEXTS
from penstock.expressions.functions.time_functions import LISTS, TIMES

AGGREGATE_FUNCTIONS = (
    function(
        "any(x:any)",
        rules.unchanged,
        "One of the values: the oldest, as with `first`, so that replays agree.",
        "any(ticker)",
        "the argument's type",
    ),
    function("first(x:any)", rules.unchanged, "The oldest value.", "first(price)", "the argument's type"),
    function("last(x:any)", rules.unchanged, "The newest value.", "last(price)", "the argument's type"),
    function(
        "count(x:any?)", rules.INT, "How many tuples, or how many values that are not null.", "count()", "int64", "cnt"
    ),
    function(
        "mcnt(x:any?)",
        rules.INT,
        "SPADE's MCnt: how many tuples the window holds, whatever their group.",
        "mcnt()",
        "int64",
    ),
    function("sum(x:number)", rules.same, "The sum.", "sum(volume)", "int64 or float64"),
    function("avg(x:number)", rules.FLOAT, "The mean.", "avg(price)", "float64", "mean"),
    function("min(x:any)", rules.ordered_unchanged("min"), "The smallest value.", "min(price)", "the argument's type"),
    function("max(x:any)", rules.ordered_unchanged("max"), "The largest value.", "max(price)", "the argument's type"),
    function("stddev(x:number)", rules.FLOAT, "The standard deviation.", "stddev(price)", "float64", "std"),
    function("count_distinct(x:any)", rules.INT, "How many different values.", "count_distinct(ticker)", "int64"),
    function(
        "collect(x:any)", rules.list_of, "All values, oldest first.", "collect(price)", "list<the argument's type>"
    ),
    function("window_start()", rules.TIME, "Where the window starts.", "window_start()", "timestamp"),
    function("window_end()", rules.TIME, "Where the window ends.", "window_end()", "timestamp"),
)
GROUPS: Mapping[str, tuple[Function, ...]] = {
    "Numbers": NUMBERS,
    "Choices": CHOICES,
    "Text": TEXTS,
    "Time": TIMES,
    "Lists": LISTS,
}
FUNCTIONS: Mapping[str, Function] = {f.name: f for group in GROUPS.values() for f in group}
AGGREGATES: Mapping[str, Function] = {f.name: f for f in AGGREGATE_FUNCTIONS}
_SPELLINGS = {
    "mod": "modulo",
    **{name: name for name in OPERATORS},
    **index_by_spelling((*FUNCTIONS.values(), *AGGREGATES.values())),
}


def canonical_name(spelling: str) -> str:
    """The name a function has in trees: 'regexMatch' is 'regex_match'; unknown names are only put in small letters."""
    return _SPELLINGS.get(spelling.lower(), spelling.lower())


def known_names() -> tuple[str, ...]:
    """Names to suggest for a misspelt function."""
    return (*AGGREGATES, *FUNCTIONS, "div", "cast")
