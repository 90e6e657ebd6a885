"""Files that are there whole or not at all, and on the disk where that is asked for."""

from __future__ import annotations

import os

from penstock.errors import file_error


def write_whole(what: str, path: str, data: bytes, *, durable: bool = False) -> None:
    """Writes a file under a name of its own and renames it; `what` begins the sentence that a failure tells."""
    draft = f"{path}.{os.getpid()}.draft"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            with open(draft, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            if os.path.exists(draft):
                os.unlink(draft)
            raise
        if durable:
            sync(os.path.dirname(path))
    except OSError as error:
        raise file_error(what, path, error) from error


def sync(path: str) -> None:
    """Makes a file, or the names in a directory, survive the death of the machine, whoever wrote them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
