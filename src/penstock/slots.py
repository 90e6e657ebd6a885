"""How the state of an operator by key is cut into slots: by hash, by ranges or by the cells of a grid.

`ps.start(app, slot_functions={"window": ps.slots.RangeSlots((10.0, 20.0))})` chooses for one operator; without it keys
go by hash.  Replicas are given whole slots.

>>> RangeSlots((10.0, 20.0)).slots
3
"""

from __future__ import annotations

from penstock.state.slots.slot_functions import GridSlots, HashSlots, RangeSlots

__all__ = ["HashSlots", "RangeSlots", "GridSlots"]
