"""Everything Penstock raises on purpose: one tree, whose leaves are also the builtin a caller would expect.

>>> issubclass(InputError, PenstockError), issubclass(InputError, ValueError)
(True, True)
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST_LINE, _TAIL = 2_000, 300  # characters
_MOST_LISTED = 25
_LONGEST_NAME = 500


class PenstockError(Exception):
    """Base of all errors whose text is one clear sentence for the user; the command line exits with 2 on it.

    What is quoted in a sentence may be of any length; its middle is left out.
    """

    def __str__(self) -> str:
        text = Exception.__str__(self)  # a KeyError's own would put the sentence in quotes
        return text if len(text) <= _LONGEST_LINE else "\n".join(_shortened(line) for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, what rule it breaks (and what was got), and a hint if there is one."""

    where: str
    sentence: str
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{self.where} {self.sentence}" if self.where else self.sentence
        return f"{text}; {self.hint}" if self.hint else text


class ApplicationError(PenstockError, ValueError):
    """All mistakes of one application, found before anything ran."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ExpressionError(PenstockError, ValueError):
    """A mistake in one expression; `column` counts from 1 within its text, None where it concerns the whole."""

    def __init__(self, sentence: str, *, hint: str | None = None, column: int | None = None) -> None:
        self.sentence, self.hint, self.column = sentence, hint, column
        super().__init__(f"{sentence}; {hint}" if hint else sentence)


class SpadeSyntaxError(PenstockError, ValueError):
    """A SPADE text that cannot be read; line and column count from 1."""

    def __init__(self, sentence: str, *, line: int, column: int, file: str = "program") -> None:
        self.sentence, self.line, self.column, self.file = sentence, line, column, file
        super().__init__(f"{file}:{line}:{column}: {sentence}")

    def __reduce__(self) -> tuple[object, ...]:
        return _spade_syntax_error, (self.sentence, self.line, self.column, self.file)


def _spade_syntax_error(sentence: str, line: int, column: int, file: str) -> SpadeSyntaxError:
    """The error out of a pickle, which knows no keyword arguments."""
    return SpadeSyntaxError(sentence, line=line, column=column, file=file)


class InputError(PenstockError, ValueError):
    """An input, option, file or row that does not fit."""


class MissingExtraError(PenstockError, ImportError):
    """A package that only some uses need, and that is not installed."""


class CallError(InputError, TypeError):
    """Arguments that a public function or class does not have, or lacks."""


class UnknownNameError(InputError, KeyError):
    """A name that an application or a split does not have."""


class OperatorError(PenstockError, RuntimeError):
    """A user's function failed while the stream ran."""


class StopTimeoutError(PenstockError, TimeoutError):
    """An application that did not end within the patience of who stopped it."""


class StateError(PenstockError, RuntimeError):
    """State that cannot be used as asked: a slot that is not held, an attempt that a newer one has overtaken."""


class StaleAttemptError(StateError):
    """A newer attempt has the slots; this one's results must not count."""


class CorruptStateError(StateError):
    """A log or manifest in the checkpoint that is not what was written."""


class StateFileError(PenstockError, OSError):
    """A file of the state that cannot be written or read: a full disk, a missing right."""


MOVED = "state goes on in"  # in the sentence of a StateMovedError, which a driver gets as text


class StateMovedError(StateFileError):
    """A host's state goes on in another directory, for want of space: an attempt that was at work begins again."""


def file_error(what: str, path: str, cause: OSError) -> StateFileError:
    """One sentence for a failed system call.

    >>> str(file_error("writing", "out", OSError(errno.ENOSPC, "No space left on device")))
    "writing 'out' failed: no space left on device; free some space or use another directory"
    """
    return StateFileError(f"{what} '{path}' failed: {system_reason(cause)}")


def system_reason(cause: OSError) -> str:
    """Why a system call failed, in the system's own words whoever made the call, and what helps.

    >>> system_reason(OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"))
    'no space left on device; free some space or use another directory'
    """
    text = os.strerror(cause.errno) if cause.errno else cause.strerror or str(cause)
    return text.lower() + ("; free some space or use another directory" if cause.errno == errno.ENOSPC else "")


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE - _TAIL]} ... {line[-_TAIL:]}"


def did_you_mean(word: object, known: Iterable[str]) -> str | None:
    """The hint for a misspelt name, or None when nothing is near; a word of any length takes no time.

    >>> did_you_mean("volum", ["price", "volume"])
    "did you mean 'volume'?"
    """
    text = str(word)
    if len(text) > _LONGEST_NAME:
        return None
    matches = difflib.get_close_matches(text, list(map(str, known)), n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else None


def no_attribute(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """What a public module raises for a name that it does not have.

    >>> str(no_attribute("penstock.sinks", "memmory", ["csv", "memory"]))
    "module 'penstock.sinks' has no attribute 'memmory'; did you mean 'memory'?"
    """
    names = sorted(known)
    listed = f"it has: {', '.join(names)}" if len(names) <= _MOST_LISTED else None
    hint = None if name.startswith("_") else did_you_mean(name, names) or listed
    return AttributeError(f"module '{module}' has no attribute '{name}'" + (f"; {hint}" if hint else ""))
