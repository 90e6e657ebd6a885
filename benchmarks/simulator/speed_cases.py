"""Graphs whose simulation is timed: CLOUD's Figure 4a, a tandem of five stations, and many operators on many cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock import twin
from penstock.connectors.trace.rates import SHAPES

# 20 operators: 7 on inputs, 6 joins, and both parallel and serial segments (CLOUD 5.3).
_GRAPH: dict[str, tuple[str, ...]] = {
    **{f"i{n}": (f"s{n}",) for n in range(1, 8)},
    "j1": ("i1", "i2"), "j2": ("i3", "i4"), "m1": ("j1",), "j3": ("m1", "j2"), "m2": ("j3",), "m3": ("m2",),
    "j4": ("i5", "i6"), "j5": ("j4", "i7"), "m4": ("j5",), "j6": ("m3", "m4"), "m5": ("j6",), "m6": ("m5",),
    "m7": ("m6",),
}  # fmt: skip
_LONG_AFTER_S, _HOUR_S = 1e12, 3600.0
_WORK = (1.0, 2.5, 0.6, 1.8, 0.9, 3.0, 1.2)


@dataclass(frozen=True, slots=True)
class SpeedCase:
    """`schedule`: None for shared cores."""

    name: str
    model: twin.Model
    nodes: twin.Nodes
    schedule: Any
    seconds: float


def figure_4a_nodes() -> twin.Nodes:
    """5 machines of 4 cores, 5 of 2, 5 of 1."""
    kinds = (("quad", 4, 2.4), ("dual", 2, 2.0), ("single", 1, 1.6))
    return twin.Nodes(tuple(twin.Node(name, count=5, cores=cores, speed=speed) for name, cores, speed in kinds))


def figure_4a(busy: float = 0.7, *, merge_s: float = 0.0, constant: bool = False) -> twin.Model:
    """The graph at a rate that keeps the cores busy for a share of their time; works differ by operator."""
    works = {name: _WORK[n % len(_WORK)] for n, name in enumerate(_GRAPH)}
    draws = twin.constant if constant else twin.exponential
    operators = [
        twin.Operator(name, inputs, draws(works[name]), merge_s=merge_s, selectivity=0.5 if len(inputs) > 1 else 1.0)
        for name, inputs in _GRAPH.items()
    ]

    def model(rate: float) -> twin.Model:
        return twin.Model([twin.Source(f"s{n}", twin.poisson(rate)) for n in range(1, 8)], operators)

    work = sum(rate * works[name] for name, rate in model(1.0).rate_by_operator.items())
    speed = sum(group.count * group.cores * group.speed for group in figure_4a_nodes().groups)
    return model(busy * speed / work)


def tandem(stations: int = 5, rate: float = 0.7) -> SpeedCase:
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.exponential(1.0)) for n in range(stations)
    ]
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}") for n in range(stations)))
    pins = {"pinned": {f"n{n}": [f"o{n}"] for n in range(stations)}}
    return SpeedCase("tandem", twin.Model([twin.Source("s", twin.poisson(rate))], operators), nodes, pins, 1000.0)


def with_events(case: SpeedCase) -> SpeedCase:
    """The same through the event loop: a load that comes after all else is over keeps it from being a line."""
    first, *others = case.nodes.groups
    late = replace(first, loads=(twin.Load(_LONG_AFTER_S, _LONG_AFTER_S + 1.0, 1.0),))
    return replace(case, name=f"{case.name}, event by event", nodes=twin.Nodes((late, *others)))


def trading_hour(events: float, operators: int = 1000, cores: int = 10_000, busy: float = 0.2) -> SpeedCase:
    """An hour in which a trading day passes, with so many events; cores are busy for a share of it on average."""
    own = large(operators, cores)
    edges, shares = SHAPES["trading_day"].pieces(1)
    work = twin.exponential(busy * cores * _HOUR_S / events)
    counts = shares * np.diff(edges) * (events / len(own.model.operators))
    arrivals = twin.trace(counts.tolist(), _HOUR_S / len(counts))
    sources = [replace(source, arrivals=arrivals) for source in own.model.sources]
    model = twin.Model(sources, [replace(operator, service=work) for operator in own.model.operators])
    return SpeedCase(f"a trading day in an hour, {own.name}", model, own.nodes, None, _HOUR_S)


def large(operators: int, cores: int, busy: float = 0.6) -> SpeedCase:
    """Chains of ten operators on nodes of 16 cores, all shared."""
    chains = max(1, operators // 10)
    rate = busy * cores / (chains * 10)
    sources = [twin.Source(f"s{n}", twin.poisson(rate)) for n in range(chains)]
    own = [
        twin.Operator(f"c{n}o{k}", (f"s{n}" if k == 0 else f"c{n}o{k - 1}",), twin.exponential(1.0))
        for n in range(chains)
        for k in range(10)
    ]
    nodes = twin.Nodes((twin.Node("n", count=max(1, cores // 16), cores=min(16, cores)),))
    return SpeedCase(f"{operators} operators, {cores} cores", twin.Model(sources, own), nodes, None, 1000.0)
