"""The communication learner: a source, an exchange and a discarding sink, over tuple widths and envelope sizes
(MODEL, 3.2 and Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InputError
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.profile import FixedCosts

Role = Literal["fused", "sends", "receives"]
Name = tuple[str, float]  # what a coefficient is, and of which width


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """CPU of an element in one micro-batch, without its operators'.

    `fused`: source and sink in one element; else the element that sends, or the one that receives.  `blocks` is how
    many blocks the source made, or how many envelopes came.
    """

    role: Role
    bytes_per_tuple: float
    tuples: float
    blocks: float
    tasks: int
    cpu_s: float


def calibrated(points: Sequence[CalibrationPoint]) -> Overhead:
    """The cost of a task, of an envelope, and of sending and receiving by width.

    Linear least squares: fused = task + block + read n; sends = that + envelopes + send n; receives = task + envelopes
    + receive n.  Rows are weighted so that small and large micro-batches count alike.
    """
    widths = sorted({point.bytes_per_tuple for point in points})
    roles = {(point.role, point.bytes_per_tuple) for point in points}
    lacking = [w for w in widths if not {("fused", w), ("sends", w), ("receives", w)} <= roles]
    if not widths or lacking:
        raise InputError(
            "communication is learned from fused, sending and receiving elements of each width; "
            f"got {len(points)} points"
        )
    names: list[Name] = [("task", 0.0), ("envelope", 0.0), ("block", 0.0)]
    names += [(role, width) for width in widths for role in ("read", "send", "receive")]
    places = {name: place for place, name in enumerate(names)}
    rows, values = [], []
    for point in points:
        weight = 1.0 / max(point.cpu_s, 1e-4)
        row = np.zeros(len(places))
        row[places["task", 0.0]] = point.tasks
        if point.role != "receives":
            row[places["block", 0.0]] = point.blocks
            row[places["read", point.bytes_per_tuple]] = point.tuples
        if point.role != "fused":
            row[places["envelope", 0.0]] = point.blocks
            row[places["send" if point.role == "sends" else "receive", point.bytes_per_tuple]] = point.tuples
        rows.append(row * weight)
        values.append(point.cpu_s * weight)
    found = _not_negative(np.stack(rows), np.asarray(values))
    own = {name: float(found[place]) for name, place in places.items()}
    return Overhead(FixedCosts(0.0, own["task", 0.0], own["envelope", 0.0]), _table(own, widths))


def _table(own: Mapping[Name, float], widths: Sequence[float]) -> Communication:
    """The paper's form: the highest rate of one core on either side, and the cores of both at it."""
    send = [own["send", width] for width in widths]
    receive = [own["receive", width] for width in widths]
    rates = [1.0 / max(s + own["read", w], r, 1e-12) for s, r, w in zip(send, receive, widths, strict=True)]
    return Communication(
        tuple(widths), tuple(rates), tuple(s * rate for s, rate in zip(send, rates, strict=True)),
        tuple(r * rate for r, rate in zip(receive, rates, strict=True)),
    )  # fmt: skip


def _not_negative(rows: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares with no value below 0: what would be is left out, and the rest solved again."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    free = np.ones(rows.shape[1], dtype=bool)
    while True:
        found = np.zeros(rows.shape[1])
        found[free] = np.linalg.lstsq(rows[:, free] / scale[free], values, rcond=None)[0] / scale[free]
        if (found >= 0).all():
            return found
        free &= found > 0
