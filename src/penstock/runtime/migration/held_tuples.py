"""Tuples that the splitter holds in one place until the state of their slots has arrived, to be sent on first then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.runtime.migration.waiting_tuples import Waited, held_name, waiting_slots, waiting_store
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from penstock.state.checkpoint.entries import Entries, no_entries
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.token import Token

_PLACE = np.zeros(1, np.int64)  # there is one
_DRIVER = 0  # its attempt: a driver writes what it holds of a batch once


def held_before(checkpoint: Checkpoint, fixed: Fixed, element: str, plan: BatchPlan) -> Waited:
    """All that was held for an element before a batch, in the order in which it came."""
    before = StateBefore(checkpoint.manifests, plan.previous, held_name(element), 1)
    heads = before.heads()
    if not len(waiting_slots(heads)):
        return ()
    store = waiting_store(checkpoint, fixed, held_name(element), 1)
    waited: Waited = store.open(_PLACE, heads, before.history, Token(plan.epoch, plan.batch, _DRIVER)).get(0)
    return waited


def held_entries(
    checkpoint: Checkpoint, fixed: Fixed, plan: BatchPlan, added: Mapping[str, Waited]
) -> dict[str, Entries]:
    """Logs what a batch held, and that nothing is held of what it released; the entries count with the batch."""
    entries = {}
    for element in {*added, *plan.released}:
        name, own = held_name(element), added.get(element, ())
        earlier = () if element in plan.released else held_before(checkpoint, fixed, element, plan)
        task = waiting_store(checkpoint, fixed, name, 1).open(
            _PLACE, StateBefore(checkpoint.manifests, None, name, 1).heads(), lambda slots: no_entries(),
            Token(plan.epoch, plan.batch, _DRIVER),
        )  # fmt: skip
        task.put(0, earlier + tuple(sorted(own, key=lambda w: (w.sequence, w.stream))))
        entries[name] = task.commit()
    return entries
