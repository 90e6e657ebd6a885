"""What must hold of time windows that a watermark fires: they are over the event time that the watermark goes by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.app.operators import (
    Barrier,
    Delay,
    Emit,
    Functor,
    Join,
    Load,
    Operator,
    Punctor,
    Sort,
    Source,
    Split,
    Throttle,
    Union,
)
from penstock.app.windows import Window
from penstock.errors import Problem
from penstock.expressions.tree import Attribute

Origins = Mapping[str, str]  # by source, the attribute of it that one of a stream is a copy of
_UNCHANGED = (Delay, Load, Punctor, Sort, Split, Throttle)


def event_time_problems(operators: Iterable[Operator]) -> Iterator[Problem]:
    """Windows over an attribute that is another one of its source than the event time: most tuples would be late.

    What an expression, a function or an aggregate makes is taken for a time that fits: only the user knows what it is.
    """
    operators = tuple(own for own in operators if isinstance(own.name, str))  # other names have been noted already
    sources = {own.name: own for own in operators if isinstance(own, Source) and own.out_of_order_s is not None}
    origins = _origins(operators) if sources else {}
    for operator in operators if sources else ():
        windows = _windows(operator)
        for stream, window in zip(operator.inputs, windows, strict=False):
            for name, attribute in origins.get(stream, {}).get(window.on or "", {}).items():
                if name in sources and attribute != sources[name].event_time:
                    yield _problem(operator, window, sources[name], attribute)


def _problem(operator: Operator, window: Window, source: Source, attribute: str) -> Problem:
    where = f"operator '{operator.name}'" + (f" ({operator.place})" if operator.place else "")
    renamed = "" if attribute == window.on else f", which is '{attribute}' of the source"
    return Problem(
        where,
        f"needs its time window on '{source.event_time}', the event time of source '{source.name}', whose watermark "
        f"fires it; got '{window.on}'{renamed}",
        f"give the source event_time='{attribute}', or the window on='{source.event_time}'",
    )


def _windows(operator: Operator) -> tuple[Window, ...]:
    """Its windows by input, where all are over time; those with a mistake have been noted already."""
    match operator:
        case Join():
            windows: tuple[object, ...] = operator.left_window, operator.right_window
        case _:
            windows = (getattr(operator, "window", None),)
    time = tuple(own for own in windows if isinstance(own, Window) and own.mistake is None and own.measure == "time")
    return time if len(time) == len(windows) else ()


def _origins(operators: Sequence[Operator]) -> dict[str, dict[str, Origins]]:
    """By stream and attribute, what it is a copy of."""
    found: dict[str, dict[str, Origins]] = {}
    for operator in operators:
        inputs = [found.get(stream, {}) for stream in operator.inputs]
        match operator:
            case Source():
                own: dict[str, Origins] = {name: {operator.name: name} for name in operator.schema.names}
            case Union():
                own = _common(inputs)
            case Functor():
                own = _common([_copied(emits, {None: inputs[0]}) for emits in operator.emits])
            case Join():
                own = _copied(operator.emit, dict(zip(("left", "right"), inputs, strict=False)))
            case Barrier():
                own = _copied(operator.emit, dict(zip(operator.ports, inputs, strict=False)))
            case _ if isinstance(operator, _UNCHANGED):
                own = dict(inputs[0])
            case _:
                own = {}
        found |= dict.fromkeys(operator.outputs, own)
    return found


def _copied(emits: Iterable[Emit], inputs: Mapping[str | None, Mapping[str, Origins]]) -> dict[str, Origins]:
    """What operators emit unchanged, perhaps by another name."""
    return {
        emit.name: inputs.get(emit.expression.port, {}).get(emit.expression.name, {})
        for emit in emits
        if isinstance(emit.expression, Attribute)
    }


def _common(members: Sequence[Mapping[str, Origins]]) -> dict[str, Origins]:
    """Of several kinds of tuples in one stream: what all are copies of, by source, where those of a source agree."""
    found: dict[str, Origins] = {}
    for name in {name for member in members for name in member}:
        origins = [member.get(name, {}) for member in members]
        sources = {source for own in origins for source in own} if all(origins) else set()
        by_source = {source: {own[source] for own in origins if source in own} for source in sources}
        found[name] = {source: attributes.pop() for source, attributes in by_source.items() if len(attributes) == 1}
    return found
