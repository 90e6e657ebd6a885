"""What a policy of the application level decides: replicas, frequency and the micro-batch cap, out of a finite grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import InputError

Floats = npt.NDArray[np.float64]
DEFAULT_CAP_TUPLES = 8_388_608


@dataclass(frozen=True, slots=True)
class Setting:
    """One operating point; `frequency_ghz` is None where the machine's own governor is left alone."""

    replicas: int
    frequency_ghz: float | None = None
    micro_batch_tuples: int = DEFAULT_CAP_TUPLES

    def __str__(self) -> str:
        text = f"{self.replicas} replica" + ("s" if self.replicas != 1 else "")
        if self.frequency_ghz is not None:
            text += f" at {self.frequency_ghz:g} GHz"
        return text + (f", cap {self.micro_batch_tuples}" if self.micro_batch_tuples != DEFAULT_CAP_TUPLES else "")


@dataclass(frozen=True, slots=True)
class Grid:
    """All settings a policy may choose from: the product of three ascending lists."""

    replicas: tuple[int, ...]
    frequencies_ghz: tuple[float | None, ...] = (None,)
    caps_tuples: tuple[int, ...] = (DEFAULT_CAP_TUPLES,)

    def __post_init__(self) -> None:
        for name, values in (("replicas", self.replicas), ("caps_tuples", self.caps_tuples)):
            if not values or list(values) != sorted(set(values)) or values[0] < 1:
                raise InputError(f"{name} of a grid ascend from at least 1; got {values}")
        numbers = [f for f in self.frequencies_ghz if f is not None]
        if not self.frequencies_ghz or (None in self.frequencies_ghz and numbers) or numbers != sorted(set(numbers)):
            raise InputError(f"the frequencies of a grid ascend; got {self.frequencies_ghz}")

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.replicas), len(self.frequencies_ghz), len(self.caps_tuples)

    def __len__(self) -> int:
        return len(self.replicas) * len(self.frequencies_ghz) * len(self.caps_tuples)

    def setting(self, index: int) -> Setting:
        rest, cap = divmod(index, len(self.caps_tuples))
        n, frequency = divmod(rest, len(self.frequencies_ghz))
        return Setting(self.replicas[n], self.frequencies_ghz[frequency], self.caps_tuples[cap])

    def index(self, setting: Setting) -> int:
        """Of the nearest setting in the grid."""
        n = _nearest(self.replicas, setting.replicas)
        frequency = 0
        if setting.frequency_ghz is not None:
            known = [f for f in self.frequencies_ghz if f is not None]
            frequency = _nearest(known, setting.frequency_ghz) if known else 0
        elif self.frequencies_ghz[-1] is not None:
            frequency = len(self.frequencies_ghz) - 1  # left alone: as fast as it can
        cap = _nearest(self.caps_tuples, setting.micro_batch_tuples)
        return (n * len(self.frequencies_ghz) + frequency) * len(self.caps_tuples) + cap

    def positions(self) -> tuple[Floats, Floats, Floats]:
        """Coordinates for the distance between settings: replicas by number, frequencies and caps by rank (1..9)."""
        return (
            np.asarray(self.replicas, np.float64),
            np.arange(1.0, len(self.frequencies_ghz) + 1),
            np.arange(1.0, len(self.caps_tuples) + 1),
        )


def _nearest(values: list[float] | tuple[int, ...], value: float) -> int:
    return min(range(len(values)), key=lambda i: abs(values[i] - value))


def amplitude(grid: Grid, before: Setting, after: Setting) -> float:
    """Euclidean distance of two settings, frequencies and caps by rank (PROACTIVE, section 5.3.4)."""
    places = [np.unravel_index(grid.index(s), grid.shape) for s in (before, after)]
    return float(np.sqrt(sum((axis[a] - axis[b]) ** 2 for axis, a, b in zip(grid.positions(), *places, strict=True))))
