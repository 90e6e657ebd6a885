"""From SPADE text to tokens that know their place; comments become blanks, so that slices of it need no cleaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from penstock.errors import SpadeSyntaxError

TokenKind = Literal["name", "number", "string", "symbol", "end"]

_STRING = r"""(?:"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')"""
_TOKEN = re.compile(
    rf"""(?P<blank>\s+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z]*)
      | (?P<string>{_STRING})
      | (?P<symbol>:=|->|[^\s"'])""",
    re.VERBOSE,
)
_COMMENT_OR_STRING = re.compile(rf"{_STRING}|(?:\#|//)[^\n]*")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, string or sign; `start` and `stop` are offsets, line and column count from 1."""

    kind: TokenKind
    text: str
    start: int
    stop: int
    line: int
    column: int

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"'{self.text}'"


def without_comments(text: str) -> str:
    """The text with every comment (`#` or `//` to the end of the line) as blanks, all other places unchanged."""
    return _COMMENT_OR_STRING.sub(lambda found: found[0] if found[0][0] in "\"'" else " " * len(found[0]), text)


def scan(text: str, file: str) -> tuple[Token, ...]:
    """The tokens of a text without comments, the last of kind 'end'.

    >>> [token.text for token in scan('stream A(x:Long) := Source()["file:a.dat"]', "a.spade")][:4]
    ['stream', 'A', '(', 'x']
    """
    tokens: list[Token] = []
    offset, line, line_start = 0, 1, 0
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        column = offset - line_start + 1
        if found is None:
            sentence = f"expected {text[offset]} at the end of a string, got the end of the line"
            raise SpadeSyntaxError(sentence, line=line, column=column, file=file)
        kind = found.lastgroup
        if kind == "blank":
            line += found[0].count("\n")
            if "\n" in found[0]:
                line_start = offset + found[0].rindex("\n") + 1
        else:
            tokens.append(Token(_kind(kind), found[0], offset, found.end(), line, column))
        offset = found.end()
    tokens.append(Token("end", "", offset, offset, line, offset - line_start + 1))
    return tuple(tokens)


def unquoted(token: Token) -> str:
    """What a string token says."""
    return re.sub(r"\\(.)", r"\1", token.text[1:-1])


def _kind(group: str | None) -> TokenKind:
    if group == "name":
        return "name"
    if group == "number":
        return "number"
    return "string" if group == "string" else "symbol"
