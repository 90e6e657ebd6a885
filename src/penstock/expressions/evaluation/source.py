"""Source text of a functor's kernel: one pass that picks the passing rows, one that writes all outputs for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.block.column import numpy_type
from penstock.expressions.check import Typed
from penstock.expressions.evaluation.evaluate import coded_equality
from penstock.expressions.evaluation.forms import form_of, word_of_computation
from penstock.expressions.evaluation.lowering import has_numbers_only, is_fixed_width
from penstock.expressions.printer import to_text
from penstock.expressions.tree import Attribute, Call, Literal
from penstock.kernels.codegen.elementwise import PREAMBLE
from penstock.kernels.text import scalars

_HEAD = '''"""A functor's kernel; scalars {mark}."""
{preamble}
import numpy as np
from numba import njit, types

from penstock.kernels.text import scalars


def _read(type_):
    return types.Array(type_, 1, "C", readonly=True)


def _write(type_):
    return types.Array(type_, 1, "C")


@njit([types.int64({types})], nogil=True, cache=True, boundscheck=False, error_model="numpy")
def kernel({names}):
'''


@dataclass(frozen=True, slots=True)
class Output:
    """One column that the kernel writes: an attribute as it is, or a computed value."""

    node: Typed
    is_copy: bool


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The text, called with: rows, first, inputs, their masks, hoisted, their masks, codes, chosen, outputs.

    `inputs` are attributes' names; `nullable` tells which outputs have a mask, which follows the output.
    """

    text: str
    inputs: tuple[str, ...]
    hoisted: tuple[Typed, ...]
    codes: tuple[tuple[str, str], ...]
    nullable: tuple[bool, ...]


def kernel_source(where: Typed | None, outputs: Sequence[Output], *, with_nulls: bool) -> KernelSource:
    """The kernel of a filter and its outputs, for blocks without nulls or with them."""
    return _Writer(with_nulls).write(where, outputs)


def needs_hoisting(node: Typed) -> bool:
    """Whether a tree has parts that only `evaluate` computes: text and lists beyond comparing a symbol's code."""
    if not isinstance(node.node, Call):
        return not _is_kernel_type(node.type)
    if coded_equality(node) is not None or _is_null_test_of_symbol(node):
        return False
    if not has_numbers_only(node):
        return True
    return any(needs_hoisting(argument) for argument in node.arguments if not isinstance(argument.node, Literal))


def stored_word(type_: pa.DataType) -> str:
    """The name of the numpy type of a column in a kernel; a symbol is its code."""
    return "int32" if pa.types.is_dictionary(type_) else numpy_type(type_).name


def _is_kernel_type(type_: pa.DataType) -> bool:
    return pa.types.is_dictionary(type_) or is_fixed_width(type_)


def _is_null_test_of_symbol(node: Typed) -> bool:
    assert isinstance(node.node, Call)
    of = node.arguments[0] if node.arguments else node
    return node.node.function == "is_null" and isinstance(of.node, Attribute) and pa.types.is_dictionary(of.type)


@dataclass(slots=True)
class _Writer:
    """Collects inputs and statements; a value is (its name, the name of its validity or None where it has no nulls)."""

    with_nulls: bool
    lines: list[str] = field(default_factory=list)
    indent: str = "        "
    inputs: dict[str, str] = field(default_factory=dict)
    hoisted: list[Typed] = field(default_factory=list)
    codes: dict[tuple[str, str], str] = field(default_factory=dict)
    known: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    count: int = 0

    def write(self, where: Typed | None, outputs: Sequence[Output]) -> KernelSource:
        if where is not None:
            self._write_filter(where)
        self.known = {}
        self.lines.append("    for j in range(k):" if where is not None else "    for j in range(rows):")
        self.lines.append("        i = chosen[j]" if where is not None else "        i = j")
        nullable = tuple(self._write_output(place, output) for place, output in enumerate(outputs))
        if not outputs:
            self.lines.append("        pass")
        self.lines.append("    return k" if where is not None else "    return rows")
        text = self._head(where is not None, outputs, nullable) + "\n".join(self.lines) + "\n"
        return KernelSource(text, tuple(self.inputs), tuple(self.hoisted), tuple(self.codes), nullable)

    def _write_filter(self, where: Typed) -> None:
        """Without a branch: every row is written down, and kept by moving on."""
        self.lines += ["    k = 0", "    for i in range(rows):"]
        condition = _true(*self.value(where, "bool"))
        self.lines += ["        chosen[k] = i", f"        k += np.int64({condition})"]

    def _write_output(self, place: int, output: Output) -> bool:
        if output.is_copy:
            assert isinstance(output.node.node, Attribute)
            name = self._input(output.node)
            self.lines.append(f"        o{place}[j] = {name}[i]")
            if self.with_nulls:
                self.lines.append(f"        v{place}[j] = m{name}[i]")
            return self.with_nulls
        value, valid = self.value(output.node, word_of_computation(output.node.type))
        if valid is None:
            self.lines.append(f"        o{place}[j] = {value}")
            return False
        # under a null there is always 0, so that equal results have equal bytes
        zero = _constant(None, word_of_computation(output.node.type))
        self.lines += [f"        o{place}[j] = {value} if {valid} else {zero}", f"        v{place}[j] = {valid}"]
        return True

    def _head(self, is_filter: bool, outputs: Sequence[Output], nullable: tuple[bool, ...]) -> str:
        parameters = [("rows", "types.int64"), ("first", "types.int64")]
        words = list(self.inputs.values())
        parameters += [(f"c{i}", f"_read(types.{word})") for i, word in enumerate(words)]
        hoisted = [word_of_computation(node.type) for node in self.hoisted]
        if self.with_nulls:
            parameters += [(f"mc{i}", "_read(types.boolean)") for i in range(len(words))]
        parameters += [(f"h{i}", f"_read(types.{_numba(word)})") for i, word in enumerate(hoisted)]
        if self.with_nulls:
            parameters += [(f"mh{i}", "_read(types.boolean)") for i in range(len(hoisted))]
        parameters += [(name, "types.int64") for name in self.codes.values()]
        if is_filter:
            parameters.append(("chosen", "_write(types.int64)"))
        for place, output in enumerate(outputs):
            parameters.append((f"o{place}", f"_write(types.{_numba(stored_word(output.node.type))})"))
            if nullable[place]:
                parameters.append((f"v{place}", "_write(types.boolean)"))
        names, types = (", ".join(column) for column in zip(*parameters, strict=True))
        return _HEAD.format(mark=scalars.MARK, preamble=PREAMBLE, types=types, names=names)

    def value(self, node: Typed, word: str) -> tuple[str, str | None]:
        """A node's value brought to a type of computation."""
        if isinstance(node.node, Literal):
            return _constant(node.node, word), "False" if node.node.value is None else None
        key = to_text(node.node)
        if key not in self.known:
            self.known[key] = self._computed(node)
        value, valid = self.known[key]
        own = word_of_computation(node.type)
        return (value if own == word else self._assign(f"np.{word}({value})")), valid

    def _computed(self, node: Typed) -> tuple[str, str | None]:
        if isinstance(node.node, Attribute):
            name = self._input(node)
            word = word_of_computation(node.type)
            loaded = f"{name}[i]" if word == "bool" else f"np.{word}({name}[i])"
            return self._assign(loaded), self._mask(name)
        assert isinstance(node.node, Call)
        if (equality := coded_equality(node)) is not None:
            return self._code(node, equality[0][1], equality[1])
        if _is_null_test_of_symbol(node):
            mask = self._mask(self._input(node.arguments[0]))
            return ("False" if mask is None else f"(not {mask})"), None
        if not has_numbers_only(node):
            return self._hoist(node)
        return self._call(node, node.node.function)

    def _call(self, node: Typed, function: str) -> tuple[str, str | None]:
        if function == "seq_num":
            return self._assign("first + i"), None
        special = _SPECIAL.get(function)
        if special is not None:
            return special(self, node)
        form = form_of(node)
        assert form is not None, f"{function} has no form"
        pairs = [
            self.value(argument, word) if word else ("", None)
            for argument, word in zip(node.arguments, form.operands, strict=True)
        ]
        names = [name for name, _ in pairs]
        valid = _all(valid for _, valid in pairs)
        if form.valid_source is not None:
            valid = self._assign(_all((valid, form.valid_source.format(*names))) or "True")
        return self._assign(form.source.format(*names)), valid

    def _code(self, node: Typed, name: str, wanted: str) -> tuple[str, str | None]:
        assert isinstance(node.node, Call)
        symbol = next(a for a in node.arguments if isinstance(a.node, Attribute))
        array = self._input(symbol)
        code = self.codes.setdefault((name, wanted), f"w{len(self.codes)}")
        sign = "==" if node.node.function == "equal" else "!="
        return self._assign(f"({array}[i] {sign} {code})"), self._mask(array)

    def _hoist(self, node: Typed) -> tuple[str, str | None]:
        name = f"h{len(self.hoisted)}"
        self.hoisted.append(node)
        return f"{name}[i]", f"m{name}[i]" if self.with_nulls else None

    def _input(self, node: Typed) -> str:
        assert isinstance(node.node, Attribute)
        self.inputs.setdefault(node.node.name, _numba(stored_word(node.type)))
        return f"c{list(self.inputs).index(node.node.name)}"

    def _mask(self, array: str) -> str | None:
        return f"m{array}[i]" if self.with_nulls else None

    def _assign(self, source: str) -> str:
        self.count += 1
        self.lines.append(f"        t{self.count} = {source}")
        return f"t{self.count}"

    def both(self, node: Typed, word: str) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
        first, second = (self.value(argument, word) for argument in node.arguments)
        return first, second


def _and(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    (a, a_valid), (b, b_valid) = writer.both(node, "bool")
    return writer._assign(f"({a} & {b})"), _known(writer, a_valid, b_valid, f"(not {a})", f"(not {b})")


def _or(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    (a, a_valid), (b, b_valid) = writer.both(node, "bool")
    return writer._assign(f"({a} | {b})"), _known(writer, a_valid, b_valid, a, b)


def _known(writer: _Writer, a_valid: str | None, b_valid: str | None, a_decides: str, b_decides: str) -> str | None:
    """Known where both are, or where one that is known decides alone."""
    if a_valid is None and b_valid is None:
        return None
    first, second = a_valid or "True", b_valid or "True"
    return writer._assign(f"(({first} & {second}) | ({first} & {a_decides}) | ({second} & {b_decides}))")


def _is_null(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    argument = node.arguments[0]
    _, valid = writer.value(argument, word_of_computation(argument.type))
    return ("False" if valid is None else f"(not {valid})"), None


def _case(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    word = word_of_computation(node.type)
    value, valid = writer.value(node.arguments[-1], word)
    for condition, alternative in zip(node.arguments[-3::-2], node.arguments[-2::-2], strict=True):
        chosen = writer._assign(_true(*writer.value(condition, "bool")))
        other, other_valid = writer.value(alternative, word)
        value = writer._assign(f"{other} if {chosen} else {value}")
        if valid is not None or other_valid is not None:
            valid = writer._assign(f"{other_valid or 'True'} if {chosen} else {valid or 'True'}")
    return value, valid


def _coalesce(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    word = word_of_computation(node.type)
    value, valid = writer.value(node.arguments[-1], word)
    for argument in node.arguments[-2::-1]:
        other, other_valid = writer.value(argument, word)
        if other_valid is None:
            value, valid = other, None
            continue
        value = writer._assign(f"{other} if {other_valid} else {value}")
        valid = None if valid is None else writer._assign(f"({other_valid} | {valid})")
    return value, valid


def _extreme(writer: _Writer, node: Typed) -> tuple[str, str | None]:
    assert isinstance(node.node, Call)
    (a, a_valid), (b, b_valid) = writer.both(node, word_of_computation(node.type))
    value = f"scalars.{node.node.function}({a}, {b})"
    if a_valid is not None:
        value = f"({value} if {a_valid} else {b})"
    if b_valid is not None:
        value = f"({value} if {b_valid} else {a})"
    valid = None if a_valid is None or b_valid is None else writer._assign(f"({a_valid} | {b_valid})")
    return writer._assign(value), valid


_SPECIAL = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "case": _case,
    "coalesce": _coalesce,
    "least": _extreme,
    "greatest": _extreme,
}


def _true(value: str, valid: str | None) -> str:
    return value if valid is None else f"({value} & {valid})"


def _all(valids: Iterable[str | None]) -> str | None:
    names = list(dict.fromkeys(valid for valid in valids if valid is not None))
    if len(names) < 2:
        return names[0] if names else None
    return f"({' & '.join(names)})"


def _constant(literal: Literal | None, word: str) -> str:
    """A literal in a type of computation; 0 for null."""
    value = 0 if literal is None or literal.value is None else literal.value
    assert not isinstance(value, str)
    if word == "bool":
        return str(bool(value))
    if word == "int64":
        return f"np.int64({int(value)})"
    number = float(value)
    return f"np.float64({number!r})".replace("inf", "np.inf").replace("nan", "np.nan")


def _numba(word: str) -> str:
    return "boolean" if word == "bool" else word
