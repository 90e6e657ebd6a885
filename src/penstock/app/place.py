"""Where in the user's own files something was written."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = f"{Path(__file__).resolve().parent.parent}{os.sep}"  # with a separator: a user's folder may be penstock_...
_APPLICATIONS = f"{_PACKAGE}cli{os.sep}demo{os.sep}"  # applications like any user's, though they come with Penstock


@dataclass(frozen=True, slots=True)
class Place:
    """A file (its name alone) and a line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller() -> Place | None:
    """The nearest line outside of Penstock that led here."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) or file.startswith(_APPLICATIONS):
            return Place(Path(file).name, frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
