"""Where a checkpoint lies: in a directory of its own; moved it goes on, but a plain copy is refused."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from penstock.errors import InputError, file_error
from penstock.host.owned_folder import LOCK

APPLICATION = "application"
HEADER_BYTES = 1 << 24
_CHECKSUM = "header_checksum"
_SIGNS = (APPLICATION, "id", "lease")  # each is in every checkpoint that a driver has begun
_OF_THE_HOST = ("lost+found", LOCK)  # what is in a disk's own root, and in a scratch folder
_MOST_NAMED = 3


def header_of(path: Path) -> dict[str, Any] | None:
    """The first line of an application's file, a JSON object; None where it is not such a line, or no file is there."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline(HEADER_BYTES))
    except (OSError, ValueError):
        return None
    return header if isinstance(header, dict) else None


def header_line(header: dict[str, Any]) -> bytes:
    """The first line of an application's file, with a checksum of itself."""
    return json.dumps(header | {_CHECKSUM: _checksum(header)}).encode() + b"\n"


def is_whole(header: dict[str, Any]) -> bool:
    """Whether a header is as it was written; those of earlier versions do not have its checksum."""
    return bool(header.get(_CHECKSUM, _checksum(header)) == _checksum(header))


def _checksum(header: dict[str, Any]) -> int:
    own = {name: value for name, value in header.items() if name != _CHECKSUM}
    return zlib.crc32(json.dumps(own, sort_keys=True).encode())


def check_is_own(directory: Path) -> None:
    """InputError where a directory has files of something else: a start sweeps what it takes for its own, `results`
    among them.

    Hidden files do not count.
    """
    if not directory.is_dir() or any((directory / name).is_file() for name in _SIGNS):
        return
    try:
        others = sorted(name for name in os.listdir(directory) if name[0] != "." and name not in _OF_THE_HOST)
    except OSError as error:
        raise file_error("reading the checkpoint", str(directory), error) from error
    if others:
        more = len(others) - _MOST_NAMED
        named = ", ".join(others[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise InputError(
            f"a checkpoint is a directory of its own; got '{directory}', which has other files: {named}; "
            "name a new directory or an empty one"
        )


def check_place(directory: Path, stored: str | None, checkpoint_id: str) -> None:
    """InputError where the checkpoint still lies in another directory, too: one of the two is a copy.

    `stored` is where the last driver had it.  The lease of this driver must have been written: it tells a copy from the
    same directory by another path.
    """
    if stored is None or stored == os.path.realpath(directory):
        return
    before = Path(stored)
    known = header_of(before / APPLICATION)
    if known is None or known.get("id") != checkpoint_id or _is_same(before, directory):
        return
    raise InputError(
        f"the checkpoint '{directory}' is a plain copy of '{before}', and would overwrite its results; copy it with: "
        f"penstock checkpoint copy {before} NEW, or delete '{before}' if '{directory}' is to take its place"
    )


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one directory; by two mounts, its files may look like two."""
    if os.path.samefile(one, other):
        return True
    try:
        return (one / "lease").read_bytes() == (other / "lease").read_bytes()
    except OSError:
        return False
