"""Files that are there whole or not at all, on the disk where that is asked for, and as private as their folder."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable

from penstock.errors import file_error

Fence = Callable[[], None]  # raises where whoever writes has been overtaken and must stop
DRAFT = ".draft"
_PROCESS = uuid.uuid4().hex[:8]  # process ids repeat from host to host


def no_fence() -> None:
    """For files that nobody else writes."""


def draft_name(name: str) -> str:
    """The name of a file while it is written; no other process, on any host, uses the same one."""
    return f"{name}.{os.getpid()}-{_PROCESS}{DRAFT}"


def write_whole(what: str, path: str, data: bytes, *, durable: bool = False, fence: Fence = no_fence) -> None:
    """Writes a file under a name of its own and renames it; `what` begins the sentence that a failure tells.

    The `fence` is called between the two.  Whoever takes over says so where the fence looks, then deletes all drafts:
    so a draft from before cannot be renamed, and one from after does not pass the fence.
    """
    draft = draft_name(path)
    try:
        make_folder(os.path.dirname(path), durable=durable)
        try:
            with os.fdopen(open_new(draft, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            rename(draft, path, fence)
        except BaseException:
            if os.path.exists(draft):
                os.unlink(draft)
            raise
        if durable:
            sync(os.path.dirname(path))
    except OSError as error:
        raise file_error(what, path, error) from error


def rename(draft: str, path: str, fence: Fence) -> None:
    """Gives a draft its name; raises what the fence does where somebody has taken over, and so deleted the draft."""
    fence()
    try:
        os.replace(draft, path)
    except FileNotFoundError:
        fence()
        raise


def open_new(path: str, flags: int) -> int:
    """Opens a file, which is made where it is not there, in a folder that is made, too.

    Whoever may use the folder may use the file: it has the folder's permissions to read and write, whatever the umask.
    """
    folder = os.path.dirname(path)
    try:
        mode = os.stat(folder).st_mode & 0o666
    except FileNotFoundError:
        mode = make_folder(folder) & 0o666
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, mode)
    if mode & 0o077:
        _allow(descriptor, mode)
    return descriptor


def make_folder(path: str, *, durable: bool = False) -> int:
    """Makes a folder where it is not there, with the permissions of the one that it lies in; gives its mode.

    `durable` names survive the death of the machine.
    """
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        above = os.path.dirname(os.path.abspath(path))
        mode = make_folder(above, durable=durable)
    try:
        os.mkdir(path, mode & 0o777)
    except FileExistsError:  # another process was first
        return os.stat(path).st_mode
    _allow(path, mode & 0o7777)
    if durable:
        sync(above)
    return mode


def _allow(file: int | str, mode: int) -> None:
    """Gives permissions that the umask has taken away; those of another user's file are its owner's."""
    with contextlib.suppress(PermissionError):
        os.chmod(file, mode)


def sync(path: str) -> None:
    """Makes a file, or the names in a directory, survive the death of the machine, whoever wrote them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
