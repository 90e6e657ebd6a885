"""What is left to do within an event, on a stack; tasks that are free; a few questions that all of the loop asks.

Each step is handled at one place of `advance`: functions that called one another would be compiled into each other
again and again.
"""

from __future__ import annotations

from penstock.simulate.events.kernel.compiled import inlined
from penstock.simulate.events.kernel.memory import (
    clock_of,
    control_of,
    ops_of,
    stations_of,
    tasks_of,
    todo_of,
)
from penstock.simulate.events.state import (
    FREE,
    FREE_COUNT,
    TODO,
    WARM,
)

NOTHING, DELIVER, ARRIVE, FREE_CORE, DISPATCH, UNBLOCK, REOPEN = 0, 1, 2, 3, 4, 5, 6
HAS_GONE, PARKED_HAS_GONE, SOURCE_GOES_ON = 7, 8, 9


@inlined
def do(s: int, what: int, number: int) -> None:
    control, todo = control_of(s), todo_of(s)
    todo[control[TODO], 0] = what
    todo[control[TODO], 1] = number
    control[TODO] += 1


@inlined
def new_task(s: int) -> int:
    tasks, control = tasks_of(s), control_of(s)
    task = control[FREE]
    control[FREE] = tasks[task].next
    control[FREE_COUNT] -= 1
    return task


@inlined
def free(s: int, task: int) -> None:
    tasks, control = tasks_of(s), control_of(s)
    tasks[task].op = -2
    tasks[task].next = control[FREE]
    control[FREE] = task
    control[FREE_COUNT] += 1


@inlined
def since(s: int, begin_s: float, now: float) -> float:
    """How long since a moment, of the time that is measured."""
    clock = clock_of(s)
    return now - max(begin_s, clock[WARM])


@inlined
def is_open(s: int, station: int) -> bool:
    ops, stations = ops_of(s), stations_of(s)
    op = ops[stations[station].op]
    return op.parked == 0 and not (op.serial and stations[station].in_service)
