"""How well a fit describes the run that it was made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ElementFit:
    """`error`: the median of |predicted / measured - 1| over tasks; `tasks`: that it was fitted to.

    `service_s`: of a tuple in the Python worker, `jvm_s`: on Spark's side of the task, on one replica; `own_s` and
    `readers_s`: what each doubling of its replicas, and of those that read it, adds to both.
    """

    name: str
    service_s: float
    cpu_ratio: float
    selectivity: float
    tasks: int
    error: float
    jvm_s: float = 0.0
    own_s: float = 0.0
    readers_s: float = 0.0

    @property
    def line(self) -> str:
        """For people."""
        jvm = f" and {self.jvm_s * 1e6:.3g} us in the JVM" if self.jvm_s else ""
        growth = ((self.own_s, "its replicas"), (self.readers_s, "its readers' replicas"))
        added = [f"{own * 1e6:.3g} us more a doubling of {what}" for own, what in growth if own]
        more = f" ({', '.join(added)})" if added else ""
        return (
            f"element {self.name}: {self.service_s * 1e6:.3g} us a tuple, {self.cpu_ratio:.0%} of it CPU{jvm}{more}, "
            f"{self.selectivity:.3g} tuples out per tuple in, {self.error:.1%} off over {self.tasks} tasks"
        )


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
        found += [own.line for own in self.elements]
        return [*found, *(f"assumed: {note}" for note in self.notes)]
