"""MPC as it runs on Spark: as early as executors need it, and with few caps."""

from __future__ import annotations

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change
from penstock.control.goal import throughput
from penstock.control.live_mpc import LiveMpc, near
from penstock.control.mpc_presets import default_mpc
from penstock.control.setting import Grid, Setting

GRID = Grid(tuple(range(1, 9)), caps_tuples=(1_000, 4_000, 16_000, 64_000))


def first_change(start_s: float | None) -> int:
    """The step after which more replicas are asked for, under a rate that rises by 100 tuples/s a step."""
    policy = LiveMpc(default_mpc(throughput(), GRID))
    state = policy.start()
    for number in range(1, 60):
        rate = 500.0 + 25.0 * number
        seen = ControlStep(
            number, float(number), 1.0, Setting(3, None, 16_000), rate, rate, 0.0, 0.5, service_s=0.002, overhead_s=0.1,
            micro_batch_s=0.5, executor_start_s=start_s, highest_cap_tuples=16_000,
        )  # fmt: skip
        state, decision = policy.decide(state, seen)
        if isinstance(decision, Change) and decision.setting.replicas > 3:
            return number
    raise AssertionError("never asked for more")


def test_replicas_are_asked_for_earlier_where_executors_have_to_start() -> None:
    assert first_change(8.0) + 3 <= first_change(None)


def test_no_cap_is_tried_that_would_hold_up_decisions() -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(1, None, 16_000), 0.0, 0.0, 0.0, 0.0, highest_cap_tuples=16_000)
    assert near(GRID, seen).caps_tuples == (4_000, 16_000)
    assert near(GRID, ControlStep(1, 1.0, 1.0, Setting(1, None, 1_000), 0.0, 0.0, 0.0, 0.0)).caps_tuples == (
        1_000,
        4_000,
    )
