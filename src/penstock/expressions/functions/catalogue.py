"""The catalogue: every function and aggregate that expressions can call, and how each may be spelt."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.expressions.functions.aggregate_functions import AGGREGATE_FUNCTIONS
from penstock.expressions.functions.function import Function, index_by_spelling
from penstock.expressions.functions.number_functions import CHOICES, NUMBERS
from penstock.expressions.functions.operators import OPERATORS
from penstock.expressions.functions.text_functions import TEXTS
from penstock.expressions.functions.time_functions import LISTS, TIMES

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
