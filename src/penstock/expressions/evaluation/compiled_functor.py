"""A functor's kernel: filters a block and computes its outputs, vectorised at first, compiled once that pays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.block.column import Array, ArrowColumn, CodedColumn, Column, FixedColumn, Mask
from penstock.expressions.check import Scope, typed
from penstock.expressions.evaluation.compile import CompiledFunctor, Written
from penstock.expressions.evaluation.environment import Environment, TakenEnvironment
from penstock.expressions.evaluation.evaluate import Evaluator
from penstock.expressions.evaluation.lowering import is_fixed_width, lower
from penstock.expressions.evaluation.source import Output, needs_hoisting
from penstock.expressions.evaluation.values import truth
from penstock.expressions.kinds import kind_of
from penstock.expressions.tree import Attribute, Call, Expression, Literal, attributes

COMPILE_AFTER_ROWS = 200_000
_UNUSED = Environment(0, {})


@dataclass(frozen=True, slots=True)
class _Emit:
    """One output: `place` is the attribute it merely passes on, `written` its number among the kernel's outputs."""

    evaluator: Evaluator
    type: pa.DataType
    place: int | None
    written: int | None


class FunctorKernel:
    """Filter and outputs over blocks of one schema; safe for several threads, pickled as what it was made of.

    The first `compile_after_rows` rows run vectorised, as compiling takes about a second; both ways give equal bytes.

    >>> from penstock.expressions.parser import parse
    >>> kernel = FunctorKernel(parse("x > 1"), (parse("x * 2"),), pa.schema({"x": pa.float64()}))
    >>> rows, columns = kernel.process((FixedColumn(np.array([1.0, 2.0]), pa.float64()),), 2)
    >>> rows.tolist(), columns[0].values.tolist()
    ([1], [4.0])
    """

    def __init__(
        self,
        where: Expression | None,
        emit: tuple[Expression, ...],
        schema: pa.Schema,
        compile_after_rows: int = COMPILE_AFTER_ROWS,
    ) -> None:
        self._made_of = where, emit, schema, compile_after_rows
        self._schema, self._scope = schema, _scope(schema, (*emit, *(() if where is None else (where,))))
        self._keys = tuple((None, name) for name in schema.names)
        self._passes = _constant_truth(where)
        self._where = None if where is None or self._passes is not None else lower(typed(where, self._scope))
        self._filter = None if self._where is None or where is None else Evaluator(where, self._scope)
        self._outputs: list[Output] = []
        self._emits = tuple(self._emit(expression) for expression in emit)
        self.types = tuple(e.type for e in self._emits)
        # whether some output is evaluated beside the kernel, or might be for the rows that pass
        self._evaluates = any(e.written is None and (e.place is None or self._where is not None) for e in self._emits)
        self._rows_until_compiled = compile_after_rows
        self._compiled: CompiledFunctor | None = None
        computes = any(isinstance(output.node.node, Call) for output in self._outputs)
        self._is_worth_compiling = computes or self._where is not None
        self._compiling = threading.Lock()

    def __reduce__(self) -> tuple[type[FunctorKernel], tuple[object, ...]]:
        return FunctorKernel, self._made_of

    @property
    def is_compiled(self) -> bool:
        """Whether blocks run through a compiled kernel by now."""
        return self._compiled is not None

    def process(
        self, columns: Sequence[Column], rows: int, first_sequence: int = 0
    ) -> tuple[Array | None, tuple[Column, ...]]:
        """The passing rows (None: all of them) and the outputs for them, in order."""
        if self._passes is False:
            columns, rows = [c.slice(0, 0) for c in columns], 0
            return np.empty(0, np.int64), self._vectorised(columns, rows, first_sequence)[1]
        compiled = self._compiled
        if compiled is None and self._is_worth_compiling:
            compiled = self._compile(rows)
        if compiled is not None:
            environment = _UNUSED
            if self._evaluates or compiled.hoists:
                environment = Environment(rows, dict(zip(self._keys, columns, strict=True)), first_sequence)
            written = compiled.run(columns, rows, first_sequence, environment)
            if written is not None:
                return self._assembled(written, columns, rows, environment)
        return self._vectorised(columns, rows, first_sequence)

    def _emit(self, expression: Expression) -> _Emit:
        evaluator = Evaluator(expression, self._scope)
        node, place = evaluator.root, None
        is_separate = kind_of(node.type) == "unknown"
        if isinstance(node.node, Attribute):
            place = int(self._schema.get_field_index(node.node.name))
            is_separate = self._where is None or not (is_fixed_width(node.type) or pa.types.is_dictionary(node.type))
        elif not is_fixed_width(node.type) or needs_hoisting(node):
            is_separate = True
        if is_separate:
            return _Emit(evaluator, evaluator.type, place, None)
        self._outputs.append(Output(node, is_copy=place is not None))
        return _Emit(evaluator, evaluator.type, place, len(self._outputs) - 1)

    def _compile(self, rows: int) -> CompiledFunctor | None:
        """The compiled form once enough rows have passed; while one thread compiles, others go on vectorised."""
        self._rows_until_compiled -= rows
        if self._rows_until_compiled > 0 or not self._compiling.acquire(blocking=False):
            return None
        try:
            if self._compiled is None:
                self._compiled = CompiledFunctor(self._where, self._outputs, self._schema, self._scope)
            return self._compiled
        finally:
            self._compiling.release()

    def _vectorised(
        self, columns: Sequence[Column], rows: int, first_sequence: int
    ) -> tuple[Array | None, tuple[Column, ...]]:
        environment = Environment(rows, dict(zip(self._keys, columns, strict=True)), first_sequence)
        chosen = None
        if self._filter is not None:
            chosen = np.flatnonzero(truth(self._filter.evaluate(environment)))
            chosen = None if len(chosen) == rows else chosen
        if chosen is None:
            return None, tuple(emit.evaluator.evaluate(environment) for emit in self._emits)
        taken = TakenEnvironment(environment, chosen)
        return chosen, tuple(_tidy(emit.evaluator.evaluate(taken)) for emit in self._emits)

    def _assembled(
        self, written: Written, columns: Sequence[Column], rows: int, environment: Environment
    ) -> tuple[Array | None, tuple[Column, ...]]:
        """The kernel's outputs as columns, beside what is passed on and what is evaluated for the passing rows."""
        count = written.count
        chosen = None
        if written.rows is not None and count < rows:
            chosen = _cut(written.rows, count, rows)
            if self._evaluates:
                environment = TakenEnvironment(environment, chosen)
        outputs: list[Column] = []
        for emit in self._emits:
            if emit.place is not None and chosen is None:
                outputs.append(columns[emit.place])
            elif emit.written is not None:
                values = _cut(written.values[emit.written], count, rows)
                valid = _cut_mask(written.valid[emit.written], count)
                outputs.append(_column(values, valid, emit, columns))
            else:
                outputs.append(_tidy(emit.evaluator.evaluate(environment)))
        return chosen, tuple(outputs)


def _scope(schema: pa.Schema, expressions: Sequence[Expression]) -> Scope:
    """One input under no name, and under every name that expressions call it by."""
    ports = {port for expression in expressions for port, _ in attributes(expression)}
    return Scope(tuple((port, schema) for port in (None, *sorted(port for port in ports if port is not None))))


def _constant_truth(where: Expression | None) -> bool | None:
    """Whether a filter passes everything or nothing; None where it depends on the tuple."""
    if where is None:
        return True
    return where.value is True if isinstance(where, Literal) else None


def _column(values: Array, valid: Mask | None, emit: _Emit, columns: Sequence[Column]) -> Column:
    if emit.place is not None:
        source = columns[emit.place]
        if type(source) is CodedColumn:
            return CodedColumn(values, source.dictionary, valid)
    return FixedColumn(values, emit.type, valid)


def _cut(values: Array, count: int, rows: int) -> Array:
    """The first so many; few of many are copied, so that a selective filter does not hold on to its block's memory."""
    if count == rows:
        return values
    return values[:count].copy() if count * 4 < rows else values[:count]


def _cut_mask(valid: Mask | None, count: int) -> Mask | None:
    if valid is None:
        return None
    cut = valid[:count]
    return None if cut.all() else cut


def _tidy(column: Column) -> Column:
    """Without a mask where nothing is null."""
    if not isinstance(column, ArrowColumn) and column.valid is not None and column.valid.all():
        column = column.slice(0, len(column))
        column.valid = None
    return column
