"""The same graphs in SimPy, and as a plain list of events in Python: a block finished at an operator is one event."""

from __future__ import annotations

import heapq
import random
import time
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.simulator.speed_cases import SpeedCase

Peer = Callable[[SpeedCase, float], int]


def peers() -> dict[str, Peer]:
    """Those that are installed."""
    found: dict[str, Peer] = {"plain": plain_events}
    if find_spec("simpy") is not None:
        found["simpy"] = simpy_events
    return found


def events_s(peer: Peer, case: SpeedCase, seconds: float) -> float:
    """Events per second of CPU time."""
    began = time.process_time()
    events = peer(case, seconds)
    return events / (time.process_time() - began)


def plain_events(case: SpeedCase, seconds: float) -> int:
    """One heap; each pool of equal cores serves the blocks of its operators by age."""
    readers, pools, pool_of, work = _tables(case)
    passes = {operator.name: operator.selectivity for operator in case.model.operators}  # blocks of one tuple
    free, waiting = [len(own) for own in pools], [[] for _ in pools]  # type: ignore[var-annotated]
    events: list[tuple[float, int, str, float]] = []
    for source in case.model.sources:
        heapq.heappush(events, (random.expovariate(source.arrivals.value), 0, source.name, 0.0))
    finished = serial = 0

    def arrive(name: str, birth: float, now: float) -> None:
        nonlocal serial
        pool = pool_of[name]
        serial += 1
        if free[pool]:
            free[pool] -= 1
            heapq.heappush(events, (now + random.expovariate(1 / work[name]) / pools[pool][0], serial, name, birth))
        else:
            heapq.heappush(waiting[pool], (birth, serial, name))

    rates = {source.name: source.arrivals.value for source in case.model.sources}
    while events and events[0][0] <= seconds:
        now, _, name, birth = heapq.heappop(events)
        if name in rates:
            heapq.heappush(events, (now + random.expovariate(rates[name]), 0, name, 0.0))
            for reader in readers[name]:
                arrive(reader, now, now)
            continue
        finished += 1
        if passes[name] == 1.0 or random.random() < passes[name]:
            for reader in readers[name]:
                arrive(reader, birth, now)
        pool = pool_of[name]
        if waiting[pool]:
            age, _, following = heapq.heappop(waiting[pool])
            serial += 1
            took = random.expovariate(1 / work[following]) / pools[pool][0]
            heapq.heappush(events, (now + took, serial, following, age))
        else:
            free[pool] += 1
    return finished


def simpy_events(case: SpeedCase, seconds: float) -> int:
    """A process per block, which goes on to its first reader, with another one for each further reader.

    A resource per pool of cores, by age where several operators share it; in the order of coming, which is the same and
    quicker, where each operator has a pool of its own.
    """
    import simpy

    readers, pools, pool_of, work = _tables(case)
    passes = {operator.name: operator.selectivity for operator in case.model.operators}  # blocks of one tuple
    environment = simpy.Environment()
    is_shared = len(set(pool_of.values())) < len(pool_of)
    form: Any = simpy.PriorityResource if is_shared else simpy.Resource
    resources = [form(environment, len(own)) for own in pools]
    finished: deque[int] = deque([0])

    def block(name: str, birth: float) -> Any:
        while True:
            pool = pool_of[name]
            own = resources[pool]
            with own.request(priority=birth) if is_shared else own.request() as request:
                yield request
                yield environment.timeout(random.expovariate(1 / work[name]) / pools[pool][0])
            finished[0] += 1
            following = readers[name]
            if not following or not (passes[name] == 1.0 or random.random() < passes[name]):
                return
            for reader in following[1:]:
                environment.process(block(reader, birth))
            name = following[0]

    def source(name: str, rate: float) -> Any:
        while True:
            yield environment.timeout(random.expovariate(rate))
            for reader in readers[name]:
                environment.process(block(reader, environment.now))

    for own in case.model.sources:
        environment.process(source(own.name, own.arrivals.value))
    environment.run(until=seconds)
    return finished[0]


def _tables(case: SpeedCase) -> tuple[Any, list[list[float]], dict[str, int], dict[str, float]]:
    """Readers, the speeds of each pool's cores (the mean of unequal ones), the pool and the work of each operator."""
    speeds = [group.speed for group in case.nodes.groups for _ in range(group.count * group.cores)]
    names = [operator.name for operator in case.model.operators]
    if case.schedule is None:
        mean = sum(speeds) / len(speeds)
        pools, pool_of = [[mean] * len(speeds)], dict.fromkeys(names, 0)
    else:
        pools, pool_of = [[speed] for speed in speeds], {name: n for n, name in enumerate(names)}
    return case.model.readers, pools, pool_of, {o.name: o.service.value for o in case.model.operators}
