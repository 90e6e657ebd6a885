"""What an application was started with, as far as whoever looks at its journal later needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.control.goals.goal import Goal, Price
from penstock.control.goals.limits import Limits

if TYPE_CHECKING:
    from penstock.control.loop.control_request import ControlRequest

_NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class RunStart:
    """Goal and limits, and how many times as fast traces are replayed; `goal` is None where nobody controls.

    `cores` of all hosts and `executors` (0 on a local master) are those at the start, None in older journals.
    """

    speed_up: float = 1.0
    goal: Goal | None = None
    limits: Limits = _NO_LIMITS
    policy: str | None = None
    price: Price | None = None
    passive: bool = False
    cores: int | None = None
    executors: int | None = None
    at_s: float | None = None


UNKNOWN_START = RunStart()


def run_start(
    speed_up: float,
    control: ControlRequest | None,
    *,
    cores: int | None = None,
    executors: int | None = None,
    at_s: float | None = None,
) -> RunStart:
    """With what a user asks of control, if anything."""
    if control is None:
        return RunStart(speed_up, cores=cores, executors=executors, at_s=at_s)
    policy = control.policy if isinstance(control.policy, str) else control.policy.name
    return RunStart(
        speed_up, control.goal, control.limits, policy, control.price, control.passive, cores, executors, at_s
    )
