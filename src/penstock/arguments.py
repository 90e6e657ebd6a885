"""Checks of what users give to public calls: one sentence for each argument of a wrong type or out of its range."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeGuard, TypeVar

from penstock.errors import CallError, InputError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

_MOST_SHOWN = 120
_OLD_NAMES = ("willingness",)  # parameters that warn for one release
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """What an argument may be: in words, and as a test."""

    words: str
    fits: Callable[[Any], bool]
    is_secret: bool = False  # a value may hold a password: only its type is shown

    def problem(self, what: str, value: object) -> str | None:
        """The sentence for a value that breaks the rule, None for one that keeps it."""
        if self.fits(value):
            return None
        got = f"an object of the type {type(value).__name__}, which is not shown" if self.is_secret else shown(value)
        return f"{what} is {self.words}; got {got}"


def check_arguments(where: str, **given: tuple[object, Rule]) -> None:
    """InputError with a sentence for each argument of a call that breaks its rule.

    >>> check_arguments("ps.sinks.csv", path=(5, PATH))
    Traceback (most recent call last):
    penstock.errors.InputError: path of ps.sinks.csv is a path as text or pathlib.Path; got 5
    """
    found = (rule.problem(f"{name} of {where}", value) for name, (value, rule) in given.items())
    if problems := [problem for problem in found if problem is not None]:
        raise InputError("\n".join(problems))


def shown(value: object) -> str:
    """A value as an error's sentence shows it: on one line, not too long, and without an address in memory.

    >>> shown(shown)
    '<function shown>'
    """
    text = _ADDRESS.sub("", " ".join(repr(value).split()))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def is_whole(value: object, least: int | None = None) -> TypeGuard[int]:
    """
    >>> [is_whole(value, least=1) for value in (1, 0, True, 1.0, "1")]
    [True, False, False, False, False]
    """
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is finite, and not too large for a float64.

    >>> [is_number(value) for value in (1, 0.5, float("nan"), float("inf"), 10**400, True, "1")]
    [True, True, False, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def whole(least: int | None = None, most: int | None = None) -> Rule:
    if least is None:
        return Rule("a whole number", is_whole)
    if most is None:
        return Rule(f"a whole number of at least {least}", lambda value: is_whole(value, least))
    return Rule(f"a whole number from {least} to {most:,}", lambda value: is_whole(value, least) and value <= most)


def number(*, above: float | None = None, least: float | None = None) -> Rule:
    if above is not None:
        return Rule(f"a number above {above:g}", lambda value: is_number(value) and value > above)
    if least is not None:
        return Rule(f"a number of at least {least:g}", lambda value: is_number(value) and value >= least)
    return Rule("a number", is_number)


def kind(words: str, *types: type) -> Rule:
    """A value of one of some types."""
    return Rule(words, lambda value: isinstance(value, types))


def many(words: str, member: Rule) -> Rule:
    """A list or tuple whose members keep a rule."""
    return Rule(words, lambda value: isinstance(value, list | tuple) and all(map(member.fits, value)))


def or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.words}, or None", lambda value: value is None or rule.fits(value))


def secret(rule: Rule) -> Rule:
    """The rule for values that are never shown."""
    return replace(rule, is_secret=True)


def dict_of(words: str, *types: type) -> Rule:
    """A mapping whose names are text and whose values are of some types."""

    def fits(value: object) -> bool:
        return isinstance(value, Mapping) and all(isinstance(k, str) and isinstance(v, types) for k, v in value.items())

    return Rule(words, fits)


TEXT = kind("text", str)
FLAG = kind("True or False", bool)
PATH = kind("a path as text or pathlib.Path", str, Path)
FUNCTION = Rule("a function", callable)
NAMES = Rule(
    "a name or a list of names",
    lambda value: isinstance(value, str | Iterator) or (isinstance(value, Collection) and all(map(TEXT.fits, value))),
)


def checked_call(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A public function that says which argument it does not have, and which it lacks.

    >>> @checked_call("ps.halved")
    ... def halved(*, number): return number / 2
    >>> halved(numbre=3)
    Traceback (most recent call last):
    penstock.errors.CallError: ps.halved has no argument 'numbre'; it has: number; did you mean 'number'?
    """

    def checked(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            try:
                return function(*given, **named)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # not of this call, but from inside the function
                raise CallError(_call_problem(name, function, given, named) or f"{name}: {error}") from None

        return call

    return checked


def checked_calls(name: str) -> Callable[[type[R]], type[R]]:
    """The same for a class and its public methods."""

    def checked(own: type[R]) -> type[R]:
        for attribute, value in list(vars(own).items()):
            if isinstance(value, FunctionType) and (attribute == "__init__" or not attribute.startswith("_")):
                where = f"ps.{name}" if attribute == "__init__" else f"{name}.{attribute}"
                setattr(own, attribute, checked_call(where)(value))
        return own

    return checked


def _call_problem(
    name: str, function: Callable[..., Any], given: tuple[object, ...], named: Mapping[str, object]
) -> str | None:
    """Why these arguments do not fit the function's parameters."""
    parameters = inspect.signature(function).parameters
    known = {own: parameter for own, parameter in parameters.items() if own not in ("self", *_OLD_NAMES)}
    its = f"it has: {', '.join(known) or 'none'}"
    given = given[1:] if "self" in parameters else given
    for own in named:
        if own not in known:
            hint = did_you_mean(own, known)
            return f"{name} has no argument '{own}'; {its}" + (f"; {hint}" if hint else "")
    by_place = [own for own, parameter in known.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    if len(given) > len(by_place):
        count = f"at most {len(by_place)} arguments without a name" if by_place else "its arguments by name"
        return f"{name} takes {count}; {its}; got {shown(given[len(by_place)])}"
    missing = [
        own for own, parameter in known.items()
        if parameter.default is parameter.empty and own not in named and own not in by_place[: len(given)]
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]  # fmt: skip
    return f"{name} needs {' and '.join(missing)}; {its}" if missing else None
