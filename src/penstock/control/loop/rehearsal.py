"""Decisions about a made-up stream: code that is compiled or loaded for the first decision is there before it.

Without a cache of compiled code, as after an installation, a first decision took 15 s: eight control steps in which
nothing changed.
"""

from __future__ import annotations

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.goals.limits import grid_within
from penstock.control.loop.control_request import ControlRequest, policy_of
from penstock.control.mpc.live import LiveMpc
from penstock.control.setting import Setting

_REPLICAS, _CAP_TUPLES = 4, 16_384
_STEPS = 4


def rehearse(request: ControlRequest) -> int:
    """Has a policy of ours decide some steps and forget them; gives how many it decided.

    Policies that a user wrote are not called.
    """
    grid = grid_within(request.limits, _REPLICAS, _CAP_TUPLES, request.limits.frequencies_ghz)
    policy = policy_of(request, grid)
    if not isinstance(policy, LiveMpc):
        return 0
    state, setting = policy.start(), grid.setting(0)
    for number in range(1, _STEPS + 1):
        state, _ = policy.decide(state, made_up_step(number, setting))
    return _STEPS


def made_up_step(number: int, setting: Setting) -> ControlStep:
    """A second in which rate and backlog grow, and one element is nearly full."""
    rate = 100.0 * number
    element = ElementLoad("element", setting.replicas, rate, rate, 0.9, cpu_s=0.1, load_by_slot=(0.5, 0.4))
    return ControlStep(
        number, float(number), 1.0, setting, arrived_tuples=rate, served_tuples=0.9 * rate, backlog_tuples=0.1 * rate,
        busy_ratio=0.9, micro_batches=3, micro_batch_s=0.3, overhead_s=0.1, service_s=0.9 / rate, service_cv=0.1,
        arrival_cv=0.1, latest_tuples_s=rate, imbalance=1.1, latency_mean_s=0.4, latency_p95_s=0.6,
        load_by_slot=element.load_by_slot, elements=(element,), highest_cap_tuples=setting.micro_batch_tuples,
        highest_replicas=2,
    )  # fmt: skip
