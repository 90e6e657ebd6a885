"""Where a host keeps the state of its slots: in memory where there is room, else on disk."""

from __future__ import annotations

import os
import tempfile

from penstock.element.state.process import boot_id

_MEMORY = "/dev/shm"
ROOM_BYTES = 1 << 30


def host_directory(checkpoint_id: str, operator: str, root: str | None = None, room_bytes: int = ROOM_BYTES) -> str:
    """The directory of an operator's state on this host, for this start of the machine: after a power failure mapped
    files on disk may hold any mixture of old and new pages, so state from before it is never looked at.
    """
    root = _default_root(room_bytes) if root is None else root
    return os.path.join(root, f"penstock-{os.getuid()}", checkpoint_id, boot_id(), operator)


def _default_root(room_bytes: int) -> str:
    try:
        room = os.statvfs(_MEMORY)
    except OSError:
        return tempfile.gettempdir()
    has_room = room.f_bavail * room.f_frsize >= room_bytes and os.access(_MEMORY, os.W_OK)
    return _MEMORY if has_room else tempfile.gettempdir()
