"""What is common to all kinds of inputs: how one is made, tried and judged."""

from __future__ import annotations

import contextlib
import io
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import PenstockError

Body = dict[str, Any]  # an input as plain JSON: bytes are Latin-1 text
RIGHT, REFUSED, WRONG, TRACEBACK, HANG = "right", "refused", "wrong", "traceback", "hang"
VERDICTS = (RIGHT, REFUSED, WRONG, TRACEBACK, HANG)
FAULTS = (WRONG, TRACEBACK, HANG)
_LONGEST_SENTENCE = 4_000  # characters: what echoes a huge input back is not a sentence


class WrongResult(Exception):
    """A result that is not the right one."""


class Kind(Protocol):
    """One kind of input; an object prepares what its inputs are mutations of, once per process."""

    def make(self, rng: random.Random) -> Body:
        """An input."""

    def weight(self, body: Body) -> int:
        """How many inputs it counts for: the rows of a table, else 1."""

    def attempt(self, body: Body, folder: Path) -> None:
        """Gives the input to Penstock in an empty folder; raises what that raises, WrongResult for a wrong result."""


MakeKind = Callable[[Path], Kind]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an input: the verdict, the sentence or what was raised, and where."""

    verdict: str
    text: str = ""
    trace: str = ""


def judged(kind: Kind, body: Body, folder: Path) -> Outcome:
    """Tries an input and says what came of it; nothing that it prints is shown."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            kind.attempt(body, folder)
    except PenstockError as error:
        return _of_sentence(str(error))
    except SystemExit as error:  # of a command line: usage errors of Click's, too
        if error.code in (None, 0):
            return Outcome(RIGHT)
        if error.code == 2:
            return _of_sentence(printed.getvalue())
        return Outcome(TRACEBACK, f"exit code {error.code}", printed.getvalue()[-2_000:])
    except WrongResult as error:
        return Outcome(WRONG, str(error)[:_LONGEST_SENTENCE])
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"[:_LONGEST_SENTENCE]
        return Outcome(TRACEBACK, text, traceback.format_exc()[-8_000:])
    return Outcome(RIGHT)


def _of_sentence(text: str) -> Outcome:
    text = text.strip()
    if not text or "Traceback (most recent call last)" in text:
        return Outcome(WRONG, f"no sentence: {text[:200]!r}")
    if max(map(len, text.splitlines())) > _LONGEST_SENTENCE:
        return Outcome(WRONG, f"a sentence of {len(text):,} characters: {text[:200]!r}...")
    return Outcome(REFUSED, text[:_LONGEST_SENTENCE])
