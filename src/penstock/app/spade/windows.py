"""SPADE's windows as Penstock's: what one and two measures mean in each operator."""

from __future__ import annotations

from penstock.app.spade.program import Measure, WindowOf
from penstock.app.windows import Window, sliding, tumbling
from penstock.errors import InputError

# SPADE's time(...) goes by arrival; here time is an attribute.  A number (of seconds) of one of these names is taken
# where time(...) names none.
TIME_ATTRIBUTES = ("timestamp", "ts", "time")


def window_of(written: WindowOf, *, joins: bool, time_attribute: str | None) -> Window:
    """Two measures slide by the second; one alone tumbles, but in a Join it slides by one tuple.

    `time_attribute` is what time(...) runs on where it names nothing.  Raises InputError.

    >>> print(window_of(WindowOf(Measure("count", 10, None, 1), None, True, 1), joins=False, time_attribute=None))
    tumbling count 10 per group
    """
    window = _window_of(written, joins, time_attribute)
    if window.mistake is not None:
        raise InputError(window.mistake)
    return window


def _window_of(written: WindowOf, joins: bool, time_attribute: str | None) -> Window:
    size, every = written.size, written.every
    if joins and every is not None:
        raise InputError(f"joins windows of one measure; got two, {_words(size)} and {_words(every)}")
    if not joins and every is None:
        return _tumbling(size, written.per_group, time_attribute)
    if every is not None and every.kind != size.kind and not (size.kind == "delta" and every.kind == "count"):
        step = "delta or count" if size.kind == "delta" else size.kind
        raise InputError(f"has a window by {size.kind}, which slides by {step}; got {_words(every)}")
    return _sliding(size, every, written.per_group, time_attribute)


def _tumbling(size: Measure, per_group: bool, time_attribute: str | None) -> Window:
    if size.kind == "count":
        return tumbling(count=_whole(size), per_group=per_group)
    if size.kind == "time":
        return tumbling(time_s=size.amount, on=_on(size, time_attribute), per_group=per_group)
    if size.kind == "delta":
        return tumbling(delta=size.amount, on=size.attribute, per_group=per_group)
    if size.amount is not None:
        raise InputError(f"has a tumbling window of {_words(size)}; it tumbles at every punctuation: write punct()")
    return tumbling(punctuation=True, per_group=per_group)


def _sliding(size: Measure, every: Measure | None, per_group: bool, time_attribute: str | None) -> Window:
    step = 1 if every is None else _whole(every) if every.kind in ("count", "punct") else 1
    if size.kind == "count":
        return sliding(count=_whole(size), every=step, per_group=per_group)
    if size.kind == "time":
        every_s = size.amount if every is None else every.amount
        return sliding(time_s=size.amount, every_s=every_s, on=_on(size, time_attribute), per_group=per_group)
    if size.kind == "delta":
        if every is not None and every.kind == "delta":
            raise InputError(f"has a delta window that slides by {_words(every)}; it slides by tuples: write count(1)")
        return sliding(delta=size.amount, every=step, on=size.attribute, per_group=per_group)
    return sliding(punctuation=_whole(size), every=step, per_group=per_group)


def _on(size: Measure, time_attribute: str | None) -> str:
    attribute = size.attribute or time_attribute
    if attribute is None:
        names = ", ".join(TIME_ATTRIBUTES)
        raise InputError(
            f"has a window of {_words(size)}, and its input has no number named one of {names}; "
            f"name the attribute that it runs on: time(attribute, {size.amount:g})"
        )
    return attribute


def _whole(measure: Measure) -> int:
    return 1 if measure.amount is None else int(measure.amount)


def _words(measure: Measure) -> str:
    parts = [measure.attribute] if measure.attribute else []
    if measure.amount is not None:
        parts.append(f"{measure.amount:g}")
    return f"{measure.kind}({', '.join(parts)})"
