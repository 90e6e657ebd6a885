"""SPADE's types in Penstock's words."""

from __future__ import annotations

from penstock.errors import InputError, did_you_mean

# Integer and Float are read as their wide kin: counts and sums of a long-running stream outgrow 32 bits, and a price
# that was printed in decimals keeps its digits.
_WORD_BY_TYPE = {
    "String": "string",
    "Boolean": "bool",
    "Byte": "int64",
    "Short": "int64",
    "Integer": "int64",
    "Long": "int64",
    "Float": "float64",
    "Double": "float64",
}


def type_word(spade_type: str) -> str:
    """The word of `penstock.block.schema` for a SPADE type.

    >>> type_word("Integer"), type_word("StringList")
    ('int64', 'list<string>')
    """
    if spade_type in _WORD_BY_TYPE:
        return _WORD_BY_TYPE[spade_type]
    element = spade_type.removesuffix("List")
    if element != spade_type and element in _WORD_BY_TYPE:
        return f"list<{_WORD_BY_TYPE[element]}>"
    hint = did_you_mean(spade_type, (*_WORD_BY_TYPE, *(f"{name}List" for name in _WORD_BY_TYPE)))
    known = f"{', '.join(_WORD_BY_TYPE)}, and each with List behind it"
    raise InputError(f"there is no type '{spade_type}'; there are: {known}" + (f"; {hint}" if hint else ""))
