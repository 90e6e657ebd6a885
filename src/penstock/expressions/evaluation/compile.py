"""Compilation of a functor: its kernels for blocks without and with nulls, made when first needed, and called here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.block.column import Array, CodedColumn, Column, FixedColumn, Mask
from penstock.expressions.check import Scope, Typed
from penstock.expressions.evaluation.dictionaries import DictionaryCache, codes_of
from penstock.expressions.evaluation.environment import Environment
from penstock.expressions.evaluation.evaluate import Evaluator
from penstock.expressions.evaluation.source import KernelSource, Output, kernel_source, stored_word
from penstock.kernels.codegen import generated

Hoisted = tuple[list[Array], list[Mask | None]]


@dataclass(frozen=True, slots=True)
class Written:
    """What a kernel wrote: the passing rows (None without a filter), and the outputs with their masks."""

    rows: Array | None
    count: int
    values: list[Array]
    valid: list[Mask | None]


class CompiledFunctor:
    """The kernels of one filter and its outputs over the columns of one schema."""

    def __init__(self, where: Typed | None, outputs: Sequence[Output], schema: pa.Schema, scope: Scope) -> None:
        self._where, self._outputs, self._schema, self._scope = where, tuple(outputs), schema, scope
        self._plain = _Variant(self, with_nulls=False)
        self._with_nulls: _Variant | None = None

    def run(self, columns: Sequence[Column], rows: int, first: int, environment: Environment) -> Written | None:
        """Calls the kernel that fits the block; None where a dictionary repeats a word, which codes cannot tell."""
        hoisted = self._plain.hoist(environment)
        written = self._plain.run(columns, rows, first, hoisted)
        if written is not _HAS_NULLS:
            return written
        if self._with_nulls is None:
            self._with_nulls = _Variant(self, with_nulls=True)
        # both kernels hoist the same parts in the same order, as one writer finds them
        return self._with_nulls.run(columns, rows, first, hoisted)

    @property
    def hoists(self) -> bool:
        """Whether parts are evaluated before a kernel runs."""
        return self._plain.hoists

    def source(self, *, with_nulls: bool) -> KernelSource:
        return kernel_source(self._where, self._outputs, with_nulls=with_nulls)

    @property
    def output_types(self) -> list[np.dtype[np.generic]]:
        return [np.dtype(stored_word(output.node.type)) for output in self._outputs]

    @property
    def is_filter(self) -> bool:
        return self._where is not None

    def place(self, name: str) -> int:
        return int(self._schema.get_field_index(name))

    def evaluator(self, node: Typed) -> Evaluator:
        return Evaluator(node.node, self._scope)


_HAS_NULLS = Written(None, -1, [], [])
_ones = np.ones(1 << 16, np.bool_)


class _Variant:
    """One kernel, and the columns it takes by their place."""

    def __init__(self, functor: CompiledFunctor, *, with_nulls: bool) -> None:
        made = functor.source(with_nulls=with_nulls)
        self._kernel: Callable[..., int] = generated.load(made.text).kernel
        self._takes_nulls = with_nulls
        self._places = tuple(functor.place(name) for name in made.inputs)
        self._hoisted = tuple(functor.evaluator(node) for node in made.hoisted)
        self.hoists = len(self._hoisted) > 0
        self._codes = tuple((functor.place(name), word, DictionaryCache[int]()) for name, word in made.codes)
        self._types, self._nullable = functor.output_types, made.nullable
        self._is_filter = functor.is_filter

    def run(self, columns: Sequence[Column], rows: int, first: int, parts: Hoisted) -> Written | None:
        arrays, masks = self._inputs(columns)
        hoisted, hoisted_masks = parts
        if not self._takes_nulls:
            for mask in (*masks, *hoisted_masks):
                if mask is not None:
                    return _HAS_NULLS
            arguments = [rows, first, *arrays, *hoisted]
        else:
            known = [_mask(mask, rows) for mask in (*masks, *hoisted_masks)]
            arguments = [rows, first, *arrays, *known[: len(masks)], *hoisted, *known[len(masks) :]]
        for place, word, cache in self._codes:
            code = _code(columns[place], word, cache)
            if code == _SEVERAL:
                return None
            arguments.append(code)
        return self._call(arguments, rows)

    def _inputs(self, columns: Sequence[Column]) -> tuple[list[Array], list[Mask | None]]:
        arrays, masks = [], []
        for place in self._places:
            column = columns[place]
            arrays.append(column.values if type(column) is FixedColumn else column.codes)  # type: ignore[union-attr]
            masks.append(column.valid)
        return arrays, masks

    def hoist(self, environment: Environment) -> Hoisted:
        """The parts that only `evaluate` computes, over all rows."""
        if not self._hoisted:
            return [], []
        found = [evaluator.evaluate(environment) for evaluator in self._hoisted]
        return [c.values for c in found], [c.valid for c in found]  # type: ignore[union-attr]

    def _call(self, arguments: list[object], rows: int) -> Written:
        chosen = np.empty(rows, np.int64) if self._is_filter else None
        values = [np.empty(rows, dtype) for dtype in self._types]
        valid = [np.empty(rows, np.bool_) if nullable else None for nullable in self._nullable]
        outputs: list[Array] = [] if chosen is None else [chosen]
        for array, mask in zip(values, valid, strict=True):
            outputs.append(array)
            if mask is not None:
                outputs.append(mask)
        try:
            count = self._kernel(*arguments, *outputs)
        except TypeError:  # memory that is strided or not aligned: rare, and worth a copy
            count = self._kernel(*(_regular(argument) for argument in arguments), *outputs)
        return Written(chosen, count, values, valid)


_SEVERAL = -2


def _code(column: Column, word: str, cache: DictionaryCache[int]) -> int:
    """The code of a word in a column's dictionary; -1 where it does not occur."""
    assert isinstance(column, CodedColumn)
    code = cache.find(column.dictionary)
    if code is None:
        codes = codes_of(column.dictionary, word)
        code = _SEVERAL if len(codes) > 1 else codes[0] if codes else -1
        cache.keep(column.dictionary, code)
    return code


def _mask(mask: Mask | None, rows: int) -> Mask:
    if mask is not None:
        return mask
    return _ones[:rows] if rows <= len(_ones) else np.ones(rows, np.bool_)


def _regular(argument: object) -> object:
    return np.array(argument, order="C") if isinstance(argument, np.ndarray) else argument
