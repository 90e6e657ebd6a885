"""How readily control changes something: a word, or the seconds within which a change has to pay."""

from __future__ import annotations

import warnings

from penstock.arguments import is_number
from penstock.errors import InputError, did_you_mean

PAYBACK_S = {"calm": 10.0, "balanced": 5.0, "eager": 2.0}
DEFAULT_PAYBACK = "balanced"


def payback_s(payback: str | float) -> float:
    """The seconds of a word, or the seconds themselves.

    >>> payback_s("calm"), payback_s(3)
    (10.0, 3.0)
    """
    problem = payback_problem(payback)
    if problem is not None:
        raise InputError(problem)
    return PAYBACK_S[payback] if isinstance(payback, str) else float(payback)


def payback_problem(payback: str | float) -> str | None:
    """What is wrong with it, if anything."""
    if isinstance(payback, str):
        if payback in PAYBACK_S:
            return None
        hint = did_you_mean(payback, PAYBACK_S)
    else:
        if is_number(payback) and payback > 0:
            return None
        hint = None
    words = ", ".join(PAYBACK_S)
    sentence = f"payback is one of {words}, or the seconds, above 0, within which a change pays; got {payback!r}"
    return f"{sentence}; {hint}" if hint else sentence


def payback_or_old_name(payback: str | float | None, willingness: str | float | None) -> str | float | None:
    """The payback, also where it was given by the name that it had before 0.2."""
    if willingness is None:
        return payback
    if payback is not None:
        raise InputError("willingness is the old name of payback; give payback alone")
    warnings.warn(
        "willingness is now payback; the old name goes in 0.2", DeprecationWarning, stacklevel=4
    )  # over the call's checks
    return willingness
