"""Misprints that are read as what was meant, each with a warning that says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repair:
    """One misprint: the line, and a sentence that names it and what was read instead."""

    line: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.sentence}"


# MODEL, A.5: the list {1-3, 5, 7-9, 11, 15-16} gives ten columns to the nine attributes ticker ... asksize.
# Column 11 is the bid price, for which the printed schema has no attribute: ask price and size are 15 and 16.
_VWAP_COLUMNS = (1, 2, 3, 5, 7, 8, 9, 11, 15, 16)
_VWAP_ATTRIBUTES = ("ticker", "date", "time", "ttype", "price", "volume", "vwap", "askprice", "asksize")
_VWAP_SURPLUS = 11


def unclosed_parenthesis(kind: str, opened_line: int, closed_line: int) -> Repair:
    """The parenthesis after an operator's name that is still open where the operator ends."""
    return Repair(
        closed_line,
        f"the parenthesis of {kind} (opened in line {opened_line}) is never closed; read as if ')' stood after '}}'",
    )


def surplus_column(
    columns: tuple[int, ...], attributes: tuple[str, ...], line: int
) -> tuple[tuple[int, ...], Repair | None]:
    """The columns without the surplus one of MODEL's A.5; any other list is left as it is, for a guess would be a wrong read."""
    if columns != _VWAP_COLUMNS or attributes != _VWAP_ATTRIBUTES:
        return columns, None
    sentence = (
        f"{len(columns)} columns are listed for {len(attributes)} attributes; "
        f"read as if the surplus column {_VWAP_SURPLUS} were not there"
    )
    return tuple(column for column in columns if column != _VWAP_SURPLUS), Repair(line, sentence)
