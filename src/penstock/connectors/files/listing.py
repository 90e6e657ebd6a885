"""The files behind a path: a file, or those of a directory or pattern by name."""

from __future__ import annotations

import glob
import os
from pathlib import Path

_PATTERN = frozenset("*?[")


def is_growing(path: str | Path) -> bool:
    """Whether more files may come: a directory or a pattern, not a file; a name that no file can have is none."""
    return os.path.isdir(path) or (bool(_PATTERN & set(str(path))) and not os.path.isfile(path))


def files_of(path: str | Path) -> list[Path]:
    """The files that are there now; names that begin with . or _ are someone's drafts and do not count."""
    if not is_growing(path):
        return [Path(path)] if os.path.isfile(path) else []
    found = Path(path).iterdir() if os.path.isdir(path) else map(Path, glob.glob(str(path)))
    return sorted(file for file in found if file.name[0] not in "._" and file.is_file())
