"""Functions of the expression language as values: parameters, result type, one line of documentation, an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from penstock.errors import ExpressionError
from penstock.expressions.kinds import article_and_word, kind_of
from penstock.expressions.tree import Expression, Literal

Types = tuple[pa.DataType, ...]
Rule = Callable[[Types], pa.DataType]
Validation = Callable[[str, tuple[Expression, ...]], None]

_KINDS: Mapping[str, tuple[str, ...]] = {
    "number": ("integer", "float"),
    "integer": ("integer",),
    "bool": ("boolean",),
    "string": ("text",),
    "timestamp": ("timestamp",),
    "list": ("list",),
    "any": ("boolean", "integer", "float", "text", "timestamp", "list"),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `takes` is a word of the table above; `literal` ones are fixed when the expression is written."""

    name: str
    takes: str
    literal: bool = False
    optional: bool = False
    repeated: bool = False

    def accepts(self, type_: pa.DataType) -> bool:
        return kind_of(type_) in ("unknown", *_KINDS[self.takes])


@dataclass(frozen=True, slots=True)
class Function:
    """A function: `result` gives its type from its arguments' types, `validate` looks at literal arguments."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Rule
    doc: str
    example: str
    gives: str
    aliases: tuple[str, ...] = ()
    validate: Validation | None = None

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(_written(p) for p in self.parameters)})"

    def check(self, arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
        """The result's type; raises ExpressionError where the arguments do not fit."""
        self._check_count(len(arguments))
        for place, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
            self._check_argument(self.parameters[min(place, len(self.parameters) - 1)], argument, type_)
        if self.validate is not None:
            self.validate(self.name, arguments)
        return self.result(types)

    def _check_count(self, count: int) -> None:
        required = sum(not p.optional for p in self.parameters)
        repeats = any(p.repeated for p in self.parameters)
        if count < required or (count > len(self.parameters) and not repeats):
            raise ExpressionError(f"calls {self.name} with {_counted(count)}; it is {self.signature}")

    def _check_argument(self, parameter: Parameter, argument: Expression, type_: pa.DataType) -> None:
        if not parameter.accepts(type_):
            wanted = "an integer" if parameter.takes == "integer" else f"a {parameter.takes}"
            raise ExpressionError(
                f"gives {self.name} {article_and_word(type_)} as its {parameter.name}, which takes {wanted}"
            )
        if parameter.literal and not (isinstance(argument, Literal) and argument.value is not None):
            raise ExpressionError(f"gives {self.name} a {parameter.name} that is no literal; it must be fixed")


def parameters(text: str) -> tuple[Parameter, ...]:
    """Parameters from their short form: 'x:number', 'pattern:string!' (literal), 'n:integer?' (optional), 'x:any*'."""
    found = []
    for part in text.split(",") if text else []:
        name, _, word = part.strip().partition(":")
        takes = word.rstrip("!?*")
        found.append(Parameter(name, takes, "!" in word, "?" in word, "*" in word))
    return tuple(found)


def function(
    form: str, result: Rule, doc: str, example: str, gives: str, aliases: str = "", validate: Validation | None = None
) -> Function:
    """A function from its short form: 'name(x:number, digits:integer?)'."""
    name, _, inside = form.partition("(")
    return Function(name, parameters(inside[:-1]), result, doc, example, gives, tuple(aliases.split()), validate)


def index_by_spelling(functions: Iterable[Function]) -> Mapping[str, str]:
    """Every accepted spelling, lower-case, to the canonical name; camelCase comes as names without underscores."""
    spellings: dict[str, str] = {}
    for function in functions:
        for name in (function.name, *function.aliases):
            spellings[name.lower()] = function.name
            spellings.setdefault(name.lower().replace("_", ""), function.name)
    return MappingProxyType(spellings)


def _written(parameter: Parameter) -> str:
    text = parameter.name + (", ..." if parameter.repeated else "")
    return f"[{text}]" if parameter.optional else text


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count or 'no'} arguments"
