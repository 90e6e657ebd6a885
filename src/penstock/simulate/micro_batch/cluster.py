"""The cores of all nodes as slots for tasks: at any moment those that are up, with what other programs leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor
from typing import Any

import numpy as np

from penstock.plan.nodes import Node, Nodes
from penstock.simulate.micro_batch.placing import in_shares, in_waves


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """What there is between two changes: slots by speed, the fastest first; cores and speed of each node."""

    slot_speeds: Any
    slot_nodes: Any
    node_cores: Any
    node_speeds: Any
    node_numbers: Any

    @property
    def is_down(self) -> bool:
        return len(self.slot_speeds) == 0


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Begin and end of each task since the stage began, the node it ran on, and how fast a core is there."""

    begins_s: Any
    ends_s: Any
    nodes: Any
    speeds: Any


class Cluster:
    """Nodes over time; a stage runs on what was there when it began."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        loads = [(own.from_s, own.to_s) for group in nodes.groups for own in group.loads]
        outages = [(own.from_s, own.to_s) for group in nodes.groups for own in group.outages]
        self._changes_s = sorted({moment for own in (*loads, *outages) for moment in own})
        self._slots = lru_cache(maxsize=64)(self._slots_of)

    @property
    def cores(self) -> int:
        return self._nodes.cores

    def at(self, time_s: float, operator_class: str | None = None) -> Slots:
        epoch = sum(moment <= time_s for moment in self._changes_s) if self._changes_s else 0
        return self._slots(epoch, operator_class)

    def next_change_s(self, time_s: float) -> float | None:
        return next((moment for moment in self._changes_s if moment > time_s), None)

    def run(
        self, work_s: Any, extra_s: float, cpu_ratio: float, tasks_per_core: int, slots: Slots, background: float = 0.0
    ) -> Placed:
        """When and where each task of a stage runs; `background`: the share of the cores that others take meanwhile."""
        left = 1.0 - background
        if tasks_per_core == 1:
            begins_s, ends_s, own = in_waves(work_s, extra_s, slots.slot_speeds * _share(len(work_s), slots, left))
            return Placed(begins_s, ends_s, slots.slot_nodes[own], slots.slot_speeds[own])
        begins_s, ends_s, own = in_shares(
            work_s, extra_s, cpu_ratio, slots.node_cores * left, slots.node_speeds, tasks_per_core / left
        )
        return Placed(begins_s, ends_s, slots.node_numbers[own], slots.node_speeds[own])

    def _slots_of(self, epoch: int, operator_class: str | None) -> Slots:
        time_s = self._changes_s[epoch - 1] if epoch else 0.0 if not self._changes_s else -1.0
        slots: list[tuple[float, int]] = []
        nodes: list[tuple[float, float, int]] = []
        number = 0
        for group in self._nodes.groups:
            free, own = _free_cores(group, time_s), group.speed_of(operator_class)
            parts = [own] * floor(free) + ([own * (free - floor(free))] if free > floor(free) else [])
            for node in range(number, number + group.count if free > 0 else number):
                slots += [(-speed, node) for speed in parts]
                nodes.append((free, own, node))
            number += group.count
        slots.sort()
        cores, speeds, numbers = ([own[place] for own in nodes] for place in range(3))
        return Slots(
            np.array([-speed for speed, _ in slots]), np.array([node for _, node in slots], np.int64),
            np.array(cores), np.array(speeds), np.array(numbers, np.int64),
        )  # fmt: skip


def _share(tasks: int, slots: Slots, left: float) -> float:
    """Of a core that each task has, where one runs on each: all of it while there are cores to spare."""
    cores = len(slots.slot_speeds)
    return min(1.0, left * cores / max(min(tasks, cores), 1))


def _free_cores(group: Node, time_s: float) -> float:
    """Of one node of a group, with what other programs leave."""
    if any(own.from_s <= time_s < own.to_s for own in group.outages):
        return 0.0
    return max(group.cores - sum(own.cores for own in group.loads if own.from_s <= time_s < own.to_s), 0.0)
