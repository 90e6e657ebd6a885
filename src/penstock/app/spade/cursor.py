"""A walk over tokens whose every refusal says what was expected, where, and what stood there instead."""

from __future__ import annotations

from typing import NoReturn

from penstock.app.spade.program import Snippet
from penstock.app.spade.scan import Token, TokenKind, scan, unquoted, without_comments
from penstock.errors import SpadeSyntaxError

_CLOSER_BY_OPENER = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_CLOSER_BY_OPENER.values())
# Neither sign occurs in an expression: meeting one means that a bracket before it was left open.
_NEVER_INSIDE = frozenset({":=", "->"})


class Cursor:
    """The next token of a text, and the ways to take it."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self._text = without_comments(text)
        self._tokens = scan(self._text, file)
        self._position = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._position]

    @property
    def before(self) -> Token:
        """The token that was taken last."""
        return self._tokens[self._position - 1]

    def sees(self, *texts: str) -> bool:
        """Whether one of these signs or words comes next."""
        return self.token.kind in ("name", "symbol") and self.token.text in texts

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self._position += 1
        return token

    def takes(self, text: str) -> bool:
        """Steps over a sign or word if it comes next."""
        if self.sees(text):
            self._position += 1
            return True
        return False

    def expect(self, text: str, context: str) -> Token:
        """The sign or word `text`, or a refusal."""
        if not self.sees(text):
            self.refuse(f"'{text}'", context)
        return self.take()

    def name(self, what: str, context: str = "") -> Token:
        """A word, such as the name of a stream."""
        return self._of_kind("name", what, context)

    def string(self, what: str, context: str = "") -> str:
        """What a quoted string says."""
        return unquoted(self._of_kind("string", what, context))

    def whole_number(self, what: str, context: str = "") -> int:
        if not self.token.text.isdigit():
            self.refuse(what, context)
        return int(self.take().text)

    def number(self, what: str, context: str = "") -> float:
        """A positive number; the letter after it (5.0d) is only its type."""
        text = self._of_kind("number", what, context).text.rstrip("dDfFlLsS")
        try:
            return float(text)
        except ValueError:
            self._position -= 1
            self.refuse(what, context)

    def refuse(self, expected: str, context: str = "") -> NoReturn:
        """Raises: `expected` was to come, and something else did."""
        sentence = f"expected {expected}{f' {context}' if context else ''}, got {self.token}"
        raise SpadeSyntaxError(sentence, line=self.token.line, column=self.token.column, file=self.file)

    def snippets(self, opener: str, context: str) -> tuple[Snippet, ...]:
        """The expressions between `opener` and its closing sign, cut at the commas that no bracket or string holds."""
        opened = self.expect(opener, context)
        closer = _CLOSER_BY_OPENER[opener]
        if self.takes(closer):
            return ()
        found = [self._snippet(opened)]
        while self.takes(","):
            found.append(self._snippet(opened))
        self.take()
        return tuple(found)

    def _snippet(self, opened: Token) -> Snippet:
        """One expression, up to the comma or the closing sign of `opened`, which is left for the caller."""
        first = self.token
        if self.sees(",", _CLOSER_BY_OPENER[opened.text]):
            self.refuse("an expression", f"after '{self.before.text}'")
        open_tokens = [opened]
        while not (len(open_tokens) == 1 and self.sees(",", _CLOSER_BY_OPENER[opened.text])):
            if self.token.kind == "symbol" and self.token.text in _CLOSER_BY_OPENER:
                open_tokens.append(self.token)
            elif self.token.kind == "end" or self.sees(*_CLOSERS, *_NEVER_INSIDE):
                self._close(open_tokens)
            self.take()
        return Snippet(self._text[first.start : self.before.stop], first.line, first.column)

    def _close(self, open_tokens: list[Token]) -> None:
        innermost = open_tokens[-1]
        if not self.sees(_CLOSER_BY_OPENER[innermost.text]):
            self.refuse(
                f"'{_CLOSER_BY_OPENER[innermost.text]}'", f"to close the '{innermost.text}' of line {innermost.line}"
            )
        open_tokens.pop()

    def _of_kind(self, kind: TokenKind, what: str, context: str) -> Token:
        if self.token.kind != kind:
            self.refuse(what, context)
        return self.take()
