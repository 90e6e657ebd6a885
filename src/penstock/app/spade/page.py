"""The page of one operation while it is translated: its inputs, its declared schema, its expressions, its mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.app.operators import Emit, Operator
from penstock.app.place import Place
from penstock.app.spade.program import Operation, Snippet
from penstock.app.stream import Stream
from penstock.app.workbook import Entry, Workbook
from penstock.block.schema import word_of
from penstock.errors import ExpressionError
from penstock.expressions.check import Scope, problems, type_of_expression
from penstock.expressions.kinds import article_and_word, is_number, kind_of
from penstock.expressions.parser import parse
from penstock.expressions.tree import Attribute, Call, Expression, Literal

# What stands for an expression that is wrong: its type is unknown, so nothing downstream complains of it again.
NOTHING = Literal(None, pa.null())
Ports = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Page:
    """`declared` is the schema of the operation's (first) stream, `schemas` those of all streams by name; `made` are
    the operators that the operation has become so far."""

    file: str
    book: Workbook
    operation: Operation
    inputs: tuple[Stream, ...]
    declared: pa.Schema
    schemas: Mapping[str, pa.Schema]
    made: list[Operator] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def place(self) -> Place:
        return Place(self.file, self.operation.line)

    @property
    def name(self) -> str:
        return self.operation.name

    def reading(self, inputs: Sequence[Stream]) -> Page:
        """The same page with its inputs found."""
        return replace(self, inputs=tuple(inputs))

    def for_stream(self, name: str) -> Page:
        """The same page with the schema of another of the operation's streams."""
        return replace(self, declared=self.schemas[name])

    def add(self, operator: Operator) -> None:
        self.made.append(operator)

    def entry(self, line: int | None = None) -> Entry:
        """Where checks of `penstock.app` note what they find, under the operation's line or another."""
        place = Place(self.file, line or self.operation.line)
        return Entry(self.book, self.operation.name, self.operation.kind.lower(), place)

    def problem(self, sentence: str, hint: str | None = None, *, line: int | None = None) -> None:
        self.entry(line).problem(sentence, hint)

    def warn(self, sentence: str, line: int) -> None:
        self.warnings.append(f"{self.file}:{line}: operator '{self.name}' {sentence}")

    def expression(
        self, snippet: Snippet, scope: Scope, ports: Ports, *, aggregates: bool = False
    ) -> tuple[Expression, pa.DataType]:
        """Tree and type of a text; a wrong one is noted and gives a null of unknown type."""
        tree: Expression = NOTHING
        try:
            tree = with_ports(parse(snippet.text, dialect="spade"), ports)
            found = problems(tree, scope, aggregates=aggregates)
        except ExpressionError as error:
            found = (error,)
        for mistake in found:
            line, column = _place_in(snippet, mistake.column)
            self.problem(f"{mistake.sentence} (in `{_one_line(snippet)}`, column {column})", mistake.hint, line=line)
        return (NOTHING, NOTHING.type) if found else (tree, type_of_expression(tree, scope, aggregates=aggregates))

    def condition(self, scope: Scope, ports: Ports, parameters: tuple[Snippet, ...] | None = None) -> Expression | None:
        """What the brackets (or these of their parts) ask of a tuple; None for [] and for what is wrong."""
        given = self.operation.parameters if parameters is None else parameters
        if not given:
            return None
        if len(given) > 1:
            self.problem(f"takes one condition between its brackets; got {len(given)}", line=given[0].line)
            return None
        tree, found = self.expression(given[0], scope, ports)
        if kind_of(found) in ("boolean", "unknown"):
            return tree
        got = f"`{_one_line(given[0])}`, which is {article_and_word(found)}"
        hint = "compare it with something"
        self.problem(f"needs a condition between its brackets; got {got}", hint, line=given[0].line)
        return None

    def emits(
        self, scope: Scope, ports: Ports, copy: Callable[[str], Attribute | None], *, aggregates: bool = False
    ) -> tuple[Emit, ...]:
        """One expression for each declared attribute, in order; none at all copies by name, which `copy` looks up."""
        outputs = self.operation.outputs
        if not outputs:
            return tuple(self._copied(name, scope, copy) for name in self.declared.names)
        if len(outputs) != len(self.declared):
            names = ", ".join(self.declared.names)
            self.problem(
                f"gives {counted(outputs, 'expression')} for {counted(self.declared, 'attribute')}: {names}",
                line=outputs[0].line,
            )
            return ()
        return tuple(
            Emit(f.name, self._cast(f, *self.expression(snippet, scope, ports, aggregates=aggregates), snippet.line))
            for f, snippet in zip(self.declared, outputs, strict=True)
        )

    def _copied(self, name: str, scope: Scope, copy: Callable[[str], Attribute | None]) -> Emit:
        attribute = copy(name)
        if attribute is None:
            return Emit(name, NOTHING)
        found = type_of_expression(attribute, scope)
        return Emit(name, self._cast(self.declared.field(name), attribute, found, self.operation.line))

    def _cast(self, wanted: pa.Field, tree: Expression, found: pa.DataType, line: int) -> Expression:
        """The expression in the declared type: numbers are cast, all else must be what was declared."""
        if found == wanted.type or tree is NOTHING:
            return tree
        if kind_of(found) == "unknown" or (is_number(found) and is_number(wanted.type)):
            return Call("cast", (tree, Literal(word_of(wanted.type), pa.string())))
        if kind_of(found) == "text" and kind_of(wanted.type) == "text":
            return tree
        declared = article_and_word(wanted.type)
        self.problem(f"declares '{wanted.name}' as {declared}, but gives it {article_and_word(found)}", line=line)
        return NOTHING


def counted(things: Sized, noun: str) -> str:
    """'1 column', '2 columns'."""
    return f"{len(things)} {noun}" + ("" if len(things) == 1 else "s")


def with_ports(tree: Expression, ports: Ports) -> Expression:
    """The tree with `$1.x` and `Stream.x` read as the operator's own ports; raises ExpressionError for other ones."""
    if isinstance(tree, Call):
        return Call(tree.function, tuple(with_ports(argument, ports) for argument in tree.arguments), tree.column)
    if isinstance(tree, Literal) or tree.port is None:
        return tree
    if tree.port not in ports:
        known = ", ".join(f"${port}" if port.isdigit() else port for port in ports)
        written = f"${tree.port}" if tree.port.isdigit() else tree.port
        raise ExpressionError(f"reads '{tree.name}' of {written}; its inputs are: {known}", column=tree.column)
    return Attribute(tree.name, ports[tree.port], tree.column)


def _place_in(snippet: Snippet, column: int | None) -> tuple[int, int]:
    """Line and column in the program of a column (from 1) of a snippet, which may span lines."""
    before = snippet.text[: (column or 1) - 1]
    lines = before.count("\n")
    if lines == 0:
        return snippet.line, snippet.column + len(before)
    return snippet.line + lines, len(before) - before.rindex("\n")


def _one_line(snippet: Snippet) -> str:
    return " ".join(snippet.text.split())
