"""Patterns: regular expressions (RE2's, as Arrow runs them) and time formats, validated when an expression is built."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ExpressionError, did_you_mean
from penstock.expressions.tree import Expression, Literal

# What each code of a time format reads and writes.
FORMAT_CODES = {
    "Y": r"[+-]?\d{4,6}",
    "m": r"\d{1,2}",
    "d": r"\d{1,2}",
    "H": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "f": r"\d{1,6}",
    "b": r"[A-Za-z]{3}",
}
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")

_GROUP = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<\w+>", re.DOTALL)
_FORMAT_PART = re.compile(r"%(.?)|([^%]+)", re.DOTALL)


def with_named_groups(pattern: str) -> tuple[str, int]:
    """A pattern whose capturing groups are named g1, g2, ..., and how many there are."""
    count = 0

    def named(found: re.Match[str]) -> str:
        nonlocal count
        if not found[0].startswith("("):
            return found[0]
        count += 1
        return f"(?P<g{count}>"

    return _GROUP.sub(named, pattern), count


def format_parts(text: str) -> list[tuple[str | None, str]]:
    """A time format as (code, '') and (None, literal text) pairs."""
    parts: list[tuple[str | None, str]] = []
    for code, plain in _FORMAT_PART.findall(text):
        if plain:
            parts.append((None, plain))
        elif code == "%":
            parts.append((None, "%"))
        else:
            parts.append((code, ""))
    return parts


def validate_regex(function: str, arguments: tuple[Expression, ...]) -> None:
    """Refuses a pattern, replacement or group number that RE2 would not take."""
    pattern = _text(arguments[1])
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
        if function == "regex_replace":
            pc.replace_substring_regex(pa.array([""]), pattern, _text(arguments[2]))
    except pa.ArrowInvalid as problem:
        raise ExpressionError(f"has a pattern that cannot be used: {_first_line(problem)}") from None
    if function == "regex_extract":
        groups, wanted = with_named_groups(pattern)[1], getattr(arguments[2], "value", 0)
        if not 0 <= wanted <= groups:
            raise ExpressionError(f"asks for group {wanted} of a pattern with {groups}")


def validate_format(function: str, arguments: tuple[Expression, ...]) -> None:
    """Refuses a time format with codes that are not known, or twice the same when it is to be read."""
    codes = [code for code, _ in format_parts(_text(arguments[1])) if code is not None]
    for code in codes:
        if code not in FORMAT_CODES:
            known = " ".join(f"%{c}" for c in FORMAT_CODES)
            raise ExpressionError(f"has a time format with '%{code}'; the codes are {known} and %%")
    if function == "to_timestamp" and len(set(codes)) != len(codes):
        raise ExpressionError("has a time format to read that names one part twice")


def validate_truncation(function: str, arguments: tuple[Expression, ...]) -> None:
    unit = _text(arguments[0])
    if unit.lower() not in TRUNCATIONS:
        known = ", ".join(TRUNCATIONS)
        raise ExpressionError(f"truncates to '{unit}'; there are: {known}", hint=did_you_mean(unit, TRUNCATIONS))


def validate_separator(function: str, arguments: tuple[Expression, ...]) -> None:
    if not _text(arguments[1]):
        raise ExpressionError(f"gives {function} an empty text to look for")


def validate_padding(function: str, arguments: tuple[Expression, ...]) -> None:
    width = getattr(arguments[1], "value", 0)
    if not 0 <= width <= 1_000_000:
        raise ExpressionError(f"gives {function} the width {width}; it is 0 to 1000000")
    if len(arguments) == 3 and len(_text(arguments[2])) != 1:
        raise ExpressionError(f"gives {function} a fill of {len(_text(arguments[2]))} characters; it must be one")


def _text(argument: Expression) -> str:
    return str(argument.value) if isinstance(argument, Literal) else ""


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0].removeprefix("Invalid regular expression: ")
