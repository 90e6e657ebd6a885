"""Every function of the catalogue does what its example says, and the reference lists them all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.expressions import parse
from penstock.expressions.evaluation.environment import Environment
from penstock.expressions.evaluation.evaluate import evaluate
from penstock.expressions.functions.catalogue import AGGREGATES, FUNCTIONS, canonical_name
from penstock.expressions.functions.function import Function
from penstock.expressions.functions.reference import reference_page
from penstock.kernels.text.calendar import day_of, days_of, month_of, text_of_microseconds, year_of
from tests.checkout import ROOT
from tests.reference.expression_times import date_of
from tests.reference.expressions import reference

DOCS = ROOT / "docs" / "expressions.md"


def shown(value: Any, type_: pa.DataType) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"timestamp '{text_of_microseconds(value)}'" if pa.types.is_timestamp(type_) else repr(value)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)
def test_the_example_holds(function: Function) -> None:
    column = evaluate(parse(function.example), Environment(2, {}))
    array = column.to_arrow()
    plain = array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
    assert len(array) == 2
    assert shown(plain[0].as_py(), array.type) == function.gives
    assert shown(reference(parse(function.example), {}, pa.schema([])), array.type) == function.gives


def test_the_handbook_is_current() -> None:
    assert DOCS.read_text() == reference_page(), (
        "write docs/expressions.md anew: penstock.expressions.functions.reference"
    )


def test_names_are_found_in_any_case_and_as_camel_case() -> None:
    assert canonical_name("regexMatch") == canonical_name("REGEX_MATCH") == "regex_match"
    assert canonical_name("Cnt") == "count"
    assert canonical_name("Unheard") == "unheard"


def test_no_two_functions_share_a_spelling() -> None:
    functions = [*FUNCTIONS.values(), *AGGREGATES.values()]
    spellings = [name for f in functions for name in (f.name, *f.aliases)]
    assert len(spellings) == len(set(spellings))


def test_the_calendar_is_the_usual_one() -> None:
    for moment in range(-62_135_596_800_000_000, 253_402_300_799_000_000, 86_400_000_000 * 997 + 12_345_678):
        date = date_of(moment)
        assert (year_of(moment), month_of(moment), day_of(moment)) == (date.year, date.month, date.day)
        assert days_of(date.year, date.month, date.day) == moment // 86_400_000_000
