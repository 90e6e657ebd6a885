"""SPADE text -> Program, by recursive descent: one function per construct, so that each refusal knows its context."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.app.spade.cursor import Cursor
from penstock.app.spade.program import (
    AttributeOf,
    Declaration,
    InputPort,
    Measure,
    NodeOf,
    NodePool,
    Operation,
    Program,
    Repair,
    SchemaFor,
    SchemaItem,
    Snippet,
    WindowOf,
)
from penstock.app.spade.repair import unclosed_parenthesis, without_surplus_columns
from penstock.errors import did_you_mean

_SECTIONS = ("Application", "Typedefs", "Nodepools", "Program")


@dataclass(slots=True)
class _Draft:
    """What has been read so far."""

    application: str | None = None
    typespace: str | None = None
    node_pools: list[NodePool] = field(default_factory=list)
    virtual_streams: list[Declaration] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)


def parse(text: str, file: str = "program.spade") -> Program:
    """The program that a text writes down; raises SpadeSyntaxError at the first place that cannot be read.

    >>> program = parse('[Program] stream A(x:Long) := Source()["file:a.dat", csvformat]{1} -> partition["pe0"]')
    >>> program.operations[0].name, program.operations[0].partition
    ('A', 'pe0')
    """
    cursor, draft = Cursor(text, file), _Draft()
    seen: set[str] = set()
    while cursor.token.kind != "end":
        section = _section_header(cursor, seen)
        seen.add(section)
        _SECTION_READERS[section](cursor, draft)
    if "Program" not in seen:
        cursor.refuse("the section [Program]")
    return without_surplus_columns(_program_of(file, draft))


def _program_of(file: str, draft: _Draft) -> Program:
    return Program(
        file,
        draft.application,
        draft.typespace,
        tuple(draft.node_pools),
        tuple(draft.virtual_streams),
        tuple(draft.operations),
        tuple(draft.repairs),
    )


def _section_header(cursor: Cursor, seen: set[str]) -> str:
    left = [name for name in _SECTIONS if name not in seen]
    expected = "one of the sections " + ", ".join(f"[{name}]" for name in left) if left else "the end of the text"
    if not cursor.sees("["):
        cursor.refuse(expected)
    cursor.take()
    if cursor.token.text not in left:
        hint = did_you_mean(cursor.token.text, left)
        cursor.refuse(expected, f"({hint})" if hint else "")
    section = cursor.take().text
    cursor.expect("]", f"after '[{section}'")
    return section


def _application(cursor: Cursor, draft: _Draft) -> None:
    draft.application = cursor.name("the application's name", "after [Application]").text
    if cursor.token.kind == "name":  # the level of its log, which has no meaning here
        cursor.take()


def _typedefs(cursor: Cursor, draft: _Draft) -> None:
    while not cursor.sees("[") and cursor.token.kind != "end":
        cursor.expect("typespace", "or a section in [Typedefs]")
        draft.typespace = cursor.name("the name of the typespace").text


def _nodepools(cursor: Cursor, draft: _Draft) -> None:
    while not cursor.sees("[") and cursor.token.kind != "end":
        line = cursor.expect("nodepool", "or a section in [Nodepools]").line
        name = cursor.name("the name of the node pool").text
        cursor.expect("[", f"after node pool '{name}'")
        size = None if cursor.sees("]") else cursor.whole_number("a number of nodes", f"of node pool '{name}'")
        cursor.expect("]", f"after the size of node pool '{name}'")
        cursor.expect(":=", f"after node pool '{name}'")
        hosts = tuple(_host(snippet) for snippet in cursor.snippets("(", f"with the hosts of node pool '{name}'"))
        draft.node_pools.append(NodePool(name, len(hosts) if size is None else size, hosts, line))


def _host(snippet: Snippet) -> str:
    return snippet.text.strip('"')


def _program(cursor: Cursor, draft: _Draft) -> None:
    while cursor.token.kind != "end" and not cursor.sees("["):
        if cursor.takes("vstream"):
            draft.virtual_streams.append(_declaration(cursor, "vstream"))
        elif cursor.sees("stream", "Null"):
            draft.operations.append(_operation(cursor, draft))
        else:
            cursor.refuse("'stream', 'vstream' or 'Null'")


def _declaration(cursor: Cursor, word: str) -> Declaration:
    token = cursor.name(f"a name after '{word}'")
    cursor.expect("(", f"before the schema of {word} '{token.text}'")
    items = [_schema_item(cursor, token.text)]
    while cursor.takes(","):
        items.append(_schema_item(cursor, token.text))
    cursor.expect(")", f"or ',' in the schema of {word} '{token.text}'")
    return Declaration(token.text, tuple(items), token.line)


def _schema_item(cursor: Cursor, stream: str) -> SchemaItem:
    token = cursor.name("an attribute's name or 'schemaFor'", f"in the schema of '{stream}'")
    if token.text == "schemaFor" and cursor.takes("("):
        other = cursor.name("the name of a stream", "in schemaFor(...)").text
        cursor.expect(")", f"after 'schemaFor({other}'")
        return SchemaFor(other, token.line)
    cursor.expect(":", f"after attribute '{token.text}'")
    return AttributeOf(token.text, cursor.name("a type", f"of attribute '{token.text}'").text, token.line)


def _operation(cursor: Cursor, draft: _Draft) -> Operation:
    line = cursor.token.line
    declares: list[Declaration] = []
    while cursor.takes("stream"):
        declares.append(_declaration(cursor, "stream"))
    if not declares:
        cursor.expect("Null", "or 'stream'")
    written = f"stream '{declares[-1].name}'" if declares else "'Null'"
    cursor.expect(":=", f"after {written}")
    kind = cursor.name("the name of an operator", "after ':='").text
    opened = cursor.expect("(", f"after '{kind}'")
    inputs = () if cursor.sees(")") else _inputs(cursor, kind)
    # MODEL's A.2 closes the parenthesis after the braces, A.4 before the brackets: both are read.
    is_closed = cursor.takes(")")
    if not is_closed and not cursor.sees("[", "{"):
        cursor.refuse("')'", f"after the inputs of {kind} (its '(' is in line {opened.line})")
    parameters = cursor.snippets("[", f"after the inputs of {kind}")
    outputs = cursor.snippets("{", f"after the ']' of {kind}")
    if not is_closed:
        _close_late(cursor, draft, kind, opened.line)
    partition, node = _placement(cursor)
    return Operation(kind, tuple(declares), inputs, parameters, outputs, partition, node, line)


def _close_late(cursor: Cursor, draft: _Draft, kind: str, opened_line: int) -> None:
    if cursor.takes(")"):
        return
    if cursor.token.kind != "end" and not cursor.sees("->", "stream", "vstream", "Null"):
        cursor.refuse("')'", f"after the '}}' of {kind} (its '(' is in line {opened_line})")
    draft.repairs.append(unclosed_parenthesis(kind, opened_line, cursor.before.line))


def _inputs(cursor: Cursor, kind: str) -> tuple[InputPort, ...]:
    ports = [_input_port(cursor, kind)]
    while cursor.takes(";"):
        ports.append(_input_port(cursor, kind))
    return tuple(ports)


def _input_port(cursor: Cursor, kind: str) -> InputPort:
    first = cursor.name(f"the name of a stream, or ')', as an input of {kind}")
    streams = [first.text]
    while cursor.takes(","):
        streams.append(cursor.name(f"the name of a stream as an input of {kind}").text)
    return InputPort(tuple(streams), _window(cursor) if cursor.sees("<") else None, first.line)


def _window(cursor: Cursor) -> WindowOf:
    line = cursor.expect("<", "before a window").line
    size, every, per_group = _measure(cursor), None, False
    while cursor.takes(","):
        if cursor.takes("pergroup"):
            per_group = True
            break
        if every is not None:
            cursor.refuse("'pergroup'", "after the two measures of a window")
        every = _measure(cursor)
    cursor.expect(">", "after a window" if per_group else "or ',' in a window")
    return WindowOf(size, every, per_group, line)


def _measure(cursor: Cursor) -> Measure:
    if not cursor.sees("count", "time", "delta", "punct"):
        cursor.refuse("count(...), time(...), delta(...) or punct()", "as a window's measure")
    token = cursor.take()
    cursor.expect("(", f"after '{token.text}'")
    amount, attribute = None, None
    if token.text in ("time", "delta") and (token.text == "delta" or cursor.token.kind == "name"):
        attribute = cursor.name("the name of an attribute", f"in {token.text}(...)").text
        cursor.expect(",", f"after '{token.text}({attribute}'")
    if token.text == "count":
        amount = float(cursor.whole_number("a number of tuples", "in count(...)"))
    elif token.text != "punct" or not cursor.sees(")"):
        amount = cursor.number("a number", f"in {token.text}(...)")
    cursor.expect(")", f"after the measure {token.text}(...)")
    return _measure_of(token.text, amount, attribute, token.line)


def _measure_of(word: str, amount: float | None, attribute: str | None, line: int) -> Measure:
    if word == "count":
        return Measure("count", amount, attribute, line)
    if word == "time":
        return Measure("time", amount, attribute, line)
    return Measure("delta" if word == "delta" else "punct", amount, attribute, line)


def _placement(cursor: Cursor) -> tuple[str | None, NodeOf | None]:
    partition, node = None, None
    if not cursor.takes("->"):
        if cursor.token.kind != "end" and not cursor.sees("stream", "vstream", "Null", "["):
            cursor.refuse("'->', 'stream', 'vstream' or the end of the text", "after an operator")
        return None, None
    while True:
        if cursor.takes("partition"):
            cursor.expect("[", "after 'partition'")
            partition = cursor.string("the partition's name as a string", "after 'partition['")
            cursor.expect("]", f'after the partition\'s name "{partition}"')
        elif cursor.sees("node"):
            node = _node(cursor)
        else:
            cursor.refuse(
                "partition[...] or node(...)", "after '->'" if partition is None and node is None else "after ','"
            )
        if not cursor.takes(","):
            return partition, node


def _node(cursor: Cursor) -> NodeOf:
    line = cursor.take().line
    cursor.expect("(", "after 'node'")
    pool = cursor.name("the name of a node pool", "after 'node('").text
    cursor.expect(",", f"after 'node({pool}'")
    index = cursor.whole_number("the number of a node", f"after 'node({pool},'")
    cursor.expect(")", f"after 'node({pool}, {index}'")
    return NodeOf(pool, index, line)


_SECTION_READERS = {
    "Application": _application,
    "Typedefs": _typedefs,
    "Nodepools": _nodepools,
    "Program": _program,
}
