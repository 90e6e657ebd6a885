"""What must hold of time windows that a watermark fires: their sources have event times, and they are over these."""

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
    """Windows that a watermark fires where it is not that of all their tuples: most of the others would be late.

    So it is with a source without an event time, and with a window over another attribute than the event time.  What
    an expression, a function or an aggregate makes is taken for a time that fits: only the user knows what it is.
    """
    operators = tuple(own for own in operators if isinstance(own.name, str))  # other names have been noted already
    if not any(isinstance(own, Source) and own.out_of_order_s is not None for own in operators):
        return
    reaching, origins = _reaching(operators), _origins(operators)
    timeless = set[str]()
    for operator in operators:
        windows = _windows(operator)
        feeding = {source.name: source for stream in operator.inputs for source in reaching.get(stream, ())}
        bounded = [source for source in feeding.values() if source.out_of_order_s is not None]
        if not windows or not bounded:
            continue
        for source in feeding.values():
            if source.event_time is None and source.name not in timeless:
                timeless.add(source.name)
                yield _timeless(source, operator, bounded[0], origins)
        for stream, window in zip(operator.inputs, windows, strict=False):
            for name, attribute in origins.get(stream, {}).get(window.on or "", {}).items():
                if feeding[name].event_time not in (None, attribute):
                    yield _problem(operator, window, feeding[name], attribute)


def _timeless(
    source: Source, operator: Operator, bounded: Source, origins: Mapping[str, Mapping[str, Origins]]
) -> Problem:
    found = (
        origins.get(stream, {}).get(window.on or "", {}).get(source.name)
        for stream, window in zip(operator.inputs, _windows(operator), strict=False)
    )
    attribute = next((f"'{own}'" for own in found if own is not None), "...")
    return Problem(
        f"source '{source.name}'" + (f" ({source.place})" if source.place else ""),
        f"needs an event time: its tuples meet those of source '{bounded.name}', which has out_of_order_s, in the time "
        f"windows of operator '{operator.name}'",
        f"add event_time={attribute} and out_of_order_s=... (the seconds by which its tuples may come late)",
    )


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


def _reaching(operators: Sequence[Operator]) -> dict[str, tuple[Source, ...]]:
    """By stream, the sources whose tuples it depends on."""
    found: dict[str, tuple[Source, ...]] = {}
    for operator in operators:
        before = (source for stream in operator.inputs for source in found.get(stream, ()))
        own = (operator,) if isinstance(operator, Source) else tuple({s.name: s for s in before}.values())
        found |= dict.fromkeys(operator.outputs, own)
    return found


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
