"""Mistakes on a command line, each as one sentence: where; rule; got; hint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penstock.errors import InputError, did_you_mean

_RULES = (  # what Typer and its coercion say of a value, by version, and what we say
    (re.compile(r"valid integer|whole number|^.* is not a valid int"), "a whole number"),
    (re.compile(r"valid number|^.* is not a valid float"), "a number"),
    (re.compile(r"greater than or equal to ([\d.-]+)|range x>=([\d.-]+)"), "at least {}"),
    (re.compile(r"less than or equal to ([\d.-]+)|range [\d.-]+<=x<=([\d.-]+)"), "at most {}"),
)


def is_usage_error(error: Exception) -> bool:
    """Whether Typer says so of the command line; its classes have other places in each version."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def usage_error(error: Any, program: str, arguments: Sequence[str]) -> InputError:
    """What is wrong with a command line, in our words."""
    context = error.ctx if getattr(error, "ctx", None) is not None else None
    command = f"{program} {arguments[0]}" if context is None else context.command_path
    param = getattr(error, "param", None)
    kind = type(error).__name__
    if kind == "NoSuchOption":
        known = [] if context is None else [name for own in context.command.get_params(context) for name in own.opts]
        hint = did_you_mean(error.option_name, known)
        rule = f"has no option '{error.option_name}'" + (f"; {hint}" if hint else "")
    elif kind == "MissingParameter" and param is not None:
        rule = f"needs {param.opts[0] if param.opts[0].startswith('-') else param.metavar or param.name.upper()}"
    elif param is not None:
        given = given_to(param.opts, arguments)
        name = param.opts[0] if param.opts[0].startswith("-") else param.metavar
        return InputError(
            f"{name} of {command} is {_rule(error.message)}" + ("" if given is None else f"; got '{given}'")
        )
    elif kind == "BadOptionUsage":
        rule = f"needs a value for {error.option_name}"
    else:
        extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", error.format_message())
        rule = (
            f"takes no further argument; got '{extra[1]}'" if extra else f"cannot be used so: {error.format_message()}"
        )
    return InputError(f"{command} {rule}; see {command} --help")


def given_to(names: Sequence[str], arguments: Sequence[str]) -> str | None:
    """The word that an option got last, None where it cannot be seen.

    >>> given_to(["--port", "-p"], ["watch", "--port=x"]), given_to(["--port"], ["--port", "y"])
    ('x', 'y')
    """
    found = None
    for word, following in zip(arguments, [*arguments[1:], None], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else following
    return found


def _rule(message: str) -> str:
    for pattern, rule in _RULES:
        found = pattern.search(message)
        if found:
            return rule.format(*(own for own in found.groups() if own is not None))
    return re.sub(r"^Input should be ", "", message).rstrip(".").lower()
