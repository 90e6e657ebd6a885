"""Waiting in front of an element, and how far its model is off: PROACTIVE, Equations 7-8, with bounds where they break.

Equation 6, waiting and computation together, is in the steps of micro-batches, which have more to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba import njit

HIGHEST_UTILIZATION = 0.999
LOWEST_CORRECTION, HIGHEST_CORRECTION = 0.1, 10.0
_VANISHING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number from a model; `saturated` names the limit that was hit, and is empty where the formula held."""

    value: float
    saturated: str = ""


def _kingman_waiting(rate_tuples_s: float, service_s: float, spread: float) -> float:
    """Mean waiting (s) of a G/G/1 queue; `spread`: (ca^2 + cs^2) / 2.   Eq. 7

    At or above full utilization the queue has no steady state: the bound is the waiting at 0.999.
    """
    # Kingman: W ~ (rho / (1 - rho)) * (ca^2 + cs^2) / 2 * Ts
    #   rho utilization, ca/cs coefficients of variation of arrivals/service, Ts ideal service time (s)
    utilization = min(rate_tuples_s * service_s, HIGHEST_UTILIZATION)
    return utilization / (1.0 - utilization) * spread * service_s


kingman_waiting_s: Any = njit(nogil=True, cache=True, error_model="numpy")(_kingman_waiting)


def correction(measured_s: float, predicted_s: float) -> Estimate:
    """r: what the last latency was, over what had been predicted for it.   Eq. 8

    The paper's is of the waiting alone (`waiting_ratio`); a user of Spark waits for micro-batches as well, and their
    model is corrected with it.  A prediction that vanishes gives no ratio (1 is used), and no single step moves r
    beyond 0.1 to 10.
    """
    if predicted_s < _VANISHING_S:
        return Estimate(1.0, "correction with a vanishing prediction")
    ratio = measured_s / predicted_s
    bounded = min(max(ratio, LOWEST_CORRECTION), HIGHEST_CORRECTION)
    return Estimate(bounded, "" if bounded == ratio else "correction out of bounds")


def waiting_ratio(measured_s: float, predicted_s: float, computation_s: float) -> float:
    """r as printed: measured over predicted waiting, neither smoothed nor bounded; both latencies less T.   Eq. 8

    >>> round(waiting_ratio(0.5, 0.3, 0.1), 6)
    2.0
    """
    waited_s = max(predicted_s - computation_s, 0.0)
    return max(measured_s - computation_s, 0.0) / waited_s if waited_s >= _VANISHING_S else 1.0


def _corrected(latency_s: float, computation_s: float, ratio: float, waiting_only: bool) -> float:
    """A predicted latency times r; as printed r is of the waiting, and computation is added as it is.   Eq. 6 and 8"""
    if not waiting_only:
        return ratio * latency_s
    return computation_s + ratio * (latency_s - computation_s)


corrected_s: Any = njit(nogil=True, cache=True, error_model="numpy")(_corrected)
