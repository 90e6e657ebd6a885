"""Sentences stay sentences, whatever is quoted in them."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import InputError, UnknownNameError, did_you_mean


def test_the_middle_of_a_huge_quotation_is_left_out_and_the_hint_stays() -> None:
    text = str(InputError(f"got '{'x' * 1_000_000}'; did you mean 'y'?"))
    assert len(text) < 2_100
    assert text.startswith("got 'xxx")
    assert text.endswith("xxx'; did you mean 'y'?")


def test_every_mistake_of_several_is_told() -> None:
    assert str(InputError("\n".join(["a" * 1_900, "b" * 5_000, "last"]))).splitlines()[::2] == ["a" * 1_900, "last"]


def test_a_name_that_is_not_there_is_told_without_quotes_around_the_sentence() -> None:
    assert str(UnknownNameError("there is no x")) == "there is no x"


def test_a_huge_name_has_no_hint_and_takes_no_time() -> None:
    assert did_you_mean("x" * 1_000_000, ["x" * 400]) is None


@pytest.mark.parametrize("slots", [0, 32_769, 10**40])
def test_slots_without_end_are_refused_and_not_laid_out(slots: int) -> None:
    app = ps.Application("app")
    app.source("in", schema={"x": "int64"}).sink("out")
    with pytest.raises(InputError, match=r"slots of Configuration\.of is a whole number from 1 to 32,768"):
        ps.Configuration.of(app, slots=slots)
