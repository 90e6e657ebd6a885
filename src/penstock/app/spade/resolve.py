"""Names of a program given their meaning: the schema of each stream, and every mistake in names, types and pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.app.spade.program import AttributeOf, Declaration, NodeOf, Program, SchemaFor
from penstock.errors import InputError, Problem, did_you_mean

Schema = dict[str, str]
# Integer and Float are read as their wide kin: counts and sums of a long-running stream outgrow 32 bits, and a price
# that was printed in decimals keeps its digits.
_WORD_BY_TYPE = {
    "String": "string",
    "Boolean": "bool",
    "Byte": "int64",
    "Short": "int64",
    "Integer": "int64",
    "Long": "int64",
    "Float": "float64",
    "Double": "float64",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """Schemas (attribute -> type word) by stream and by virtual stream, and the problems met on the way."""

    schemas: dict[str, Schema]
    problems: tuple[Problem, ...]


def resolve(program: Program) -> Resolved:
    """All schemas of a program, schemaFor followed; what is wrong has its file and line."""
    declarations = [*program.virtual_streams, *program.streams()]
    resolver = _Resolver(program.file, {declaration.name: declaration for declaration in declarations})
    schemas = {declaration.name: resolver.schema(declaration) for declaration in declarations}
    problems = [*_repeats(program, declarations), *resolver.problems, *_placements(program)]
    return Resolved(schemas, tuple(problems))


def at(file: str, line: int, sentence: str, hint: str | None = None) -> Problem:
    """A problem at a line of the program."""
    return Problem(f"{file}:{line}:", sentence, hint)


class _Resolver:
    def __init__(self, file: str, by_name: dict[str, Declaration]) -> None:
        self.problems: list[Problem] = []
        self._file, self._by_name = file, by_name
        self._done: dict[str, Schema] = {}
        self._open: list[str] = []

    def schema(self, declaration: Declaration) -> Schema:
        """The attributes of a stream; those that are wrong are noted and left out."""
        if declaration.name not in self._done:
            self._open.append(declaration.name)
            attributes: Schema = {}
            for item in declaration.schema:
                self._merge(declaration, attributes, self._attributes(item), item.line)
            self._open.pop()
            self._done[declaration.name] = attributes
        return self._done[declaration.name]

    def _attributes(self, item: AttributeOf | SchemaFor) -> Schema:
        if isinstance(item, SchemaFor):
            return self._schema_for(item)
        try:
            return {item.name: type_word(item.type_word)}
        except InputError as error:
            self._note(item.line, f"attribute '{item.name}': {error}")
            return {}

    def _schema_for(self, item: SchemaFor) -> Schema:
        if item.stream in self._open:
            self._note(
                item.line, f"schemaFor({item.stream}) goes round in a circle: {' -> '.join((*self._open, item.stream))}"
            )
            return {}
        if item.stream not in self._by_name:
            hint = did_you_mean(item.stream, self._by_name)
            self._note(item.line, f"schemaFor({item.stream}) names no stream of the program", hint)
            return {}
        return self.schema(self._by_name[item.stream])

    def _merge(self, declaration: Declaration, attributes: Schema, more: Schema, line: int) -> None:
        for name, word in more.items():
            if name in attributes:
                self._note(line, f"stream '{declaration.name}' has two attributes of the name '{name}'")
            attributes[name] = word

    def _note(self, line: int, sentence: str, hint: str | None = None) -> None:
        self.problems.append(at(self._file, line, sentence, hint))


def _repeats(program: Program, declarations: list[Declaration]) -> Iterator[Problem]:
    first_line: dict[str, int] = {}
    for declaration in declarations:
        if declaration.name in first_line:
            sentence = f"stream '{declaration.name}' was declared before, in line {first_line[declaration.name]}"
            yield at(program.file, declaration.line, sentence)
        first_line.setdefault(declaration.name, declaration.line)
    for name, times in Counter(pool.name for pool in program.node_pools).items():
        if times > 1:
            line = [pool.line for pool in program.node_pools if pool.name == name][1]
            yield at(program.file, line, f"node pool '{name}' was declared before")


def _placements(program: Program) -> Iterator[Problem]:
    for pool in program.node_pools:
        if pool.hosts and len(pool.hosts) != pool.size:
            yield at(
                program.file, pool.line, f"node pool '{pool.name}' has {pool.size} nodes but {len(pool.hosts)} hosts"
            )
    for operation in program.operations:
        if operation.node is not None:
            yield from _node_problems(program, operation.node)


def _node_problems(program: Program, node: NodeOf) -> Iterator[Problem]:
    sizes = {pool.name: pool.size for pool in program.node_pools}
    if node.pool not in sizes:
        sentence = f"node({node.pool}, {node.index}) names no node pool; there are: {', '.join(sizes) or 'none'}"
        yield at(program.file, node.line, sentence, did_you_mean(node.pool, sizes))
    elif node.index >= sizes[node.pool]:
        sentence = (
            f"node({node.pool}, {node.index}) is outside of its pool, whose nodes are 0 to {sizes[node.pool] - 1}"
        )
        yield at(program.file, node.line, sentence)


def type_word(spade_type: str) -> str:
    """The word of `penstock.block.schema` for a SPADE type.

    >>> type_word("Integer"), type_word("StringList")
    ('int64', 'list<string>')
    """
    if spade_type in _WORD_BY_TYPE:
        return _WORD_BY_TYPE[spade_type]
    element = spade_type.removesuffix("List")
    if element != spade_type and element in _WORD_BY_TYPE:
        return f"list<{_WORD_BY_TYPE[element]}>"
    hint = did_you_mean(spade_type, (*_WORD_BY_TYPE, *(f"{name}List" for name in _WORD_BY_TYPE)))
    known = f"{', '.join(_WORD_BY_TYPE)}, and each with List behind it"
    raise InputError(f"there is no type '{spade_type}'; there are: {known}" + (f"; {hint}" if hint else ""))
