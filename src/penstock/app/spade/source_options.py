"""What stands in the brackets and braces of a Source or Sink: the file, its format, its rate, its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.app.spade.program import Snippet
from penstock.errors import InputError, did_you_mean

_COLUMNS = re.compile(r"([0-9]+)(?:\s*-\s*([0-9]+))?")
_FLAGS = ("csvformat", "nodelays")
_RATE = "throttledRate"


@dataclass(frozen=True, slots=True)
class FileOptions:
    """`["file:path", csvformat, nodelays, throttledRate=1000]`.

    `nodelays` says that the file has no times to wait for, which holds for every file here; so it has no field.
    """

    path: str
    rate_tuples_s: float | None = None


def file_options(parameters: Sequence[Snippet]) -> FileOptions:
    """The options of a Source or Sink; raises InputError with a sentence that fits behind the operator's name."""
    if not parameters or not parameters[0].text.startswith('"'):
        raise InputError('needs a file as its first option, such as "file:stock_report.dat"')
    path, rate = _path(parameters[0].text.strip('"')), None
    for snippet in parameters[1:]:
        word, is_setting, value = (part.strip() for part in snippet.text.partition("="))
        if is_setting and word == _RATE:
            rate = _rate(value)
        elif is_setting or word not in _FLAGS:
            hint = did_you_mean(word, (*_FLAGS, _RATE))
            known = f"{', '.join(_FLAGS)}, {_RATE}=..."
            raise InputError(f"has the option '{snippet.text}'; there are: {known}" + (f"; {hint}" if hint else ""))
    return FileOptions(path, rate)


def columns(outputs: Sequence[Snippet]) -> tuple[int, ...] | None:
    """The column numbers, from 1, of a list such as {1-3, 5}; None for {}.

    >>> columns([Snippet("1-3", 1, 1), Snippet("5", 1, 6)])
    (1, 2, 3, 5)
    """
    numbers: list[int] = []
    for snippet in outputs:
        found = _COLUMNS.fullmatch(snippet.text)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise InputError(f"lists the columns '{snippet.text}'; columns are numbers from 1, or ranges such as 1-3")
        repeated = sorted(set(numbers) & set(range(first, last + 1)))
        if repeated:
            raise InputError(f"lists column {repeated[0]} twice")
        numbers += range(first, last + 1)
    return tuple(numbers) or None


def _path(address: str) -> str:
    scheme, is_address, rest = address.partition(":")
    if not is_address:
        return address
    if scheme != "file":
        raise InputError(f"reads or writes '{address}'; only files can be used here, written \"file:path\"")
    return rest.removeprefix("//")


def _rate(text: str) -> float:
    try:
        rate = float(text.rstrip("dDfFlL"))
    except ValueError:
        rate = 0.0
    if not rate > 0:
        raise InputError(f"has {_RATE}={text}; it must be a positive number of tuples per second")
    return rate
