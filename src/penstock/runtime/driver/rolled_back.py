"""Batches that run again as a whole, since Spark refused to mix outputs of two attempts of a task.

When map output is lost, Spark runs its tasks again, compares checksums, and gives a job up if the output is another
one that some task of the last stage has read already.  Ours always is: tokens and times are in it.  All of a batch can
run again, since state is rebuilt to the batch before; so functions that are not deterministic do no harm either.

A batch runs again, too, whose host has moved its state to the disk: a session that the user opened may not retry tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from penstock.errors import MOVED

_log = logging.getLogger(__name__)
_TIMES = 10
_SIGNS = (
    MOVED,
    "with indeterminate output was failed and retried",
    "with indeterminate results from old attempt succeeded",  # it came to an end beside the newer one
)

Result = TypeVar("Result")


def again_if_rolled_back(action: Callable[[], Result]) -> Result:
    """What an action gives, done again where Spark gave it up for that reason."""
    for _ in range(_TIMES):
        try:
            return action()
        except Exception as error:
            if not any(sign in str(error) for sign in _SIGNS):
                raise
            _log.info("an executor's output was lost, or its state moved to the disk; the micro-batch runs again")
    return action()
