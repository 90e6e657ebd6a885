"""How well a fit describes the run that it was made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ElementFit:
    """`error`: the median of |predicted / measured - 1| over tasks; `tasks`: that it was fitted to."""

    name: str
    service_s: float
    cpu_ratio: float
    selectivity: float
    tasks: int
    error: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """`error`, `error_p90`: of the time of a micro-batch, relative; `error_later`: of the last 40 % of the run by a
    fit to the 60 % before.  `notes`: what could not be learned and is assumed.
    """

    where: str
    batches: int
    tuples: int
    elements: tuple[ElementFit, ...]
    error: float | None = None
    error_p90: float | None = None
    error_later: float | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        found = [f"fitted to {self.batches} micro-batches with {self.tuples:,} tuples of {self.where}"]
        if self.error is not None and self.error_later is not None:
            found.append(
                f"time of a micro-batch: {self.error:.1%} off in the median, {self.error_p90:.1%} in one of ten, "
                f"{self.error_later:.1%} in the last 40 % of the run by a fit to the first 60 %"
            )
        found += [
            f"element {own.name}: {own.service_s * 1e6:.3g} us a tuple, {own.cpu_ratio:.0%} of it CPU, "
            f"{own.selectivity:.3g} tuples out per tuple in, {own.error:.1%} off over {own.tasks} tasks"
            for own in self.elements
        ]
        return [*found, *(f"assumed: {note}" for note in self.notes)]
