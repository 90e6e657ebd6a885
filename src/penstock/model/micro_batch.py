"""A control step of micro-batches: what is served, what stays behind, and the latency that a user of Spark sees."""

from __future__ import annotations

from typing import Any

from numba import njit

from penstock.model.latency import kingman_waiting_s

HIGHEST_LATENCY_S = 1e6


def _predict_step(
    rate_tuples_s: float,
    backlog_tuples: float,
    per_tuple_s: float,
    replicas: float,
    spread: float,
    overhead_s: float,
    cap_tuples: float,
    limit_tuples_s: float,
    interval_s: float,
    period_s: float,
    pause_s: float,
) -> tuple[float, float, float]:
    """Tuples served, tuples left behind, and mean latency (s) of a step: Eq. 6, and what comes with micro-batches.

    `per_tuple_s`: ideal service time of the element (Eq. 5), so that a tuple takes a replica `replicas` times as long;
    `spread`: (ca^2 + cs^2) / 2 of Kingman's formula (Eq. 7); `overhead_s`: a micro-batch without tuples; `cap_tuples`:
    the most tuples of one; `limit_tuples_s`: what a service behind the element can take; `interval_s`: micro-batches
    begin at least so far apart; `pause_s`: nothing runs for so long at the step's begin.
    """
    capacity = min(capacity_kernel(per_tuple_s, overhead_s, cap_tuples), limit_tuples_s)
    due = backlog_tuples + rate_tuples_s * period_s
    served = min(due, capacity * max(period_s - pause_s, 0.0))
    left = due - served
    duration_s = duration_kernel(rate_tuples_s, per_tuple_s, overhead_s, cap_tuples, interval_s)
    # A tuple waits for the batch before it to end (half of one on average), then for its own; what stands in line
    # before it takes its time at the full rate.
    queued = 0.5 * (backlog_tuples + left)
    if queued > 0.0:
        in_one = min(queued, cap_tuples)
        duration_s = max(duration_s, overhead_s + in_one * per_tuple_s)
    waiting_s = queued / capacity if capacity > 0.0 else HIGHEST_LATENCY_S
    waiting_s += kingman_waiting_s(rate_tuples_s, per_tuple_s, spread)
    latency_s = per_tuple_s * replicas + 1.5 * duration_s + waiting_s
    # The micro-batch with the pause ends that much later, and the next one is the larger for it.
    latency_s += pause_s * min(1.5 * (duration_s + pause_s) / period_s, 1.0)
    return served, left, min(latency_s, HIGHEST_LATENCY_S)


def _largest_capacity(per_tuple_s: float, overhead_s: float, cap_tuples: float) -> float:
    """Tuples/s of full micro-batches one after the other."""
    full_s = overhead_s + cap_tuples * per_tuple_s
    return cap_tuples / full_s if full_s > 0.0 else HIGHEST_LATENCY_S * cap_tuples


def _steady_duration(
    rate_tuples_s: float, per_tuple_s: float, overhead_s: float, cap_tuples: float, interval_s: float
) -> float:
    """How long a micro-batch takes when each holds what came during the one before: D = F + rate * D * Ts."""
    utilization = rate_tuples_s * per_tuple_s
    full_s = overhead_s + cap_tuples * per_tuple_s
    if utilization >= 1.0:
        return full_s
    steady_s = max(overhead_s / (1.0 - utilization), overhead_s + rate_tuples_s * interval_s * per_tuple_s)
    return min(steady_s, full_s)


capacity_kernel: Any = njit(nogil=True, cache=True)(_largest_capacity)
duration_kernel: Any = njit(nogil=True, cache=True)(_steady_duration)
predict_step: Any = njit(nogil=True, cache=True, error_model="numpy")(_predict_step)


def capacity_tuples_s(per_tuple_s: float, overhead_s: float, cap_tuples: float) -> float:
    """Tuples/s of full micro-batches one after the other.

    >>> capacity_tuples_s(0.001, 0.1, 900)
    900.0
    """
    return float(_largest_capacity(per_tuple_s, overhead_s, cap_tuples))
