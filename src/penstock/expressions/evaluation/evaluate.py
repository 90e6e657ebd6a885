"""Evaluation of an expression over whole columns: numpy for fixed-width values, Arrow and numba for text and lists."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.block.column import Array, ArrowColumn, CodedColumn, Column, FixedColumn
from penstock.expressions.check import Scope, Typed, typed
from penstock.expressions.evaluation import conversions, lists, regular, text
from penstock.expressions.evaluation.dictionaries import DictionaryCache, codes_of
from penstock.expressions.evaluation.environment import Environment, Key
from penstock.expressions.evaluation.forms import Form
from penstock.expressions.evaluation.lowering import LOGIC, has_numbers_only, lower
from penstock.expressions.evaluation.numeric import form_if_any, is_null, numeric
from penstock.expressions.evaluation.text import Evaluation, Operands
from penstock.expressions.evaluation.values import Value, constant, finished, is_null_type
from penstock.expressions.tree import Attribute, Call, Expression, Literal, attributes, uses_sequence

_EVALUATIONS: Mapping[str, Evaluation] = {
    **text.EVALUATIONS,
    **regular.EVALUATIONS,
    **lists.EVALUATIONS,
    **conversions.EVALUATIONS,
}
_MOST_EVALUATORS = 512
_MOST_WORDS_PER_ROW = 4
_evaluators: OrderedDict[tuple[int, tuple[tuple[Key, str], ...]], tuple[Expression, Evaluator]] = OrderedDict()


def evaluate(expression: Expression, environment: Environment) -> Column:
    """The column of an expression's values over an environment's rows.

    >>> from penstock.expressions.parser import parse
    >>> price = FixedColumn(np.array([1.0, 2.0]), pa.float64())
    >>> evaluate(parse("price * 2"), Environment(2, {(None, "price"): price})).values
    array([2., 4.])
    """
    return evaluator_of(expression, environment).evaluate(environment)


def evaluator_of(expression: Expression, environment: Environment) -> Evaluator:
    """The evaluator of an expression for an environment's types; the newest are kept."""
    keys = {key: environment.key(key) for key in attributes(expression)}
    types = tuple((column, str(environment.columns[column].type)) for column in keys.values())
    place = id(expression), types
    cached = _evaluators.get(place)
    if cached is None or cached[0] is not expression:
        cached = expression, Evaluator(expression, _scope(keys, environment))
        _evaluators[place] = cached
        if len(_evaluators) > _MOST_EVALUATORS:
            _evaluators.popitem(last=False)
    return cached[1]


def _scope(keys: Mapping[Key, Key], environment: Environment) -> Scope:
    """The attributes that an expression reads, as it names them."""
    ports: dict[str | None, list[pa.Field]] = {}
    for (port, name), column in keys.items():
        ports.setdefault(port, []).append(pa.field(name, environment.columns[column].type))
    return Scope(tuple((port, pa.schema(fields)) for port, fields in ports.items()))


class Evaluator:
    """An expression made ready for columns of known types; cheap to rebuild, so only its making is pickled."""

    def __init__(self, expression: Expression, scope: Scope) -> None:
        self._made_of = expression, scope
        checked = typed(expression, scope)
        self.type = checked.type
        self.root = lower(checked)
        self.forms: dict[int, Form | None] = {}
        self.symbols: dict[int, Key] = {}
        self.coded: dict[int, DictionaryCache[Column]] = {}
        self.equalities: dict[int, tuple[str, DictionaryCache[tuple[int, ...]]]] = {}
        self._prepare(self.root)

    def __reduce__(self) -> tuple[type[Evaluator], tuple[Expression, Scope]]:
        return Evaluator, self._made_of

    def evaluate(self, environment: Environment) -> Column:
        node = self.root.node
        if isinstance(node, Attribute):
            return environment.column((node.port, node.name))
        with np.errstate(all="ignore"):
            value = _Walk(self, environment).visit(self.root)
            return finished(value, self.type, environment.rows)

    def _prepare(self, node: Typed) -> None:
        """Finds out once, for every call, how it will be evaluated."""
        if not isinstance(node.node, Call):
            return
        if has_numbers_only(node):
            self.forms[id(node)] = form_if_any(node)
        if (equality := coded_equality(node)) is not None:
            self.symbols[id(node)], wanted = equality
            self.equalities[id(node)] = wanted, DictionaryCache()
        elif (key := _only_symbol(node)) is not None:
            self.symbols[id(node)], self.coded[id(node)] = key, DictionaryCache()
        for argument in node.arguments:
            self._prepare(argument)


def coded_equality(node: Typed) -> tuple[Key, str] | None:
    """The symbol and the constant that a node compares by = or <>, or None where it does something else."""
    if not isinstance(node.node, Call) or node.node.function not in ("equal", "not_equal"):
        return None
    for one, other in (node.arguments, node.arguments[::-1]):
        is_symbol = isinstance(one.node, Attribute) and pa.types.is_dictionary(one.type)
        if is_symbol and isinstance(other.node, Literal) and isinstance(other.node.value, str):
            assert isinstance(one.node, Attribute)
            return (one.node.port, one.node.name), other.node.value
    return None


def _only_symbol(node: Typed) -> Key | None:
    """The symbol that a node is a function of, where it reads nothing else."""
    found = _attributes(node)
    if len(found) != 1 or uses_sequence(node.node):
        return None
    (port, name, type_), *_ = found
    return (port, name) if pa.types.is_dictionary(type_) else None


def _attributes(node: Typed) -> set[tuple[str | None, str, pa.DataType]]:
    if isinstance(node.node, Attribute):
        return {(node.node.port, node.node.name, node.type)}
    return set().union(*(_attributes(argument) for argument in node.arguments))


class _Walk:
    """One evaluation over one environment; a node that stands in two places is evaluated once."""

    __slots__ = ("_done", "_environment", "_evaluator")

    def __init__(self, evaluator: Evaluator, environment: Environment) -> None:
        self._evaluator, self._environment = evaluator, environment
        self._done: dict[int, Value] = {}

    def visit(self, node: Typed) -> Value:
        if isinstance(node.node, Literal):
            return constant(node.node)
        if isinstance(node.node, Attribute):
            return self._environment.column((node.node.port, node.node.name))
        value = self._done.get(id(node))
        if value is None:
            value = self._done[id(node)] = self._call(node, node.node.function)
        return value

    def _call(self, node: Typed, function: str) -> Value:
        place, known = id(node), self._evaluator
        if function == "seq_num":
            return FixedColumn(self._environment.sequence(), pa.int64())
        key = known.symbols.get(place)
        column = None if key is None else self._environment.column(key)
        if not isinstance(column, CodedColumn):
            return self._general(node, function)
        if place in known.equalities:
            return _equality(column, function == "equal", *known.equalities[place])
        return self._by_dictionary(node, function, column, known.coded[place])

    def _general(self, node: Typed, function: str) -> Value:
        if id(node) in self._evaluator.forms:
            return numeric(node, self.visit, self._evaluator.forms[id(node)])
        values = tuple(self.visit(argument) for argument in node.arguments)
        if function == "is_null":
            return is_null(values[0])
        if function not in LOGIC and any(is_null_type(value) for value in values):
            return constant(Literal(None, pa.null()))
        return _EVALUATIONS[function](Operands(node, values, self._environment.rows))

    def _by_dictionary(self, node: Typed, function: str, column: CodedColumn, cache: DictionaryCache[Column]) -> Value:
        """A function of one symbol: evaluated for every word of the dictionary and for null, then taken by code."""
        found = cache.find(column.dictionary)
        if found is None:
            if len(column.dictionary) > _MOST_WORDS_PER_ROW * len(column):
                return self._general(node, function)
            found = self._on_dictionary(node, function, column.dictionary)
            cache.keep(column.dictionary, found)
        codes = column.codes if column.valid is None else np.where(column.valid, column.codes, len(column.dictionary))
        return found.take(codes)

    def _on_dictionary(self, node: Typed, function: str, dictionary: pa.Array) -> Column:
        words = ArrowColumn(pa.concat_arrays([dictionary, pa.nulls(1, pa.string())]))
        environment = Environment(len(words), {self._evaluator.symbols[id(node)]: words})
        value = _Walk(self._evaluator, environment)._general(node, function)
        return finished(value, node.type, len(words))


def _equality(column: CodedColumn, is_equal: bool, wanted: str, cache: DictionaryCache[tuple[int, ...]]) -> Value:
    """= or <> of a symbol and a constant: codes are compared."""
    codes = cache.find(column.dictionary)
    if codes is None:
        codes = codes_of(column.dictionary, wanted)
        cache.keep(column.dictionary, codes)
    equal: Array = column.codes == codes[0] if codes else np.zeros(len(column), np.bool_)
    for code in codes[1:]:
        equal = equal | (column.codes == code)
    return FixedColumn(equal if is_equal else ~equal, pa.bool_(), column.valid)
