"""The reference of expressions: docs/expressions.md, written from the catalogue so that it cannot fall behind."""

from __future__ import annotations

from penstock.expressions.functions.catalogue import AGGREGATES, GROUPS
from penstock.expressions.functions.function import Function

_HEAD = """# Expressions

Filters, outputs and aggregates are written as SQL expressions and checked against schemas when an application is built.
This page is written by `penstock.expressions.functions.reference`; do not edit it.

## Syntax

| what | how |
|---|---|
| attributes | `price`, `left.price`, `"any name"`; in SPADE programs also `$1.price` |
| constants | `12`, `1.5e3`, `'text'` (a quote inside is doubled), `true`, `false`, `null` |
| moments | `timestamp '2005-12-27 14:23:05'` |
| arithmetic | `+` `-` `*` `/` `//` `%`; `+` also joins strings, as does <code>&#124;&#124;</code> |
| comparisons | `=` (`==`), `<>` (`!=`), `<`, `<=`, `>`, `>=` |
| tests | `between .. and ..`, `in (..)`, `like`, `is null`, each with `not` |
| logic | `and`, `or`, `not`, also written `&`, <code>&#124;</code>, `!` |
| choice | `case when .. then .. else .. end`, `case x when .. then .. end` |
| conversion | `cast(x as float64)` |
| lists | `x[1]` is the first element |

Operators from loosest to tightest: `or`; `and`; `not`; comparisons; `||`; `+` `-`; `*` `/` `//` `%`; the sign; `[ ]`.

## Rules

- Whole numbers are computed in int64 and wrap; all others in float64. uint64 is read as int64, in comparisons too.
- `/` always gives float64, by IEEE: `1 / 0` is infinite. `//` and `%` of whole numbers cut towards zero and are null
  for a divisor of 0; `%` of floats is C's fmod.
- NaN equals nothing, itself included. An int64 and a float64 are compared as float64.
- Null follows SQL: what is computed from null is null, `null and false` is false, `null or true` is true, and a filter
  passes only what is true.
- A timestamp minus a timestamp gives microseconds (int64); a timestamp plus or minus an int64 moves it by microseconds.
- Patterns are RE2's. Patterns, formats, units and separators are literals. A group that takes no part in a match is ''.
- A cast that has no answer (`cast('x' as int64)`, `cast(300 as int8)`) gives null.
- Function names may be written in any case, with or without underscores: `regexMatch` is `regex_match`.
"""


def reference_page() -> str:
    """The text of docs/expressions.md."""
    parts = [_HEAD]
    for title, functions in GROUPS.items():
        parts.append(_table(title, "gives", functions))
    parts.append(_table("Aggregates (only in aggregates)", "type", tuple(AGGREGATES.values())))
    return "\n".join(parts)


def _table(title: str, last: str, functions: tuple[Function, ...]) -> str:
    lines = [f"## {title}", "", f"| function | what | example | {last} |", "|---|---|---|---|"]
    for function in functions:
        also = f" Also: {', '.join(f'`{alias}`' for alias in function.aliases)}." if function.aliases else ""
        cells = (f"`{function.signature}`", function.doc + also, f"`{function.example}`", f"`{function.gives}`")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
