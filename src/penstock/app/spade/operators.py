"""Each kind of SPADE operator as Penstock's: from the page of an operation to the operators it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.checks.merge_checks import barrier_ports, join_scope, union_schema
from penstock.app.checks.window_checks import check_sort_window, check_window
from penstock.app.spade.page import Page, Ports
from penstock.app.spade.program import Snippet
from penstock.app.spade.windows import TIME_ATTRIBUTES, window_of
from penstock.app.stream import Stream
from penstock.app.windows import Window, sliding
from penstock.errors import InputError
from penstock.expressions.check import Scope
from penstock.expressions.kinds import is_number, kind_of
from penstock.expressions.tree import Attribute, Call, Expression, Literal

_SORT_KEY = re.compile(r"(\w+)(?:\s+(asc|desc))?", re.IGNORECASE)
_SOME_WINDOW = sliding(count=1)  # stands for one that is wrong, and was noted


def functor(page: Page) -> None:
    stream = page.inputs[0]
    scope, ports = _single(stream)
    where = page.condition(scope, ports)
    emits = page.emits(scope, ports, lambda name: _attribute_of(page, stream, name))
    page.add(ops.Functor(page.name, (stream.name,), page.declared, where, (emits,), place=page.place))


def aggregate(page: Page) -> None:
    stream = page.inputs[0]
    scope, ports = _single(stream)
    window = _window(page, 0, joins=False)
    by = [
        text
        for text in _names(page.operation.parameters)
        if page.entry().has_attribute(text, stream.schema, "its brackets")
    ]
    if window.per_group and not by:
        page.problem("has a window per group but no groups", "name the attributes that make them between its brackets")
    check_window(page.entry(), window, stream.schema, has_groups=True)
    if not page.operation.outputs:
        page.problem("needs an aggregate between its braces for each attribute; got {}", "write Any(x) to keep x")
    emits = page.emits(scope, ports, lambda name: None, aggregates=True)
    page.add(ops.Aggregate(page.name, (stream.name,), page.declared, window, tuple(by), emits, place=page.place))


def join(page: Page) -> None:
    left, right = page.inputs
    scope = join_scope(left.schema, right.schema)
    ports: Ports = {"1": "left", "2": "right", left.name: "left", right.name: "right"}
    pairs, where = _keys(page.condition(scope, ports), left.schema, right.schema)
    windows = _window(page, 0, joins=True), _window(page, 1, joins=True)
    if any(window.per_group for window in windows) and not pairs:
        page.problem("has a window per group but no groups", "ask between its brackets that attributes be equal")
    for window, side in zip(windows, (left, right), strict=True):
        check_window(page.entry(), window, side.schema, has_groups=True, joins=True)
    emits = page.emits(scope, ports, lambda name: _attribute_of_any(page, {"left": left, "right": right}, name))
    inputs = (left.name, right.name)
    page.add(ops.Join(page.name, inputs, page.declared, *windows, pairs, where, emits, place=page.place))


def barrier(page: Page) -> None:
    names, scope = barrier_ports(page.entry(), page.inputs)
    ports = {str(number): name for number, name in enumerate(names, 1)} | {name: name for name in names}
    _has_no(page, page.operation.parameters, "brackets")
    by_port = dict(zip(names, page.inputs, strict=True))
    emits = page.emits(scope, ports, lambda name: _attribute_of_any(page, by_port, name))
    inputs = tuple(stream.name for stream in page.inputs)
    page.add(ops.Barrier(page.name, inputs, page.declared, names, emits, place=page.place))


def union(page: Page) -> None:
    inputs = tuple(stream.name for stream in page.inputs)
    _passes_on(page, union_schema(page.entry(), page.inputs))
    _has_no(page, page.operation.parameters, "brackets")
    page.add(ops.Union(page.name, inputs, page.declared, place=page.place))


def split(page: Page) -> None:
    """Conditions, the last of which may be left out, or one whole number n: output n modulo the number of outputs.

    Each declared stream becomes a functor behind the split, so that it has its own name and declared types.
    """
    stream = page.inputs[0]
    names = [declaration.name for declaration in page.operation.declares]
    conditions = _branch_conditions(page, stream, len(names))
    branches = tuple(ops.Branch(name, where) for name, where in zip(names, conditions, strict=True))
    node = ops.Split(f"{page.name}_split", (stream.name,), stream.schema, branches, place=page.place)
    page.add(node)
    for name, output in zip(names, node.outputs, strict=True):
        branch = page.for_stream(name)
        scope, ports = _single(stream)
        emits = branch.emits(scope, ports, lambda name: _attribute_of(page, stream, name))
        page.add(ops.Functor(name, (output,), branch.declared, None, (emits,), place=page.place))


def sort(page: Page) -> None:
    stream = page.inputs[0]
    _passes_on(page, stream.schema)
    window = _window(page, 0, joins=False)
    check_sort_window(page.entry(), window, stream.schema)
    found = [_SORT_KEY.fullmatch(snippet.text) for snippet in page.operation.parameters]
    if not found or None in found:
        got = page.operation.filter_text or "nothing"
        page.problem(f"sorts by attributes, written [attribute] or [attribute desc, ...]; got {got}")
    keys = [ops.SortKey(key[1], (key[2] or "").lower() == "desc") for key in found if key]
    known = tuple(key for key in keys if page.entry().has_attribute(key.attribute, stream.schema, "its brackets"))
    page.add(ops.Sort(page.name, (stream.name,), page.declared, window, known, place=page.place))


def punctor(page: Page) -> None:
    stream = page.inputs[0]
    _passes_on(page, stream.schema)
    parameters = page.operation.parameters
    before = len(parameters) > 1 and parameters[-1].text.strip('"') == "before"
    if len(parameters) > 1 and parameters[-1].text.strip('"') in ("before", "after"):
        parameters = parameters[:-1]
    when = page.condition(*_single(stream), parameters)
    if not parameters:
        page.problem("needs a condition between its brackets; got []")
    page.add(
        ops.Punctor(
            page.name, (stream.name,), page.declared, when or Literal(False, pa.bool_()), before, place=page.place
        )
    )


def delay(page: Page) -> None:
    _passes_on(page, page.inputs[0].schema)
    seconds = _number(page, "a delay in seconds", ("delay",))
    page.add(ops.Delay(page.name, (page.inputs[0].name,), page.declared, seconds, place=page.place))


def throttle(page: Page) -> None:
    _passes_on(page, page.inputs[0].schema)
    rate = _number(page, "a rate in tuples per second", ("rate", "throttledRate"))
    page.add(ops.Throttle(page.name, (page.inputs[0].name,), page.declared, rate, place=page.place))


# How many input ports each kind has (least, most; None: any number) and what translates it.
KINDS: dict[str, tuple[int, int | None, Callable[[Page], None]]] = {
    "Functor": (1, 1, functor),
    "Aggregate": (1, 1, aggregate),
    "Join": (2, 2, join),
    "Barrier": (2, None, barrier),
    "Union": (1, None, union),
    "Split": (1, 1, split),
    "Sort": (1, 1, sort),
    "Punctor": (1, 1, punctor),
    "Delay": (1, 1, delay),
    "Throttle": (1, 1, throttle),
}


def _single(stream: Stream) -> tuple[Scope, Ports]:
    return Scope(((None, stream.schema),)), {"1": None, stream.name: None}


def _attribute_of(page: Page, stream: Stream, name: str) -> Attribute | None:
    return Attribute(name) if page.entry().has_attribute(name, stream.schema, "{} (a copy by name)") else None


def _attribute_of_any(page: Page, streams: dict[str, Stream], name: str) -> Attribute | None:
    """The attribute of the first input that has it."""
    for port, stream in streams.items():
        if name in stream.schema.names:
            return Attribute(name, port)
    page.problem(f"copies '{name}' by name, which none of its inputs has")
    return None


def _names(parameters: Iterable[Snippet]) -> list[str]:
    return [snippet.text for snippet in parameters]


def _window(page: Page, number: int, *, joins: bool) -> Window:
    written, schema = page.operation.inputs[number].window, page.inputs[number].schema
    if written is None:
        page.problem(f"needs a window on its input '{page.inputs[number].name}', such as <count(10)>; got none")
        return _SOME_WINDOW
    times = [name for name in TIME_ATTRIBUTES if name in schema.names and is_number(schema.field(name).type)]
    try:
        window = window_of(written, joins=joins, time_attribute=times[0] if times else None)
        if window.measure == "time" and written.size.attribute is None:
            chosen = f"has a window of time({written.size.amount:g}), which runs on '{window.on}', read as seconds"
            page.warn(f"{chosen}; write time(attribute, {written.size.amount:g}) to choose another", written.line)
        return window
    except InputError as error:
        page.problem(str(error), line=written.line)
        return _SOME_WINDOW


def _keys(
    condition: Expression | None, left: pa.Schema, right: pa.Schema
) -> tuple[tuple[tuple[str, str], ...], Expression | None]:
    """The pairs of attributes that a condition holds equal, which a join can look up, and what is left of it."""
    pairs: list[tuple[str, str]] = []
    rest: list[Expression] = []
    for part in _conjuncts(condition):
        pair = _equal_pair(part, left, right)
        if pair is None:
            rest.append(part)
        else:
            pairs.append(pair)
    where: Expression | None = None
    for part in rest:
        where = part if where is None else Call("and", (where, part))
    return tuple(pairs), where


def _conjuncts(condition: Expression | None) -> list[Expression]:
    if isinstance(condition, Call) and condition.function == "and":
        return [part for argument in condition.arguments for part in _conjuncts(argument)]
    return [] if condition is None else [condition]


def _equal_pair(part: Expression, left: pa.Schema, right: pa.Schema) -> tuple[str, str] | None:
    if not isinstance(part, Call) or part.function != "equal":
        return None
    sides = {a.port: a.name for a in part.arguments if isinstance(a, Attribute)}
    if set(sides) != {"left", "right"}:
        return None
    one, other = left.field(sides["left"]).type, right.field(sides["right"]).type
    return (sides["left"], sides["right"]) if one == other and kind_of(one) in ("text", "integer") else None


def _branch_conditions(page: Page, stream: Stream, outputs: int) -> list[Expression | None]:
    scope, ports = _single(stream)
    found = [page.expression(snippet, scope, ports) for snippet in page.operation.parameters]
    kinds = [kind_of(type_) for _, type_ in found]
    trees: list[Expression | None] = [tree for tree, _ in found]
    if kinds == ["integer"]:
        count = Literal(outputs, pa.int64())
        numbers = [Literal(number, pa.int64()) for number in range(outputs)]
        return [Call("equal", (Call("modulo", (found[0][0], count)), number)) for number in numbers]
    if set(kinds) <= {"boolean", "unknown"} and outputs - 1 <= len(found) <= outputs:
        return [*trees, *[None] * (outputs - len(found))]
    page.problem(
        f"takes one whole number, or a condition for each of its {outputs} outputs (the last may be left out), "
        f"between its brackets; got {page.operation.filter_text or 'nothing'}"
    )
    return [None] * outputs


def _passes_on(page: Page, schema: pa.Schema) -> None:
    """Notes it where an operator that changes no tuple declares others than it gets."""
    _has_no(page, page.operation.outputs, "braces")
    if page.declared.names != schema.names or page.declared.types != schema.types:
        names, declared = ", ".join(schema.names), ", ".join(page.declared.names)
        page.problem(f"passes tuples on as they are, with {names}; it declares {declared} (names and types must agree)")


def _has_no(page: Page, snippets: tuple[Snippet, ...], what: str) -> None:
    if snippets:
        page.problem(f"takes nothing between its {what}; got {', '.join(_names(snippets))}", line=snippets[0].line)


def _number(page: Page, what: str, words: tuple[str, ...]) -> float:
    """The one number between the brackets, bare or behind one of the words and '='."""
    text = page.operation.filter_text or "nothing"
    word, is_setting, value = (part.strip() for part in text.partition("="))
    try:
        number = float((value if is_setting and word in words else text).rstrip("dDfFlL"))
    except ValueError:
        number = 0.0
    if not number > 0:
        page.problem(f"needs {what} between its brackets; got {text}")
        return 1.0
    return number
