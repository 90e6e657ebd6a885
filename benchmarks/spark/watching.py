"""A running application, ended with nothing left behind; waiting for a time, or for so many micro-batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.spark.applications import KEYED
from penstock.app.application import Application
from penstock.errors import InputError
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.state.memory.host_directory import host_directory

Show = Callable[[str], None]
_LOOK_EVERY_S = 0.1


@contextmanager
def started(session: Any, app: Application, checkpoint: Path, configuration: Configuration) -> Iterator[Handle]:
    """The application at work; stopped at the end, which removes its state on this host."""
    handle = start(app, session=session, checkpoint=checkpoint, configuration=configuration)
    try:
        yield handle
    finally:
        handle.stop()


def memory_of(handle: Handle) -> Path:
    """Where this host keeps the state of the one keyed operator: below folders for the checkpoint and the boot."""
    return Path(host_directory(handle.fixed.checkpoint_id, KEYED).path)


def observations_of(handle: Handle) -> list[Observation]:
    """All Observations so far; those that were not made yet are made."""
    handle.observe()
    return list(handle.result.observations)


def newest_batch(handle: Handle) -> int:
    """The number of the newest micro-batch, -1 before the first: a long run forgets its first Observations."""
    newest = handle.observe()
    return -1 if newest is None else newest.batch


def later_than(handle: Handle, batch: int) -> list[Observation]:
    """The Observations of the micro-batches after one, as far as the run has them still."""
    return [own for own in observations_of(handle) if own.batch > batch]


def taken_by(handle: Handle, batch: int) -> int:
    """Tuples of all micro-batches up to one: the offset that the next begins with."""
    while True:
        earlier = handle.result.earlier
        own = sum(o.tuples_in for o in observations_of(handle) if o.batch <= batch)
        if handle.result.earlier is earlier:  # none was forgotten meanwhile
            return own + (0 if earlier is None else earlier.tuples_in)


def watch_for(handle: Handle, seconds: float, show: Show, what: str, *, batches: int = 2) -> list[Observation]:
    """The Observations of the next `seconds`, and of so many batches at least; the first is the one under way."""
    already, begin = newest_batch(handle), time.monotonic()
    limit_s = max(10 * seconds, 120.0)
    while True:
        spent_s, seen = time.monotonic() - begin, newest_batch(handle) - already
        if spent_s >= seconds and seen > batches:
            return later_than(handle, already)
        if spent_s > limit_s:
            raise InputError(f"{what}: {seen} micro-batches in {spent_s:.0f} s, where {batches + 1} are needed")
        show(f"{what}: {spent_s:.0f} of {seconds:.0f} s, {seen} micro-batches")
        if handle.wait(_LOOK_EVERY_S):
            return later_than(handle, already)


def watch_batches(handle: Handle, batches: int, show: Show, what: str, limit_s: float = 300.0) -> list[Observation]:
    """The Observations of the next so many micro-batches."""
    already, begin = newest_batch(handle), time.monotonic()
    while (seen := newest_batch(handle) - already) < batches:
        spent_s = time.monotonic() - begin
        if spent_s > limit_s:
            raise InputError(f"{what}: {seen} of {batches} micro-batches in {spent_s:.0f} s")
        show(f"{what}: {seen} of {batches} micro-batches")
        if handle.wait(_LOOK_EVERY_S):
            break
    return later_than(handle, already)[:batches]
