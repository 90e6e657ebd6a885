"""Regular expressions over whole columns (RE2, through Arrow)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.column import ArrowColumn
from penstock.expressions.evaluation.text import Evaluation, Operands
from penstock.expressions.evaluation.values import Value, fixed_of
from penstock.expressions.patterns import with_named_groups


def _match(call: Operands) -> Value:
    """The groups of a match of the whole string; the string itself where the pattern has no groups."""
    pattern, groups = with_named_groups(call.literal(1))
    text = call.text()
    if groups == 0:
        pattern, groups = f"(?P<g1>{pattern})", 1
    found = pc.extract_regex(text, rf"\A(?:{pattern})\z")
    return ArrowColumn(_lists([found.field(f"g{place + 1}") for place in range(groups)], found, text))


def _lists(columns: list[pa.Array], found: pa.StructArray, text: pa.Array) -> pa.ListArray:
    """One list per row, of the row's values in all columns where it matched; null where the text is."""
    rows, groups = len(text), len(columns)
    matched = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False))
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(matched * groups, out=offsets[1:])
    places = np.flatnonzero(matched)[:, None] + np.arange(groups)[None, :] * rows
    values = pa.concat_arrays(columns).take(pa.array(places.ravel()))
    mask = pc.is_null(text) if text.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def _extract(call: Operands) -> Value:
    pattern, _ = with_named_groups(call.literal(1))
    found = pc.extract_regex(call.text(), f"(?P<g0>{pattern})")
    group = found.field(f"g{call.literal(2)}")
    return ArrowColumn(pc.if_else(pc.is_valid(found), group, pa.scalar(None, pa.string())))


def _replace(call: Operands) -> Value:
    every = call.literal(3) if len(call.values) == 4 else True
    most = None if every else 1
    text = pc.replace_substring_regex(call.text(), call.literal(1), call.literal(2), max_replacements=most)
    return ArrowColumn(text)


def _contains(call: Operands) -> Value:
    return fixed_of(pc.match_substring_regex(call.text(), call.literal(1)), pa.bool_())


EVALUATIONS: Mapping[str, Evaluation] = {
    "regex_match": _match,
    "regex_extract": _extract,
    "regex_replace": _replace,
    "regex_contains": _contains,
}
