"""What an operator's state goes by: nothing, keys, or the whole stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import Window
from penstock.expressions.tree import Attribute, Call, Expression, uses_sequence, walk

Scope = Literal["none", "key", "stream"]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How an operator's work can be divided; `keys` are attributes of each input, in the order of the inputs."""

    scope: Scope
    because: str
    keys: tuple[tuple[str, ...], ...] = ()


def partitioning_of(operator: ops.Operator) -> Partitioning:
    """What an operator's results depend on besides the tuple itself, and why."""
    match operator:
        case ops.Source():
            return Partitioning("stream", "one reader numbers its tuples")
        case ops.Sink():
            return Partitioning("stream", "one writer keeps the order of the stream")
        case ops.Functor():
            return _of_functor(operator)
        case ops.Aggregate():
            return _of_aggregate(operator)
        case ops.Join():
            return _of_join(operator)
        case ops.Sort():
            return Partitioning("stream", "sorting compares tuples of the whole stream")
        case ops.Barrier():
            return Partitioning("stream", "a barrier pairs tuples by their number in each whole input")
        case ops.Throttle():
            return Partitioning("stream", "a throttled tuple's time depends on the one before it")
        case ops.Custom():
            return _of_custom(operator)
        case ops.Union():
            return Partitioning("none", "any share of the inputs can be merged by position")
        case ops.Map():
            return Partitioning("none", "its function may be called with any share of the tuples")
        case _:
            return Partitioning("none", "each tuple is processed independently")


def origin(graph: Graph, stream: str, attribute: str) -> tuple[str, str]:
    """The operator that computed an attribute, and its name there: renaming and copying are looked through."""
    producer = graph.producer(stream)
    copied = _copied(graph, producer, attribute)
    return (producer.name, attribute) if copied is None else origin(graph, *copied)


def copied_from(graph: Graph, stream: str, attribute: str) -> tuple[str, str] | None:
    """The stream and attribute that an attribute is a copy of, None where the stream's own operator computes it."""
    return _copied(graph, graph.producer(stream), attribute)


def _copied(graph: Graph, producer: ops.Operator, attribute: str) -> tuple[str, str] | None:
    """The stream and attribute that an operator passes on as it is under a name, None where it computes it."""
    match producer:
        case ops.Split() | ops.Sort() | ops.Punctor() | ops.Delay() | ops.Throttle() | ops.Load() | ops.Sink():
            return producer.inputs[0], attribute
        case ops.Functor() if len(producer.emits) == 1:
            expression = _emitted(producer.emits[0], attribute)
            return (producer.inputs[0], expression.name) if isinstance(expression, Attribute) else None
        case ops.Aggregate():
            key = _key_read(_emitted(producer.emit, attribute))
            return (producer.inputs[0], key) if key in producer.by and key is not None else None
        case ops.Join():
            expression = _emitted(producer.emit, attribute)
            return _side(graph, producer, expression) if isinstance(expression, Attribute) else None
        case _:
            return None


def _emitted(emits: tuple[ops.Emit, ...], attribute: str) -> Expression:
    return next(emit.expression for emit in emits if emit.name == attribute)


def _key_read(expression: Expression) -> str | None:
    """The attribute whose every value in a group is the same if it is the key's."""
    if not isinstance(expression, Call) or expression.function not in ("any", "first", "last", "min", "max"):
        return None
    argument = expression.arguments[0]
    return argument.name if isinstance(argument, Attribute) else None


def _side(graph: Graph, join: ops.Join, attribute: Attribute) -> tuple[str, str]:
    """The input of a join that an attribute is read from; without a qualifier only one of them has it."""
    left, right = join.inputs
    if attribute.port is not None:
        return (left if attribute.port == "left" else right), attribute.name
    return (left if attribute.name in graph.producer(left).schema.names else right), attribute.name


def _of_functor(operator: ops.Functor) -> Partitioning:
    expressions = [emit.expression for emits in operator.emits for emit in emits]
    if any(uses_sequence(e) for e in (*expressions, *([operator.where] if operator.where else []))):
        return Partitioning("stream", "seq_num() numbers the tuples of the whole stream")
    return Partitioning("none", "each tuple is processed independently")


def _of_aggregate(operator: ops.Aggregate) -> Partitioning:
    window = operator.window
    if not operator.by:
        return Partitioning("stream", f"its window ({window}) is over the whole stream, not by group")
    if (
        any(isinstance(n, Call) and n.function == "mcnt" for e in operator.emit for n in walk(e.expression))
        and not window.per_group
    ):
        return Partitioning("stream", "mcnt() counts the tuples of all groups in the window")
    if not _goes_by_key(window):
        return Partitioning("stream", f"its window ({window}) is over the whole stream, although results are grouped")
    return Partitioning("key", _by(operator.by) + _clock(window), (operator.by,))


def _of_join(operator: ops.Join) -> Partitioning:
    if not operator.on:
        return Partitioning("stream", "a join without on=... compares every tuple with every other")
    for window, side in ((operator.left_window, "left"), (operator.right_window, "right")):
        if not _goes_by_key(window):
            return Partitioning("stream", f"its {side} window ({window}) is over the whole stream")
    left, right = (tuple(pair[i] for pair in operator.on) for i in (0, 1))
    return Partitioning("key", _by(left) + _clock(operator.left_window), (left, right))


def _of_custom(operator: ops.Custom) -> Partitioning:
    if not operator.by:
        return Partitioning("stream", "a user-defined operator without by=... has one state for the whole stream")
    return Partitioning("key", _by(operator.by), (operator.by,))


def _goes_by_key(window: Window) -> bool:
    """Time windows are alike for all groups, so that a key's share of them stands alone once the clock is known."""
    return window.per_group or window.measure in ("time", "punctuation")


def _by(attributes: tuple[str, ...]) -> str:
    return f"state is stored by {', '.join(attributes)}"


def _clock(window: Window) -> str:
    if window.measure == "time":
        return "; every replica must hear the clock of the whole stream"
    return "; every replica must get each punctuation" if window.measure == "punctuation" else ""
