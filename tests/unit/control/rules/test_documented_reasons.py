"""The how-to page on holds has the sentences and the numbers of the rules."""

from __future__ import annotations

import re

import pytest

from penstock.control.rules.guard import Guard
from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "how-to" / "why-it-held.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([a-z][^|]*) \| ([^|]*) \|", PAGE, re.MULTILINE)
REASONS = [reason for reason, _ in ROWS if "reason says" not in reason]
MODULES = sorted((ROOT / "src" / "penstock" / "control").rglob("*.py"))
CODE = re.sub(r"\{[^}]*\}", "N", "".join(path.read_text(encoding="utf-8") for path in MODULES))


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_of_the_page_is_one_of_the_code(reason: str) -> None:
    assert reason in CODE


def test_the_page_has_the_rules_numbers() -> None:
    words = {5: "five", 6: "six", 12: "twelve"}
    guard = Guard()
    assert f"at most {words[guard.patience_steps]} steps" in PAGE
    assert f"after {words[guard.reversals]} reversals within {words[guard.oscillation_steps]} steps" in PAGE
    assert len(REASONS) >= 8
