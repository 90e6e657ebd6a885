"""A control step micro-batch by micro-batch: each takes what came during the one before."""

from __future__ import annotations

from typing import Any

from numba import njit

from penstock.model.latency import kingman_waiting_s
from penstock.model.micro_batch import HIGHEST_LATENCY_S

_MOST_BATCHES = 50  # of a step, where they would take next to no time


def _run_step(
    rate_tuples_s: float,
    backlog_tuples: float,
    per_tuple_s: float,
    spread: float,
    overhead_s: float,
    cap_tuples: float,
    limit_tuples_s: float,
    interval_s: float,
    period_s: float,
    pause_s: float,
) -> tuple[float, float, float, float]:
    """How long a step takes (s), tuples served, tuples that wait at its end, and mean latency (s) of those served.

    `backlog_tuples`: all that wait at its begin, those that the first micro-batch takes included.  The others are as in
    `predict_step`, which looks at the steady state; `pause_s` lengthens the first micro-batch.
    """
    time_s, served, latencies_s, waiting = 0.0, 0.0, 0.0, backlog_tuples
    per_tuple_most_s = max(per_tuple_s, 1.0 / limit_tuples_s)  # divisions are half of what a loop without them takes
    arrival_s = 1.0 / rate_tuples_s if rate_tuples_s > 0.0 else 0.0
    while time_s < period_s * (1.0 - 1e-9):
        taken = min(waiting, cap_tuples)
        took_s = overhead_s + pause_s + taken * per_tuple_most_s
        pause_s = 0.0
        if taken > 0.0:
            # The oldest came `waiting / rate` ago, the others evenly after it.
            latencies_s += taken * ((waiting - 0.5 * taken) * arrival_s + took_s)
            served += taken
        lasts_s = max(took_s, interval_s, period_s / _MOST_BATCHES)
        waiting += rate_tuples_s * lasts_s - taken
        time_s += lasts_s
    latency_s = kingman_waiting_s(rate_tuples_s, per_tuple_s, spread)
    if served > 0.0:
        latency_s += latencies_s / served
    return time_s, served, waiting, min(latency_s, HIGHEST_LATENCY_S)


run_step: Any = njit(nogil=True, cache=True, error_model="numpy")(_run_step)
