"""Where in the user's own files something was written."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


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
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return Place(Path(frame.f_code.co_filename).name, frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
