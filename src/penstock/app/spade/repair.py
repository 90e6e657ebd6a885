"""Misprints that are read as what was meant, each with a warning that says so."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.spade.program import Operation, Program, Repair
from penstock.app.spade.resolve import resolve
from penstock.app.spade.source_options import columns
from penstock.errors import InputError

# MODEL, A.5: {1-3, 5, 7-9, 11, 15-16} gives ten columns to nine attributes.  Column 11 is the bid price, for which the
# printed schema has no attribute; ask price and size are 15 and 16.  Any other list that does not fit is a mistake of
# its writer, and reported: a guess there would read wrong data.
_MISPRINTED_COLUMNS = (1, 2, 3, 5, 7, 8, 9, 11, 15, 16)
_SURPLUS_COLUMN = 11


def unclosed_parenthesis(kind: str, opened_line: int, closed_line: int) -> Repair:
    """The repair of a parenthesis after an operator's name that is still open where the operator ends (MODEL, A.5)."""
    sentence = f"the '(' of {kind} in line {opened_line} is never closed; read as if ')' stood after the '}}'"
    return Repair(closed_line, sentence)


def without_surplus_columns(program: Program) -> Program:
    """The program with the surplus column of MODEL's A.5 left out, and a repair that says so."""
    schemas = resolve(program).schemas
    operations, repairs = [], list(program.repairs)
    for operation in program.operations:
        attributes = len(schemas[operation.name]) if operation.kind == "Source" and operation.declares else 0
        if attributes == len(_MISPRINTED_COLUMNS) - 1 and _columns(operation) == _MISPRINTED_COLUMNS:
            repairs.append(_surplus(operation, attributes))
            remaining = tuple(snippet for snippet in operation.outputs if snippet.text != str(_SURPLUS_COLUMN))
            operation = replace(operation, outputs=remaining)
        operations.append(operation)
    return replace(program, operations=tuple(operations), repairs=tuple(sorted(repairs, key=lambda r: r.line)))


def _columns(operation: Operation) -> tuple[int, ...] | None:
    try:
        return columns(operation.outputs)
    except InputError:  # reported where the source is translated
        return None


def _surplus(operation: Operation, attributes: int) -> Repair:
    sentence = (
        f"source '{operation.name}' lists {len(_MISPRINTED_COLUMNS)} columns for {attributes} attributes; "
        f"read as if the surplus column {_SURPLUS_COLUMN} were not listed"
    )
    return Repair(operation.outputs[0].line, sentence)
