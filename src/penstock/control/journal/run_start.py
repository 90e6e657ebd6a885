"""What an application was started with, as far as whoever looks at its journal later needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits

if TYPE_CHECKING:
    from penstock.control.loop.control_request import ControlRequest

_NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class RunStart:
    """Goal and limits, and how many times as fast traces are replayed; `goal` is None where nobody controls."""

    speed_up: float = 1.0
    goal: Goal | None = None
    limits: Limits = _NO_LIMITS


UNKNOWN_START = RunStart()


def run_start(speed_up: float, control: ControlRequest | None) -> RunStart:
    """With what a user asks of control, if anything."""
    return RunStart(speed_up) if control is None else RunStart(speed_up, control.goal, control.limits)
