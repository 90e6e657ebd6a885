"""The parser: a Pratt parser from tokens to trees, for SQL expressions and for SPADE's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa

from penstock.block.schema import TIMESTAMP, type_of, word_of
from penstock.errors import ExpressionError, InputError
from penstock.expressions.functions.catalogue import canonical_name
from penstock.expressions.lexer import KEYWORDS, Dialect, Token, tokens
from penstock.expressions.printer import to_text
from penstock.expressions.tree import Attribute, Call, Expression, Literal, depth
from penstock.kernels.text.calendar import microseconds_of

__all__ = ["parse", "to_text"]

# Binding powers, loosest first; comparisons do not chain.
_OR, _AND, _NOT, _COMPARISON, _CONCAT, _SUM, _PRODUCT, _SIGN, _POSTFIX = range(1, 10)

_BINARY: dict[str, tuple[int, str]] = {
    "or": (_OR, "or"),
    "|": (_OR, "or"),
    "and": (_AND, "and"),
    "&": (_AND, "and"),
    "=": (_COMPARISON, "equal"),
    "==": (_COMPARISON, "equal"),
    "<>": (_COMPARISON, "not_equal"),
    "!=": (_COMPARISON, "not_equal"),
    "<": (_COMPARISON, "less"),
    "<=": (_COMPARISON, "less_equal"),
    ">": (_COMPARISON, "greater"),
    ">=": (_COMPARISON, "greater_equal"),
    "||": (_CONCAT, "concat"),
    "+": (_SUM, "add"),
    "-": (_SUM, "subtract"),
    "*": (_PRODUCT, "multiply"),
    "/": (_PRODUCT, "divide"),
    "//": (_PRODUCT, "div"),
    "%": (_PRODUCT, "modulo"),
}
_PREDICATES = ("is", "in", "between", "like", "not")
_LARGEST_INTEGER = 2**63 - 1
_DEEPEST = 150  # trees are walked by recursion


@lru_cache(maxsize=4096)
def parse(text: str, dialect: Dialect = "sql") -> Expression:
    """The tree of an expression's text.

    >>> parse("price * 2").function
    'multiply'
    """
    parser = _Parser(tokens(text, dialect))
    try:
        expression = parser.expression(0)
    except RecursionError:
        raise _too_deep() from None
    parser.expect_end()
    if depth(expression) > _DEEPEST:
        raise _too_deep()
    return expression


def _too_deep() -> ExpressionError:
    return ExpressionError(f"is nested more than {_DEEPEST} deep", hint="compute parts of it in a functor before")


class _Parser:
    """One pass over the tokens of one text."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens, self._place = found, 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._place]

    def _advance(self) -> Token:
        token = self._token
        self._place += 1
        return token

    def _accept(self, word: str) -> bool:
        if self._token.word != word:
            return False
        self._place += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._unexpected(f"'{word}'")

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("an operator or the end")

    def _unexpected(self, wanted: str) -> ExpressionError:
        token = self._token
        return ExpressionError(f"expected {wanted} at column {token.column}, got {token}", column=token.column)

    def expression(self, power: int) -> Expression:
        """An expression whose operators all bind tighter than `power`."""
        left = self._prefix()
        while (following := self._power_of_next()) > power:
            left = self._infix(left)
            if following == _COMPARISON and self._power_of_next() == _COMPARISON:
                raise self._unexpected("'and', 'or' or the end (comparisons do not chain)")
        return left

    def _power_of_next(self) -> int:
        word = self._token.word
        if word in _BINARY:
            return _BINARY[word][0]
        if word in _PREDICATES:
            return _COMPARISON
        return _POSTFIX if word == "[" else 0

    def _infix(self, left: Expression) -> Expression:
        token = self._advance()
        if token.word in _BINARY:
            power, function = _BINARY[token.word]
            return Call(function, (left, self.expression(power)), token.column)
        if token.word == "[":
            index = self.expression(0)
            self._expect("]")
            return Call("element", (left, index), token.column)
        if token.word == "is":
            return self._is(left, token)
        negated = token.word == "not"
        predicate = self._predicate(left, self._advance() if negated else token)
        return Call("not", (predicate,), token.column) if negated else predicate

    def _is(self, left: Expression, token: Token) -> Expression:
        negated = self._accept("not")
        self._expect("null")
        test = Call("is_null", (left,), token.column)
        return Call("not", (test,), token.column) if negated else test

    def _predicate(self, left: Expression, token: Token) -> Expression:
        if token.word == "between":
            low = self.expression(_COMPARISON)
            self._expect("and")
            return Call("between", (left, low, self.expression(_COMPARISON)), token.column)
        if token.word == "in":
            self._expect("(")
            return Call("in", (left, *self._arguments()), token.column)
        if token.word == "like":
            return Call("like", (left, self.expression(_COMPARISON)), token.column)
        self._place -= 1
        raise self._unexpected("'between', 'in' or 'like' after 'not'")

    def _prefix(self) -> Expression:
        token = self._advance()
        if token.kind == "string":
            return Literal(token.text, pa.string(), token.column)
        if token.kind == "number":
            return self._number(token.text, token.column)
        if token.kind == "port":
            return Attribute(self._attribute_name(), token.text, token.column)
        if token.kind == "quoted" or (token.kind == "name" and token.word not in KEYWORDS):
            return self._name(token)
        if prefix := self._prefixes().get(token.word):
            return prefix(token)
        self._place -= 1
        raise self._unexpected("a value")

    def _prefixes(self) -> dict[str, Callable[[Token], Expression]]:
        return {
            "(": self._parenthesis,
            "-": self._minus,
            "+": lambda token: self.expression(_SIGN),
            "not": lambda token: Call("not", (self.expression(_NOT),), token.column),
            "!": lambda token: Call("not", (self.expression(_SIGN),), token.column),
            "true": lambda token: Literal(True, pa.bool_(), token.column),
            "false": lambda token: Literal(False, pa.bool_(), token.column),
            "null": lambda token: Literal(None, pa.null(), token.column),
            "case": self._case,
            "cast": self._cast,
        }

    def _parenthesis(self, token: Token) -> Expression:
        inner = self.expression(0)
        self._expect(")")
        return inner

    def _minus(self, token: Token) -> Expression:
        """A sign directly before a number belongs to it, so that the smallest integer can be written."""
        if self._token.kind == "number":
            return self._number("-" + self._advance().text, token.column)
        return Call("negate", (self.expression(_SIGN),), token.column)

    def _number(self, text: str, column: int) -> Literal:
        if not text.lstrip("-").isdigit():
            return Literal(float(text), pa.float64(), column)
        if not -_LARGEST_INTEGER - 1 <= int(text) <= _LARGEST_INTEGER:
            raise ExpressionError(f"has a number that does not fit into 64 bits: {text}; write {text}.0", column=column)
        return Literal(int(text), pa.int64(), column)

    def _name(self, token: Token) -> Expression:
        if token.kind == "name" and token.word == "timestamp" and self._token.kind == "string":
            return self._timestamp(self._advance())
        if token.kind == "name" and self._accept("("):
            return Call(canonical_name(token.text), self._arguments(), token.column)
        if self._accept("."):
            return Attribute(self._attribute_name(), token.text, token.column)
        return Attribute(token.text, None, token.column)

    def _attribute_name(self) -> str:
        if self._token.kind not in ("name", "quoted"):
            raise self._unexpected("an attribute's name")
        return self._advance().text

    def _timestamp(self, token: Token) -> Literal:
        moment = microseconds_of(token.text)
        if moment is None:
            raise ExpressionError(
                f"has a timestamp that cannot be read: '{token.text}'; write 'YYYY-MM-DD hh:mm:ss'", column=token.column
            )
        return Literal(moment, TIMESTAMP, token.column)

    def _arguments(self) -> tuple[Expression, ...]:
        """Expressions between commas, up to and with the closing parenthesis."""
        if self._accept(")"):
            return ()
        found = [self.expression(0)]
        while self._accept(","):
            found.append(self.expression(0))
        if not self._accept(")"):
            raise self._unexpected("',' or ')'")
        return tuple(found)

    def _case(self, token: Token) -> Expression:
        """Both forms become condition, value, ..., otherwise."""
        subject = None if self._token.word == "when" else self.expression(0)
        parts: list[Expression] = []
        while self._accept("when"):
            test = self.expression(0)
            parts.append(test if subject is None else Call("equal", (subject, test), token.column))
            self._expect("then")
            parts.append(self.expression(0))
        if not parts:
            raise self._unexpected("'when'")
        otherwise = self.expression(0) if self._accept("else") else Literal(None, pa.null(), token.column)
        self._expect("end")
        return Call("case", (*parts, otherwise), token.column)

    def _cast(self, token: Token) -> Expression:
        self._expect("(")
        value = self.expression(0)
        self._expect("as")
        word = Literal(word_of(self._type()), pa.string(), self._token.column)
        self._expect(")")
        return Call("cast", (value, word), token.column)

    def _type(self) -> pa.DataType:
        start = self._token
        word = self._attribute_name()
        if word.lower() == "list" and self._accept("<"):
            element = self._type()
            self._expect(">")
            return pa.list_(element)
        try:
            return type_of(word.lower())
        except InputError as problem:
            raise ExpressionError(str(problem), column=start.column) from None
