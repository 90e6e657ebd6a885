"""Latency of an element that takes tuples one by one: PROACTIVE, Equations 6-8, with bounds where they break."""

from __future__ import annotations

from penstock.model.estimate import Estimate

HIGHEST_UTILIZATION = 0.999
LOWEST_CORRECTION, HIGHEST_CORRECTION = 0.1, 10.0
_VANISHING_S = 1e-9


def kingman_waiting_s(service_s: float, interarrival_s: float, arrival_cv: float, service_cv: float) -> Estimate:
    """Mean waiting of a G/G/1 queue.   Eq. 7

    At or above full utilization the queue has no steady state: the bound is the waiting at 0.999.
    """
    # Kingman: W ~ (rho / (1 - rho)) * (ca^2 + cs^2) / 2 * Ts
    #   rho utilization, ca/cs coefficients of variation of arrivals/service, Ts ideal service time (s)
    utilization = service_s / interarrival_s
    saturated = "" if utilization < HIGHEST_UTILIZATION else "utilization at or above 1"
    bounded = min(utilization, HIGHEST_UTILIZATION)
    spread = (arrival_cv**2 + service_cv**2) / 2
    return Estimate(bounded / (1 - bounded) * spread * service_s, saturated)


def correction(measured_s: float, predicted_s: float) -> Estimate:
    """r: what the last waiting was, over what had been predicted for it.   Eq. 8

    A prediction that vanishes gives no ratio (1 is used), and no single step moves r beyond 0.1 to 10.
    """
    if predicted_s < _VANISHING_S:
        return Estimate(1.0, "correction with a vanishing prediction")
    ratio = measured_s / predicted_s
    bounded = min(max(ratio, LOWEST_CORRECTION), HIGHEST_CORRECTION)
    return Estimate(bounded, "" if bounded == ratio else "correction out of bounds")


def response_s(waiting: Estimate, computation_s: float, correction: float = 1.0) -> Estimate:
    """Mean latency: corrected waiting and the computation itself.   Eq. 6"""
    return Estimate(correction * waiting.value + computation_s, waiting.saturated)
