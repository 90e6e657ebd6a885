"""Windows as users write them: `sliding(...)` and `tumbling(...)` give one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.arguments import checked_call, is_number, is_whole
from penstock.errors import InputError

Kind = Literal["sliding", "tumbling"]
Measure = Literal["count", "time", "delta", "punctuation"]
MICROSECONDS = 1_000_000
_HIGHEST = 1 << 62  # kernels count in int64 and add sizes to times


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a stream is held, and when it fires.

    `size` and `every` are tuples (count), microseconds (time), attribute units (delta: `size`; `every` counts tuples)
    or segments (punctuation).
    """

    kind: Kind
    measure: Measure
    size: int | float
    every: int | float
    on: str | None = None
    per_group: bool = False
    mistake: str | None = None  # what is wrong with it, reported with the mistakes of the operator that uses it

    def __str__(self) -> str:
        amount, step = (
            (f"{_seconds(self.size)} s", f"{_seconds(self.every)} s")
            if self.measure == "time"
            else (f"{self.size:g}", f"{self.every:g}")
        )
        text = f"{self.kind} {self.measure} {amount}"
        if self.kind == "sliding":
            text += f" every {step}"
        if self.on:
            text += f" on {self.on}"
        return text + (" per group" if self.per_group else "")


@checked_call("ps.sliding")
def sliding(
    *,
    count: int | None = None,
    every: int = 1,
    time_s: float | None = None,
    every_s: float | None = None,
    delta: float | None = None,
    punctuation: int | None = None,
    on: str | None = None,
    per_group: bool = False,
) -> Window:
    """A window that keeps the newest tuples and fires at every step.

    A wrong window is reported with the other mistakes of the application that uses it.

    >>> print(sliding(count=4, every=1, per_group=True))
    sliding count 4 every 1 per group
    >>> print(sliding(time_s=60, every_s=1, on="ts"))
    sliding time 60 s every 1 s on ts
    """
    try:
        measure, size = _measure(count=count, time_s=time_s, delta=delta, punctuation=punctuation)
        if measure == "time":
            return _sliding_time(size, size if every_s is None else every_s, every, on, per_group)
        if every_s is not None:
            raise InputError(f"every_s goes with time_s; got a window by {measure}; use every=...")
        return _window("sliding", measure, size, every, on, per_group)
    except InputError as error:
        return Window("sliding", "count", 1, 1, per_group=per_group, mistake=str(error))


@checked_call("ps.tumbling")
def tumbling(
    *,
    count: int | None = None,
    time_s: float | None = None,
    delta: float | None = None,
    punctuation: bool | None = None,
    on: str | None = None,
    per_group: bool = False,
) -> Window:
    """A window that fires when full and starts anew.

    >>> print(tumbling(count=10, per_group=True))
    tumbling count 10 per group
    """
    try:
        if punctuation not in (None, True, False):
            raise InputError(f"a tumbling window fires at every punctuation=True; got {punctuation!r}")
        measure, size = _measure(count=count, time_s=time_s, delta=delta, punctuation=1 if punctuation else None)
        if measure == "time":
            size = _microseconds("tumbling", size)
        return _window("tumbling", measure, size, size if measure != "delta" else 1, on, per_group)
    except InputError as error:
        return Window("tumbling", "count", 1, 1, per_group=per_group, mistake=str(error))


def _sliding_time(time_s: float, every_s: float, every: int, on: str | None, per_group: bool) -> Window:
    size_us, every_us = _microseconds("sliding", time_s), _microseconds("sliding", every_s)
    if every != 1:
        raise InputError(f"a sliding time window moves by every_s; got every={every!r}")
    if size_us % every_us:
        raise InputError(f"a sliding window's time_s must be a multiple of its every_s; got {time_s:g} and {every_s:g}")
    return _window("sliding", "time", size_us, every_us, on, per_group)


def _measure(
    *, count: int | None, time_s: float | None, delta: float | None, punctuation: int | None
) -> tuple[Measure, int | float]:
    given: list[tuple[Measure, int | float]] = []
    if count is not None:
        given.append(("count", count))
    if time_s is not None:
        given.append(("time", time_s))
    if delta is not None:
        given.append(("delta", delta))
    if punctuation is not None:
        given.append(("punctuation", punctuation))
    if len(given) != 1:
        names = ", ".join(name for name, _ in given) or "none"
        raise InputError(f"a window takes exactly one of count, time_s, delta, punctuation; got {names}")
    return given[0]


def _window(
    kind: Kind, measure: Measure, size: int | float, every: int | float, on: str | None, per_group: bool
) -> Window:
    for name, value in (("size", size), ("every", every)):
        _check_amount(kind, measure, name, value, whole=measure != "delta" or name == "every")
    if not isinstance(per_group, bool):
        raise InputError(f"per_group of a {kind} window is True or False; got {per_group!r}")
    if measure in ("time", "delta") and not on:
        raise InputError(f"a {kind} {measure} window runs on an attribute; got none; add on='...'")
    if measure in ("count", "punctuation") and on:
        raise InputError(f"a {kind} {measure} window has no attribute; got on={on!r}; leave it out")
    return Window(kind, measure, size, every, on, per_group)


def _check_amount(kind: Kind, measure: Measure, name: str, value: object, *, whole: bool) -> None:
    if not (is_whole if whole else is_number)(value) or not 0 < value < _HIGHEST:  # type: ignore[operator]
        raise InputError(
            f"a {kind} {measure} window needs a positive {'whole ' if whole else ''}number as its {name}; got {value!r}"
        )


def _microseconds(kind: Kind, seconds: object) -> int:
    if not is_number(seconds) or not 0.5 / MICROSECONDS < seconds < _HIGHEST / MICROSECONDS:
        raise InputError(
            f"a {kind} time window needs a positive number of seconds, to the microsecond; got {seconds!r}"
        )
    return round(seconds * MICROSECONDS)


def _seconds(microseconds: float) -> str:
    return f"{microseconds / MICROSECONDS:g}"
