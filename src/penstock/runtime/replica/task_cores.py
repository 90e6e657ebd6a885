"""The cores that a task may compute on."""

from __future__ import annotations

import math

from penstock.host.cores import own_cores
from penstock.state.checkpoint.batch_plan import BatchPlan


def cores_of_task(plan: BatchPlan, element: str, replica: int) -> int:
    """The cores of this host for each task of an element that runs here; at least one."""
    replicas = plan.configuration.element(element).replicas
    placement = plan.placements.get(element)
    if placement is not None:
        here = placement.hosts.count(placement.hosts[replica])
    else:
        hosts = {host for own in plan.placements.values() for host in own.hosts}
        here = math.ceil(replicas / max(len(hosts), 1))
    return max(1, own_cores() // here)
