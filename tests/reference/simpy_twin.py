"""The twin's models in SimPy: a process per block, a priority resource per pool of equal cores, the oldest block first.

For given draws, parts of their own are not modelled: one partition, no bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import simpy

from penstock.simulate.events.model import Model

Row = tuple[float, str, int]


def simpy_log(model: Model, pools: dict[str, int], cores: list[int], until_s: float) -> list[Row]:
    """Rows of time, operator and block; `pools`: of each operator; `cores`: of each pool."""
    environment = simpy.Environment()
    resources = [simpy.PriorityResource(environment, capacity) for capacity in cores]
    locks = {name: simpy.Resource(environment) for operator in model.operators for name in operator.locks}
    held = {operator.name: operator.locks for operator in model.operators}
    draws = {operator.name: _again(operator.service.values) for operator in model.operators}
    numbers = {operator.name: n for n, operator in enumerate(model.operators)}
    rows: list[Row] = []

    def block(name: str, birth_s: float, number: int) -> Any:
        with resources[pools[name]].request(priority=(birth_s, numbers[name])) as request:
            yield request
            yield environment.timeout(next(draws[name]))
            for lock, seconds in held[name].items():
                with locks[lock].request() as turn:
                    yield turn
                    yield environment.timeout(seconds)
        rows.append((environment.now, name, number))
        for reader in model.readers[name]:
            environment.process(block(reader, birth_s, number))

    def arrivals() -> Any:
        moments = sorted((float(at_s), n, s.name) for n, s in enumerate(model.sources) for at_s in s.arrivals.values)
        for number, (at_s, _, source) in enumerate(moments):
            yield environment.timeout(at_s - environment.now)
            for reader in model.readers[source]:
                environment.process(block(reader, environment.now, number))

    environment.process(arrivals())
    environment.run(until=until_s)
    return rows


def _again(values: Any) -> Iterator[float]:
    while True:
        yield from map(float, values)
