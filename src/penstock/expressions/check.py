"""The checker: resolves names against a scope, gives every node its type, and collects every problem there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.errors import ExpressionError, did_you_mean
from penstock.expressions.functions.catalogue import AGGREGATES, FUNCTIONS, known_names
from penstock.expressions.functions.function import Types
from penstock.expressions.functions.operators import OPERATORS
from penstock.expressions.kinds import kind_of
from penstock.expressions.tree import Attribute, Call, Expression, Literal, replace_calls, walk

_UNKNOWN = pa.null()

__all__ = ["Scope", "Typed", "aggregate_calls", "check", "problems", "replace_calls", "type_of_expression", "typed"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may read: its inputs with their qualifiers, and the application's own aggregates."""

    ports: tuple[tuple[str | None, pa.Schema], ...]
    user_aggregates: Mapping[str, pa.DataType] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Typed:
    """A node with its type; `node` of an attribute carries the port it was found at."""

    node: Expression
    type: pa.DataType
    arguments: tuple[Typed, ...] = ()


def check(expression: Expression, scope: Scope, *, aggregates: bool = False) -> pa.DataType:
    """The type of an expression; raises the first problem where there is one.

    >>> from penstock.expressions.parser import parse
    >>> str(check(parse("price * 2"), Scope(((None, pa.schema({"price": pa.float64()})),))))
    'double'
    """
    return typed(expression, scope, aggregates=aggregates).type


def type_of_expression(expression: Expression, scope: Scope, *, aggregates: bool = False) -> pa.DataType:
    """The type of an expression as far as it is known; pa.null() where problems leave it open."""
    return _Checker(scope, aggregates).visit(expression, None).type


def problems(expression: Expression, scope: Scope, *, aggregates: bool = False) -> tuple[ExpressionError, ...]:
    """Every mistake in an expression, in the order of its text."""
    checker = _Checker(scope, aggregates)
    result = checker.visit(expression, None)
    if not checker.problems and kind_of(result.type) == "unknown" and not _reads_unknown(result):
        checker.report(expression, "is null whatever it gets, and so has no type", "use cast(null as ...)")
    return tuple(sorted(checker.problems, key=lambda problem: problem.column or 0))


def typed(expression: Expression, scope: Scope, *, aggregates: bool = False) -> Typed:
    """The tree with types; raises the first problem where there is one."""
    checker = _Checker(scope, aggregates)
    result = checker.visit(expression, None)
    if checker.problems:
        raise checker.problems[0]
    return result


def aggregate_calls(
    expression: Expression, user_aggregates: Mapping[str, pa.DataType] | None = None
) -> tuple[Call, ...]:
    """The different aggregate calls of an expression, in the order of its text."""
    names = {*AGGREGATES, *(name.lower() for name in user_aggregates or {})}
    found = (node for node in walk(expression) if isinstance(node, Call) and node.function in names)
    return tuple(dict.fromkeys(found))


def _reads_unknown(result: Typed) -> bool:
    if isinstance(result.node, Attribute):
        return kind_of(result.type) == "unknown"
    return any(_reads_unknown(argument) for argument in result.arguments)


class _Checker:
    """One walk over one expression; a problem is noted once and leaves its node's type open."""

    def __init__(self, scope: Scope, aggregates: bool) -> None:
        self._scope, self._aggregates = scope, aggregates
        self._user = {name.lower(): type_ for name, type_ in scope.user_aggregates.items()}
        self.problems: list[ExpressionError] = []

    def report(self, node: Expression, sentence: str, hint: str | None = None) -> None:
        self.problems.append(ExpressionError(sentence, hint=hint, column=node.column or None))

    def visit(self, node: Expression, within: Call | None) -> Typed:
        """The node with its type; `within` is the aggregate call around it."""
        if isinstance(node, Literal):
            return Typed(node, node.type)
        if isinstance(node, Attribute):
            return self._attribute(node, within)
        is_aggregate = node.function in AGGREGATES or node.function in self._user
        around = node if is_aggregate and self._aggregates else within
        arguments = tuple(self.visit(argument, around) for argument in node.arguments)
        type_ = self._aggregate(node, arguments, within) if is_aggregate else self._call(node, arguments)
        return Typed(node, type_, arguments)

    def _attribute(self, node: Attribute, within: Call | None) -> Typed:
        ports = [port for port in self._scope.ports if node.port is None or port[0] == node.port]
        found = [port for port in ports if port[1].get_field_index(node.name) >= 0]
        if node.port is None:  # an input without a qualifier comes before those with one
            found = [port for port in found if port[0] is None] or found
        if len(found) != 1:
            self._report_attribute(node, ports, found)
            return Typed(node, _UNKNOWN)
        if self._aggregates and within is None:
            self.report(node, f"reads '{node.name}' outside of an aggregate", f"use any({node.name})")
        qualifier, schema = found[0]
        return Typed(Attribute(node.name, qualifier, node.column), schema.field(node.name).type)

    def _report_attribute(
        self, node: Attribute, ports: list[tuple[str | None, pa.Schema]], found: list[tuple[str | None, pa.Schema]]
    ) -> None:
        written = node.name if node.port is None else f"{node.port}.{node.name}"
        if not ports:
            known = ", ".join(str(port[0]) for port in self._scope.ports if port[0]) or "no named inputs"
            self.report(node, f"reads '{written}', but has no input '{node.port}'; it has: {known}")
        elif found:
            choices = " or ".join(f"{port[0]}.{node.name}" for port in found)
            self.report(node, f"reads '{written}', which several of its inputs have", f"write {choices}")
        else:
            names = list(dict.fromkeys(name for port in ports for name in port[1].names))
            if not names:
                return  # a mistake before left the schema empty, and was noted there
            rule = "its input does not have; it has" if len(ports) == 1 else "none of its inputs has; they have"
            self.report(node, f"reads '{written}', which {rule}: {', '.join(names)}", did_you_mean(node.name, names))

    def _aggregate(self, node: Call, arguments: tuple[Typed, ...], within: Call | None) -> pa.DataType:
        if not self._aggregates:
            self.report(node, f"calls {node.function}, which only an aggregate can compute")
        elif within is not None:
            self.report(node, f"calls {node.function} within {within.function}, but aggregates do not nest")
            return _UNKNOWN
        if node.function in self._user:
            return self._user[node.function]
        return self._applied(node, arguments)

    def _call(self, node: Call, arguments: tuple[Typed, ...]) -> pa.DataType:
        if node.function in OPERATORS or node.function in FUNCTIONS:
            return self._applied(node, arguments)
        known = (*known_names(), *self._user)
        self.report(node, f"has no function '{node.function}'", did_you_mean(node.function, known))
        return _UNKNOWN

    def _applied(self, node: Call, arguments: tuple[Typed, ...]) -> pa.DataType:
        types = tuple(argument.type for argument in arguments)
        try:
            return _result_type(node, types)
        except ExpressionError as problem:
            self.report(node, problem.sentence, problem.hint)
            return _UNKNOWN


def _result_type(node: Call, types: Types) -> pa.DataType:
    if node.function not in OPERATORS:
        functions = FUNCTIONS if node.function in FUNCTIONS else AGGREGATES
        return functions[node.function].check(node.arguments, types)
    least, most, rule = OPERATORS[node.function]
    if not least <= len(types) <= most or (node.function == "case" and len(types) % 2 == 0):
        raise ExpressionError(f"calls {node.function} with {len(types)} arguments")
    return rule(node.arguments, types)
