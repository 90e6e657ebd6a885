"""The lexer: the text of an expression becomes tokens that know their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal as Choice

from penstock.errors import ExpressionError

Dialect = Choice["sql", "spade"]
Kind = Choice["name", "quoted", "number", "string", "port", "symbol", "end"]

KEYWORDS = frozenset(
    {"and", "or", "not", "between", "in", "like", "is", "null", "true", "false"}
    | {"case", "when", "then", "else", "end", "cast", "as"}
)

_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")
_PORT = re.compile(r"\$(\w+)\s*\.")
_SYMBOL = re.compile(r"\|\||<>|!=|<=|>=|==|//|[-+*/%=<>(),.\[\]&|!]")
_SPACE = re.compile(r"\s+")
_SPADE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: `text` is the name, symbol or number as written, or a string's value; columns from 1."""

    kind: Kind
    text: str
    column: int

    @property
    def word(self) -> str:
        """The lower-case keyword or name, or the symbol; empty for strings and quoted names."""
        return self.text.lower() if self.kind in ("name", "symbol") else ""

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def tokens(text: str, dialect: Dialect = "sql") -> list[Token]:
    """All tokens of a text, the last of kind 'end'."""
    found: list[Token] = []
    place = 0
    while True:
        if space := _SPACE.match(text, place):
            place = space.end()
        if place == len(text):
            return [*found, Token("end", "", place + 1)]
        token, place = _next(text, place, dialect)
        found.append(token)


def _next(text: str, place: int, dialect: Dialect) -> tuple[Token, int]:
    column, character = place + 1, text[place]
    if character in "'\"":
        value, stop = _quoted(text, place, escapes=dialect == "spade")
        kind: Kind = "string" if character == "'" or dialect == "spade" else "quoted"
        return Token(kind, value, column), stop
    if dialect == "spade" and (port := _PORT.match(text, place)):
        return Token("port", port[1], column), port.end()
    if name := _NAME.match(text, place):
        return Token("name", name[0], column), name.end()
    if number := _NUMBER.match(text, place):
        return _number(text, number)
    if symbol := _SYMBOL.match(text, place):
        return Token("symbol", symbol[0], column), symbol.end()
    raise ExpressionError(f"has a character that belongs to no expression: {character!r}", column=column)


def _number(text: str, number: re.Match[str]) -> tuple[Token, int]:
    """A number; a letter may mark doubles, floats and longs, of which only the kind of number counts."""
    digits, stop = number[0], number.end()
    suffix = _NAME.match(text, stop)
    if suffix is None:
        return Token("number", digits, number.start() + 1), stop
    if suffix[0].lower() in ("d", "f", "l"):
        whole = digits.isdigit() and suffix[0].lower() != "l"
        return Token("number", digits + ".0" if whole else digits, number.start() + 1), suffix.end()
    raise ExpressionError(f"has a number that runs into a name: '{digits}{suffix[0]}'", column=number.start() + 1)


def _quoted(text: str, start: int, *, escapes: bool) -> tuple[str, int]:
    """The value between two equal quotes and the place after them; a doubled quote stands for one."""
    quote, place, value = text[start], start + 1, []
    while place < len(text):
        character, following = text[place], text[place + 1 : place + 2]
        if escapes and character == "\\" and following:
            # an unknown escape keeps its backslash, so that patterns such as "\d" need no doubling
            value.append(_SPADE_ESCAPES.get(following, "\\" + following))
            place += 2
        elif character == quote and following == quote:
            value.append(quote)
            place += 2
        elif character == quote:
            return "".join(value), place + 1
        else:
            value.append(character)
            place += 1
    raise ExpressionError(f"has a quote {quote} that is never closed", column=start + 1)
