"""What keyed state tells the user when it cannot go on."""

from __future__ import annotations

import errno

from penstock.errors import PenstockError


class StateError(PenstockError, RuntimeError):
    """State that cannot be used as asked: a slot that is not held, an attempt that a newer one has overtaken."""


class StaleAttemptError(StateError):
    """A newer attempt has the slots; this one's results must not count."""


class CorruptStateError(StateError):
    """A log or manifest in the checkpoint that is not what was written."""


class StateFileError(PenstockError, OSError):
    """A file of the state that cannot be written or read: a full disk, a missing right."""


def file_error(what: str, path: str, cause: OSError) -> StateFileError:
    """One sentence for a failed system call."""
    hint = "; free some room or use another directory" if cause.errno == errno.ENOSPC else ""
    return StateFileError(f"{what} '{path}' failed: {(cause.strerror or str(cause)).lower()}{hint}")
