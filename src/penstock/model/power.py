"""Power of the cores in use: PROACTIVE, Equation 9.  An estimate for comparing configurations, not a measurement."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from penstock.errors import InputError


@dataclass(frozen=True, slots=True)
class VoltageTable:
    """Supply voltage by frequency, ascending; between two entries it is a straight line, outside the nearest one."""

    frequencies_ghz: tuple[float, ...]
    volts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.frequencies_ghz) != len(self.volts) or not self.volts:
            raise InputError("a voltage table has one voltage per frequency, and at least one")
        if list(self.frequencies_ghz) != sorted(set(self.frequencies_ghz)):
            raise InputError(f"the frequencies of a voltage table ascend; got {self.frequencies_ghz}")

    def volts_at(self, frequency_ghz: float) -> float:
        place = bisect_left(self.frequencies_ghz, frequency_ghz)
        if place == 0:
            return self.volts[0]
        if place == len(self.volts):
            return self.volts[-1]
        low, high = self.frequencies_ghz[place - 1], self.frequencies_ghz[place]
        part = (frequency_ghz - low) / (high - low)
        return self.volts[place - 1] + part * (self.volts[place] - self.volts[place - 1])


# A server core of the paper's time; only the shape matters, since `capacitance` scales it.
SERVER_VOLTAGES = VoltageTable((1.2, 1.4, 1.6, 1.8, 2.0), (0.85, 0.90, 0.95, 1.01, 1.08))

# 12 cores at 2 GHz drew 68.25 W (PROACTIVE, section 5.3.2): C_eff = 68.25 / (12 * 2.0 * 1.08^2), in W / (GHz V^2)
PAPER_CAPACITANCE = 68.25 / (12 * 2.0 * 1.08**2)


@dataclass(frozen=True, slots=True)
class PowerModel:
    """Watts of n cores at a frequency: C_eff * n * f * V(f)^2."""

    voltages: VoltageTable = SERVER_VOLTAGES
    capacitance: float = PAPER_CAPACITANCE

    def watts(self, replicas: int, frequency_ghz: float) -> float:
        return self.capacitance * replicas * frequency_ghz * self.voltages.volts_at(frequency_ghz) ** 2
