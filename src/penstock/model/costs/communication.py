"""What sending and receiving tuples between elements costs (MODEL, Equations 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Communication:
    """The calibration's table: by bytes per tuple, the highest rate and the cores used at it on either side.

    Between two widths the cost per tuple is interpolated; beyond the table it goes on as the last two widths say.
    """

    bytes_per_tuple: tuple[float, ...] = ()
    max_rate_tuples_s: tuple[float, ...] = ()
    send_cores: tuple[float, ...] = ()
    receive_cores: tuple[float, ...] = ()

    def send(self, tuples_s: float, bytes_per_tuple: float | None = None) -> float:
        """Cores for sending: u_src(m) t / t_max(m), m being bytes per tuple (Equation 5, in tuples/s)."""
        return self._cores(self.send_cores, tuples_s, bytes_per_tuple)

    def receive(self, tuples_s: float, bytes_per_tuple: float | None = None) -> float:
        """Cores for receiving: u_sink(m) t / t_max(m) (Equation 4, in tuples/s)."""
        return self._cores(self.receive_cores, tuples_s, bytes_per_tuple)

    def _cores(self, cores: Sequence[float], tuples_s: float, width: float | None) -> float:
        if not self.bytes_per_tuple:
            return 0.0
        costs = [own / rate for own, rate in zip(cores, self.max_rate_tuples_s, strict=True)]
        return tuples_s * _between(self.bytes_per_tuple, costs, self.bytes_per_tuple[0] if width is None else width)


def _between(widths: Sequence[float], costs: Sequence[float], width: float) -> float:
    order = np.argsort(widths)
    x, y = np.asarray(widths, float)[order], np.asarray(costs, float)[order]
    if len(x) > 1 and width > x[-1]:
        return max(float(y[-1] + (width - x[-1]) * (y[-1] - y[-2]) / (x[-1] - x[-2])), float(y[-1]))
    return float(np.interp(width, x, y))
