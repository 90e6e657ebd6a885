"""Expressions: SQL text (and SPADE's) to checked trees and back, and their evaluation over columns.

`lexer.py`, `parser.py` and `tree.py` read a text; `check.py` gives every node its type and collects every problem.

May import `kernels` and the rooms below it.  Begin with `tree.py`, then `check.py`; `evaluation` has the engine,
`functions` the catalogue.
"""

from penstock.expressions.check import Scope, Typed, aggregate_calls, check, problems, type_of_expression, typed
from penstock.expressions.parser import parse
from penstock.expressions.printer import to_text
from penstock.expressions.tree import (
    Attribute,
    Call,
    Expression,
    Literal,
    attributes,
    replace_calls,
    uses_sequence,
    walk,
)

__all__ = [
    "parse",
    "to_text",
    "Scope",
    "Typed",
    "check",
    "problems",
    "type_of_expression",
    "typed",
    "aggregate_calls",
    "Attribute",
    "Call",
    "Expression",
    "Literal",
    "attributes",
    "replace_calls",
    "uses_sequence",
    "walk",
]
