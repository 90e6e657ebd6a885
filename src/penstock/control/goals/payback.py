"""How readily control changes something: a word, or the seconds within which a change has to pay."""

from __future__ import annotations

from penstock.arguments import is_number
from penstock.errors import InputError, did_you_mean

PAYBACK_S = {"calm": 10.0, "balanced": 5.0, "eager": 2.0}
DEFAULT_WILLINGNESS = "balanced"


def payback_s(willingness: str | float) -> float:
    """The seconds of a word, or the seconds themselves.

    >>> payback_s("calm"), payback_s(3)
    (10.0, 3.0)
    """
    problem = willingness_problem(willingness)
    if problem is not None:
        raise InputError(problem)
    return PAYBACK_S[willingness] if isinstance(willingness, str) else float(willingness)


def willingness_problem(willingness: str | float) -> str | None:
    """What is wrong with it, if anything."""
    if isinstance(willingness, str):
        if willingness in PAYBACK_S:
            return None
        hint = did_you_mean(willingness, PAYBACK_S)
    else:
        if is_number(willingness) and willingness > 0:
            return None
        hint = None
    words = ", ".join(PAYBACK_S)
    sentence = (
        f"willingness is one of {words}, or the seconds, above 0, within which a change pays; got {willingness!r}"
    )
    return f"{sentence}; {hint}" if hint else sentence
