"""A tree that is printed and parsed again is the same tree."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.block.schema import TIMESTAMP
from penstock.expressions import Attribute, Call, Expression, Literal, parse, to_text
from penstock.expressions.functions.catalogue import FUNCTIONS
from penstock.expressions.functions.operators import OPERATORS
from tests.reference.expression_strategies import expressions

_COUNTS = {"cast": 0, "case": 3, "in": 3} | {
    name: least for name, (least, _, _) in OPERATORS.items() if name not in ("cast", "case", "in")
}
LITERALS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(lambda v: Literal(v, pa.int64())),
    st.floats(allow_nan=False).map(lambda v: Literal(v, pa.float64())),
    st.text(max_size=5).map(lambda v: Literal(v, pa.string())),
    st.sampled_from([Literal(True, pa.bool_()), Literal(False, pa.bool_()), Literal(None, pa.null())]),
    st.integers(-(2**62), 2**62).map(lambda v: Literal(v, TIMESTAMP)),
)
NAMES = st.one_of(
    st.sampled_from(["a", "end", "größe", "#0", 'odd"name', "1", "timestamp", "x y"]), st.text(min_size=1, max_size=4)
)
ATTRIBUTES = st.builds(Attribute, NAMES, st.one_of(st.none(), NAMES))


def _calls(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def call(name: str) -> st.SearchStrategy[Any]:
        if name == "cast":
            type_ = st.sampled_from(["float64", "list<string>", "symbol"]).map(lambda word: Literal(word, pa.string()))
            return st.builds(lambda x, t: Call("cast", (x, t)), children, type_)
        count = _COUNTS.get(name, 2)
        return st.lists(children, min_size=count, max_size=count).map(lambda found: Call(name, tuple(found)))

    return st.sampled_from([*OPERATORS, *FUNCTIONS]).flatmap(call)


@settings(max_examples=500, deadline=None)
@example(Literal(-62_167_219_200_000_001, TIMESTAMP))  # a year before 0 has its sign and four digits
@given(st.recursive(st.one_of(LITERALS, ATTRIBUTES), _calls, max_leaves=12))
def test_any_tree(tree: Expression) -> None:
    assert parse(to_text(tree)) == tree


@settings(max_examples=200, deadline=None)
@given(st.one_of(*(expressions(kind) for kind in ("int", "float", "bool", "text", "moment"))))
def test_any_text(text: str) -> None:
    assert parse(to_text(parse(text))) == parse(text)
