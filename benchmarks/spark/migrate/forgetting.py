"""Has hosts forget slots that they do not serve, so that one change after the other finds them as new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.plan.elements.layout import layout_of
from penstock.runtime.migration.migration import movable_elements
from penstock.runtime.migration.stale_copies import Leftover
from penstock.spark.driver.handle import Handle
from penstock.spark.executors.copy_job import run_release

_ANY = 1 << 62  # of epochs and batches: none is newer


def forget_slots(handle: Handle, element: str, slots_by_host: Mapping[str, Sequence[int]]) -> None:
    """Empties slots of an element on some hosts, unless a task holds them."""
    unfused = handle.configuration.unfused
    movable = movable_elements(handle.fixed, layout_of(handle.fixed.graph, unfused))[element]
    slots = {host: np.array(sorted(own), np.int64) for host, own in slots_by_host.items()}
    run_release(handle.session, str(handle.checkpoint.directory), _ANY, unfused, Leftover(movable, slots, _ANY))
