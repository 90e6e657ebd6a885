"""The files behind a source's path: one file, or those of a directory or pattern in the order of their names."""

from __future__ import annotations

import glob
from pathlib import Path

_PATTERN = frozenset("*?[")


def is_growing(path: str | Path) -> bool:
    """Whether more files may come: a directory or a pattern, not a file."""
    return Path(path).is_dir() or (bool(_PATTERN & set(str(path))) and not Path(path).is_file())


def files_of(path: str | Path) -> list[Path]:
    """The files that are there now; names that begin with . or _ are someone's drafts and do not count."""
    if not is_growing(path):
        return [Path(path)] if Path(path).is_file() else []
    found = Path(path).iterdir() if Path(path).is_dir() else map(Path, glob.glob(str(path)))
    return sorted(file for file in found if file.name[0] not in "._" and file.is_file())
