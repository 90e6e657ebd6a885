"""Tasks of a stage on slots, slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence


def waves(work_s: Sequence[float], extra_s: float, speeds: Sequence[float]) -> list[tuple[float, float, int]]:
    """Begin, end and slot of each task: in their order, each on the slot that is free first, then the lowest number."""
    free_s = [0.0] * len(speeds)
    found = []
    for work in work_s:
        slot = min(range(len(speeds)), key=lambda n: (free_s[n], n))
        begin_s = free_s[slot]
        free_s[slot] = begin_s + extra_s + work / speeds[slot]
        found.append((begin_s, free_s[slot], slot))
    return found


def shares(
    work_s: Sequence[float], cpu_ratio: float, cores: int, speed: float, tasks_per_core: int, step_s: float = 1e-4
) -> list[float]:
    """The end of each task on one node whose cores are shared, by small steps of time."""
    left, ends_s, now = list(work_s), [0.0] * len(work_s), 0.0
    while any(own > 0 for own in left):
        active = [n for n, own in enumerate(left) if own > 0][: cores * tasks_per_core]
        for n in active:
            left[n] -= step_s * speed * min(1.0, cores / (len(active) * cpu_ratio))
            ends_s[n] = now + step_s
        now += step_s
    return ends_s
