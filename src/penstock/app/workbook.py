"""The workbook of an application being written: its operators so far, and every mistake found so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.app.operators import Emit, Operator
from penstock.app.place import Place, caller
from penstock.arguments import Rule, is_number, shown
from penstock.block.schema import schema_of
from penstock.errors import ExpressionError, InputError, Problem, did_you_mean
from penstock.expressions.check import Scope, problems, type_of_expression
from penstock.expressions.kinds import article_and_word
from penstock.expressions.parser import parse
from penstock.expressions.tree import Expression, Literal, uses_sequence

UNKNOWN = pa.null()  # the type of an attribute whose expression is wrong: nothing downstream complains of it again
_NOTHING = Literal(None, UNKNOWN)


class Workbook:
    """Collects operators and problems; nothing is raised until the application is used."""

    def __init__(self, application: Any = None) -> None:
        self.application = application
        self.operators: list[Operator] = []
        self.problems: list[Problem] = []

    def entry(self, name: object, kind: str) -> Entry:
        """The page of a new operator: checks its name, and notes problems under it."""
        place = caller()
        entry = Entry(self, str(name), kind, place)
        if not isinstance(name, str) or not name.strip():
            hint = f"write the name first: .{kind}('name', ...)" if name is not None else None
            entry.problem(f"needs a name of its own; got {shown(name)}", hint)
        elif "." in name:
            entry.problem(f"has a dot in its name, which is reserved for the outputs of splits; got {shown(name)}")
        elif any(o.name == name for o in self.operators):
            other = next(o for o in self.operators if o.name == name)
            entry.problem(f"has the name of another operator (the {type(other).__name__.lower()} at {other.place})")
        return entry


class Entry:
    """One operator being written."""

    def __init__(self, book: Workbook, name: str, kind: str, place: Place | None) -> None:
        self.book, self.name, self.kind, self.place = book, name, kind, place

    def problem(self, sentence: str, hint: str | None = None) -> None:
        where = f"operator '{self.name}'" + (f" ({self.place})" if self.place else "")
        self.book.problems.append(Problem(where, sentence, hint))

    def expression(
        self, text: object, scope: Scope, what: str, *, aggregates: bool = False, numbered: bool = False
    ) -> tuple[Expression, pa.DataType]:
        """Tree and type of a text; a wrong one is noted and gives a null of unknown type.

        `numbered` says that the operator numbers its tuples, so that seq_num can be used.
        """
        if isinstance(text, bool | int | float):
            text = str(text).lower() if isinstance(text, bool) else repr(text)
        if not isinstance(text, str):
            self.problem(f"takes an expression as text for {what}; got {shown(text)}")
            return _NOTHING, UNKNOWN
        try:
            tree = parse(text)
        except ExpressionError as error:
            at = f" at column {error.column}" if error.column else ""
            self.problem(f"has a mistake in {what} `{text}`{at}: {error.sentence}", error.hint)
            return _NOTHING, UNKNOWN
        found = problems(tree, scope, aggregates=aggregates)
        for mistake in found:
            self.problem(f"{mistake.sentence} (in {what} `{text}`)", mistake.hint)
        if uses_sequence(tree) and not numbered:
            self.problem(
                f"calls seq_num in {what} `{text}`, which only a functor can", "number the tuples in a functor before"
            )
        return (_NOTHING, UNKNOWN) if found else (tree, type_of_expression(tree, scope))

    def condition(self, text: object, scope: Scope, what: str, *, numbered: bool = False) -> Expression | None:
        """The tree of a condition, or None where there is none."""
        if text is None or (isinstance(text, str) and not text.strip()):
            return None
        tree, found = self.expression(text, scope, what, numbered=numbered)
        if not (pa.types.is_boolean(found) or pa.types.is_null(found)):
            got = f"`{text}`, which is {article_and_word(found)}"
            self.problem(f"needs a condition as {what}; got {got}", "compare it with something")
        return tree

    def emit(
        self, emit: object, scope: Scope, *, aggregates: bool = False, numbered: bool = False
    ) -> tuple[tuple[Emit, ...], pa.Schema]:
        """Trees and schema of an emit mapping."""
        if not isinstance(emit, Mapping) or not emit:
            self.problem(f"needs emit={{'attribute': 'expression', ...}} with at least one attribute; got {emit!r}")
            return (), pa.schema([])
        emits, fields = [], []
        for name, text in emit.items():
            tree, found = self.expression(text, scope, f"emit '{name}'", aggregates=aggregates, numbered=numbered)
            emits.append(Emit(str(name), tree))
            fields.append(pa.field(str(name), found))
        return tuple(emits), pa.schema(fields)

    def attributes(self, given: object, schema: pa.Schema, what: str) -> tuple[str, ...]:
        """Names of attributes that the schema has; the others are noted and left out."""
        if given is None:
            return ()
        names: Sequence[object] = (
            tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
        )
        return tuple(str(name) for name in names if self.has_attribute(name, schema, what))

    def has_attribute(self, name: object, schema: pa.Schema, what: str) -> bool:
        """Whether a schema has an attribute; if not, that is noted, unless a mistake before left the schema empty."""
        if isinstance(name, str) and name in schema.names:
            return True
        if not schema.names:
            return False
        self.problem(
            f"reads {name!r} in {what}, which its input does not have; it has: {', '.join(schema.names)}",
            did_you_mean(str(name), schema.names),
        )
        return False

    def schema(self, given: object) -> pa.Schema:
        """A schema from what the user gave; wrong types are noted and stay unknown."""
        if not isinstance(given, Mapping | pa.Schema):
            self.problem(f"needs schema={{'attribute': 'type', ...}}; got {shown(given)}")
            return pa.schema([])
        names = list(given.names) if isinstance(given, pa.Schema) else list(given)
        if len(set(names)) < len(names) or not names or not all(isinstance(name, str) for name in names):
            self.problem(f"needs attributes with names of their own in its schema; got {names}")
            return pa.schema([])
        fields = []
        for name in names:
            word = given.field(name).type if isinstance(given, pa.Schema) else given[name]
            try:
                fields += schema_of(pa.schema([given.field(name)]) if isinstance(given, pa.Schema) else {name: word})
            except InputError as error:
                self.problem(f"gives attribute {name!r} the type {word!r}: {error}")
                fields.append(pa.field(str(name), UNKNOWN))
        return pa.schema(fields)

    def number(self, given: object, what: str, *, at_least_0: bool = False) -> float:
        """A positive number, or one of at least 0; another is noted and read as 1."""
        if is_number(given) and (given > 0 or (at_least_0 and given == 0)):
            return float(given)
        article = "an" if what[0] in "aeiou" else "a"
        needed = f"{article} {what} of at least 0" if at_least_0 else f"a positive {what}"
        self.problem(f"needs {needed}; got {given!r}")
        return 1.0

    def argument(self, given: object, what: str, rule: Rule) -> None:
        """Notes a value that breaks its rule."""
        if not rule.fits(given):
            self.problem(f"needs {what} as {rule.words}; got {shown(given)}")

    def add(self, operator: Operator) -> None:
        self.book.operators.append(operator)
