"""The slow, obvious functions of text and lists, and conversions, one value at a time."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from tests.reference.expression_times import format_moment, to_timestamp


def wrap(value: int) -> int:
    """Two's complement of 64 bits."""
    return (int(value) + 2**63) % 2**64 - 2**63


def cast(value: Any, given: pa.DataType, wanted: pa.DataType) -> Any:
    if pa.types.is_string(wanted) or pa.types.is_dictionary(wanted):
        return text_of(value, given)
    if isinstance(value, str):
        return value_of(value, wanted)
    if pa.types.is_boolean(wanted):
        return value != 0
    if pa.types.is_floating(wanted):
        return float(wrap(value) if pa.types.is_uint64(given) else value)
    if pa.types.is_integer(wanted):
        return integer_of(value, given, wanted)
    return value


def integer_of(value: Any, given: pa.DataType, wanted: pa.DataType) -> int | None:
    if isinstance(value, float):
        if not -(2.0**63) <= value < 2.0**63:
            return None
        value = int(value)
    if given == wanted:
        return int(value)
    value = wrap(value)
    bits, is_signed = wanted.bit_width, pa.types.is_signed_integer(wanted)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    return value if low <= value <= high else None


def text_of(value: Any, given: pa.DataType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if pa.types.is_timestamp(given):
        return format_moment(value, "%Y-%m-%d %H:%M:%S.%f")
    return str(value)


def value_of(text: str, wanted: pa.DataType) -> Any:
    if pa.types.is_timestamp(wanted):
        if not re.fullmatch(r"\s*\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?Z?\s*", text, re.ASCII):
            return None
        text = text.strip().rstrip("Z").replace("T", " ")
        for format_ in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
            if (moment := to_timestamp(text.strip(), format_)) is not None:
                return moment
        return None
    text = text.strip(" \t\n\r\v\f")
    if pa.types.is_boolean(wanted):
        return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(text.lower())
    if pa.types.is_integer(wanted):
        return integer_text(text, wanted)
    number = r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)"
    return float(text) if re.fullmatch(number, text, re.ASCII | re.IGNORECASE) else None


def integer_text(text: str, wanted: pa.DataType) -> int | None:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII) or wrap(int(text)) != int(text):
        return None
    return integer_of(int(text), pa.int64(), wanted)


def substring(s: str, start: int, count: int | None = None) -> str:
    stop = len(s) + 1 if count is None else start + count
    return "".join(character for place, character in enumerate(s, 1) if start <= place < stop)


def like(s: str, pattern: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    body = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts)
    return re.fullmatch(body, s, re.DOTALL) is not None


def regex_match(s: str, pattern: str) -> list[str]:
    found = re.fullmatch(pattern, s)
    if found is None:
        return []
    return [group or "" for group in found.groups()] if found.groups() else [s]


def regex_extract(s: str, pattern: str, group: int) -> str | None:
    found = re.search(pattern, s)
    return None if found is None else found[group] or ""


def regex_replace(s: str, pattern: str, replacement: str, every: bool = True) -> str:
    return re.sub(pattern, replacement, s, count=0 if every else 1)


def element(items: list[Any], i: int) -> Any:
    return items[i - 1] if 1 <= i <= len(items) else None


def list_sum(items: list[Any]) -> Any:
    present = [item for item in items if item is not None]
    if not present:
        return None
    total = present[0]
    for item in present[1:]:
        total = total + item
    return total
