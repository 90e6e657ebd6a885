"""What a plant of one element is made of: costs, keys, and what happens to it on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.simulate.micro_batch.costs import MicroBatchCosts

Floats = npt.NDArray[np.float64]


def always(value: float) -> Callable[[float], float]:
    """The same at every moment (s)."""
    return lambda _time_s: value


def even_keys(slots: int) -> Callable[[float], Floats]:
    """Every slot with the same share."""
    shares = np.full(slots, 1.0 / slots)
    return lambda _time_s: shares


def zipf_keys(slots: int, exponent: float, seed: int) -> Callable[[float], Floats]:
    """Shares that fall with the rank, the ranks dealt out by chance."""
    shares = np.asarray(1.0 / np.arange(1, slots + 1) ** exponent, np.float64)
    np.random.default_rng(seed).shuffle(shares)
    shares /= shares.sum()
    return lambda _time_s: shares


@dataclass(frozen=True, slots=True)
class PlantShape:
    """One keyed element behind a source, run in micro-batches; functions are of the time since the start (s).

    `service_s`: computation of a tuple at the highest frequency, times `service_factor`.  `overhead_s`: a micro-batch
    without tuples.  `interval_s`: micro-batches begin at least so far apart.  A change of route pauses the next
    micro-batch for `reconfigure_s`, and `move_s` times the share of the keys that move.  New replicas are ready
    `start_s` after they were asked for; `restart_s` more is the pause where replicas change.  Each task takes
    `task_s` beside its work, and some are stragglers.  A service behind the element takes at most `limit_tuples_s`.
    Windows fire every `fires_every_s` and do all the work then; None: with each tuple.  Nothing runs in `outages_s`.
    """

    service_s: float = 0.001
    overhead_s: float = 0.15
    interval_s: float = 0.2
    highest_replicas: int = 12
    highest_frequency_ghz: float = 2.0
    reconfigure_s: float = 0.1
    move_s: float = 0.2
    start_s: float = 0.0
    restart_s: float = 0.0
    task_s: float = 0.0
    straggler_ratio: float = 0.0
    noise: float = 0.02
    service_cv: float = 0.5
    arrival_cv: float = 1.0
    fires_every_s: float | None = None
    outages_s: tuple[tuple[float, float], ...] = ()
    shares: Callable[[float], Floats] = field(default_factory=lambda: zipf_keys(128, 0.3, 1))
    service_factor: Callable[[float], float] = field(default_factory=lambda: always(1.0))
    limit_tuples_s: Callable[[float], float] = field(default_factory=lambda: always(float("inf")))

    @property
    def costs(self) -> MicroBatchCosts:
        """Of micro-batches beside the work on tuples."""
        return MicroBatchCosts(
            batch_s=self.overhead_s, stage_s=0.0, task_s=self.task_s, interval_s=self.interval_s, noise=self.noise,
            straggler_ratio=self.straggler_ratio, reconfigure_s=self.reconfigure_s, move_s=self.move_s,
            restart_s=self.restart_s, start_s=self.start_s,
        )  # fmt: skip
