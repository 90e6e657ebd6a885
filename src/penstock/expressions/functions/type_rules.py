"""Rules: the type a function gives from the types it gets."""

from __future__ import annotations

import pyarrow as pa

from penstock.block.schema import TIMESTAMP
from penstock.errors import ExpressionError
from penstock.expressions.functions.function import Rule, Types
from penstock.expressions.functions.operators import cast_type, meeting_type
from penstock.expressions.kinds import article_and_word, common_type, computed, kind_of


def fixed(type_: pa.DataType) -> Rule:
    return lambda types: type_


def same(types: Types) -> pa.DataType:
    return computed(types[0])


def unchanged(types: Types) -> pa.DataType:
    return types[0]


def alternatives(name: str, first: int = 0) -> Rule:
    return lambda types: meeting_type(name, types[first:])


def ordered(name: str) -> Rule:
    def rule(types: Types) -> pa.DataType:
        common = meeting_type(name, types)
        if kind_of(common) in ("boolean", "list"):
            raise ExpressionError(f"orders {article_and_word(common)} in {name}")
        return common

    return rule


def ordered_unchanged(name: str) -> Rule:
    def rule(types: Types) -> pa.DataType:
        ordered(name)(types)
        return types[0]

    return rule


def element_of(types: Types) -> pa.DataType:
    return pa.null() if kind_of(types[0]) == "unknown" else computed(types[0].value_type)


def number_in_list(name: str) -> Rule:
    def rule(types: Types) -> pa.DataType:
        element = element_of(types)
        if kind_of(element) not in ("integer", "float", "unknown"):
            raise ExpressionError(f"calls {name} on {article_and_word(types[0])}, which holds no numbers")
        return element

    return rule


def contained(types: Types) -> pa.DataType:
    if common_type((element_of(types), types[1])) is None:
        raise ExpressionError(f"looks for {article_and_word(types[1])} in {article_and_word(types[0])}")
    return pa.bool_()


def converted(wanted: pa.DataType) -> Rule:
    return lambda types: cast_type(types[0], wanted)


def duration(types: Types) -> pa.DataType:
    if kind_of(types[0]) not in ("timestamp", "integer", "float", "unknown"):
        raise ExpressionError(f"takes microseconds of {article_and_word(types[0])}")
    return pa.int64()


def nullif(types: Types) -> pa.DataType:
    meeting_type("nullif", types)
    return computed(types[0])


def list_of(types: Types) -> pa.DataType:
    element = pa.string() if kind_of(types[0]) == "text" else types[0]
    return pa.null() if kind_of(element) == "unknown" else pa.list_(element)


BOOL, INT, FLOAT, TEXT = fixed(pa.bool_()), fixed(pa.int64()), fixed(pa.float64()), fixed(pa.string())
TIME, TEXTS = fixed(TIMESTAMP), fixed(pa.list_(pa.string()))
