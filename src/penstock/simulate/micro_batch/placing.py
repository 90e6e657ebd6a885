"""Where and when the tasks of a stage run: on free slots in the order of replicas, or sharing cores.

Hot where a stage has thousands of tasks; tests/reference/stages.py is the plain version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def in_waves(work_s: Any, extra_s: float, speeds: Any) -> Any:
    """Begin, end and slot of each task; a slot takes the next one as soon as it is free, the fastest of idle ones.

    `work_s`: on a core of speed 1; `extra_s`: of each task, whatever the speed.  `speeds` descend.
    """
    tasks, slots = len(work_s), len(speeds)
    begins_s, ends_s, slots_of = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks, np.int64)
    free_s, order = np.zeros(slots), np.arange(slots)
    size = slots  # a heap of slots by the moment at which they are free, then by number
    for task in range(tasks):
        slot = order[0]
        begins_s[task], slots_of[task] = free_s[slot], slot
        ends_s[task] = free_s[slot] + extra_s + work_s[task] / speeds[slot]
        free_s[slot] = ends_s[task]
        place = 0
        while True:
            child = 2 * place + 1
            if child >= size:
                break
            if child + 1 < size and _is_before(free_s, order[child + 1], order[child]):
                child += 1
            if not _is_before(free_s, order[child], slot):
                break
            order[place] = order[child]
            place = child
        order[place] = slot
    return begins_s, ends_s, slots_of


@njit(cache=True, nogil=True)
def _is_before(free_s: Any, one: int, other: int) -> bool:
    return bool(free_s[one] < free_s[other] or (free_s[one] == free_s[other] and one < other))


@njit(cache=True, nogil=True)
def in_shares(work_s: Any, extra_s: float, cpu_ratio: float, cores: Any, speeds: Any, tasks_per_core: float) -> Any:
    """Begin, end and node of each task where nodes run more tasks at once than they have cores, and tasks share them.

    A task needs `cpu_ratio` of a core while it runs.  `cores`, `speeds`: of each node.  A task goes to the node with
    the most speed for it.
    """
    tasks, nodes = len(work_s), len(cores)
    begins_s, ends_s = np.zeros(tasks), np.full(tasks, np.inf)
    left_s, home, nodes_of = work_s.copy(), np.full(tasks, -1), np.zeros(tasks, np.int64)
    active = np.zeros(nodes, np.int64)
    now, started, done = 0.0, 0, 0
    while done < tasks:
        while started < tasks:
            node = _best_node(active, cores, speeds, cpu_ratio, tasks_per_core)
            if node < 0:
                break
            home[started], nodes_of[started], begins_s[started] = node, node, now
            active[node] += 1
            started += 1
        step_s = np.inf
        for task in range(started):
            if home[task] >= 0:
                speed = _speed(active[home[task]], cores[home[task]], speeds[home[task]], cpu_ratio)
                step_s = min(step_s, left_s[task] / speed)
        now += step_s
        for task in range(started):
            if home[task] >= 0:
                node = home[task]
                left_s[task] -= step_s * _speed(active[node], cores[node], speeds[node], cpu_ratio)
        for task in range(started):
            if home[task] >= 0 and left_s[task] <= 1e-12 * (1.0 + work_s[task]):
                active[home[task]] -= 1
                home[task] = -1
                ends_s[task] = now + extra_s
                done += 1
    return begins_s, ends_s, nodes_of


@njit(cache=True, nogil=True)
def _speed(active: int, cores: int, speed: float, cpu_ratio: float) -> float:
    return speed * min(1.0, cores / max(active * cpu_ratio, 1e-9))


@njit(cache=True, nogil=True)
def _best_node(active: Any, cores: Any, speeds: Any, cpu_ratio: float, tasks_per_core: float) -> int:
    best, best_speed = -1, 0.0
    for node in range(len(cores)):
        if active[node] < cores[node] * tasks_per_core:
            speed = _speed(active[node] + 1, cores[node], speeds[node], cpu_ratio)
            if speed > best_speed:
                best, best_speed = node, speed
    return best
