"""Capacity planning: cores, executors, latency and the bill of a model or an application at another rate.

The nodes are taken in the order of their price for a core of speed 1, as few as carry the load, then more: what the
next ones buy is a row of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from penstock.errors import InputError
from penstock.plan.configuration import SLOTS, SLOTS_MAX, ElementConfiguration, even_route
from penstock.plan.nodes import Node, Nodes
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.events.draws import constant, poisson
from penstock.simulate.events.model import Model, mean_rate, mean_service_s
from penstock.simulate.events.results import Result
from penstock.simulate.events.simulation import run_continuous
from penstock.simulate.micro_batch.batch_simulation import run_batches
from penstock.simulate.simulation import batch_plant

_WHAT_IF = re.compile(r"^\s*rate\s*(?:(?P<by>[x*])\s*(?P<factor>[0-9.eE+-]+)|=?\s*(?P<rate>[0-9.eE+-]+))\s*$")
_FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)  # of the cores that the work alone needs
_BUSY = 0.9
_BATCHES_S, _BLOCKS = 60.0, 200_000
_KEEPS_UP = 0.95  # of what comes


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One number of nodes; `bill_hour` is None where no price is known.  `keeps_up`: it serves what arrives."""

    rate_tuples_s: float
    cores: int
    executors: int
    replicas: int
    throughput_tuples_s: float
    latency_mean_s: float | None
    latency_p95_s: float | None
    busy_ratio: float
    bill_hour: float | None
    keeps_up: bool


@dataclass(frozen=True, slots=True)
class Capacity:
    """All rows, fewest cores first; `best`: the first that keeps up, None where none does."""

    rows: tuple[CapacityRow, ...]

    @property
    def best(self) -> CapacityRow | None:
        return next((row for row in self.rows if row.keeps_up), None)

    def as_json(self) -> dict[str, Any]:
        return {"best": None if self.best is None else asdict(self.best), "rows": [asdict(row) for row in self.rows]}


def what_if_rate(text: str, rate_tuples_s: float) -> float:
    """The rate that a question names: 'rate x 10', or 'rate 50000'.

    >>> what_if_rate("rate x 10", 500.0), what_if_rate("rate 50000", 500.0)
    (5000.0, 50000.0)
    """
    found = _WHAT_IF.match(text)
    try:
        value = float(found["factor"] or found["rate"]) if found else 0.0
    except ValueError:
        value = 0.0
    if found is None or not 0 < value < float("inf"):
        raise InputError(f"--what-if is 'rate x FACTOR' or 'rate TUPLES_PER_SECOND'; got '{text}'")
    return rate_tuples_s * value if found["by"] else value


def plan_capacity(
    subject: Model | Fit,
    nodes: Nodes,
    rate_tuples_s: float,
    price_core_hour: float | None = None,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Capacity:
    """Rows for more and more of the nodes, until all of them are used or latency gets no lower."""
    case: _ModelCase | _FitCase
    case = _FitCase(subject, rate_tuples_s) if isinstance(subject, Fit) else _ModelCase(subject, rate_tuples_s)
    chosen = _chosen(nodes, case.work_cores / _BUSY)
    rows: list[CapacityRow] = []
    for number, part in enumerate(chosen):
        result, replicas = case.run(part, seed)
        cores = part.cores
        busy_s = sum(own.busy_s for own in result.by_node.values())
        rows.append(
            CapacityRow(
                rate_tuples_s, cores, len(part.names), replicas, case.served_tuples_s(result), result.latency.mean_s,
                result.latency.p95_s, busy_s / (cores * result.seconds), _bill_hour(part, price_core_hour),
                case.keeps_up(result),
            )
        )  # fmt: skip
        if progress is not None:
            progress(number + 1, len(chosen))
    return Capacity(tuple(rows))


def _chosen(nodes: Nodes, least_cores: float) -> list[Nodes]:
    """Nodes for multiples of the cores that are needed, the cheapest first, and all of them."""
    found: dict[int, Nodes] = {}
    for factor in _FACTORS:
        part = _cheapest(nodes, least_cores * factor)
        found[part.cores] = part
    return [found[cores] for cores in sorted(found)]


def _cheapest(nodes: Nodes, speed: float) -> Nodes:
    """As few nodes as have cores of so much speed together; all where that is not enough."""
    groups: list[Node] = []
    left = speed
    for group in sorted(nodes.groups, key=lambda own: (own.price_core_hour or 0.0) / own.speed):
        each = group.cores * group.speed
        count = min(max(ceil(left / each - 1e-9), 0), group.count)
        if count:
            groups.append(replace(group, count=count))
            left -= count * each
    return Nodes(tuple(groups) or (replace(nodes.groups[0], count=1),), nodes.network)


def _bill_hour(nodes: Nodes, price_core_hour: float | None) -> float | None:
    prices = [
        (g.count * g.cores, g.price_core_hour if price_core_hour is None else price_core_hour) for g in nodes.groups
    ]
    if any(price is None for _, price in prices):
        return None
    return sum(cores * price for cores, price in prices if price is not None)


class _ModelCase:
    """A model in continuous mode, its sources at the rate together."""

    def __init__(self, model: Model, rate_tuples_s: float) -> None:
        now = sum(mean_rate(own.arrivals, own.block_tuples) for own in model.sources)
        factor = rate_tuples_s / now
        sources = []
        for own in model.sources:
            rate = factor * mean_rate(own.arrivals, own.block_tuples)
            draws = constant if own.arrivals.kind == "constant" else poisson
            sources.append(replace(own, arrivals=draws(rate)))
        self._model = Model(sources, model.operators)
        rates = self._model.rate_by_operator
        self.work_cores = sum(rates[o.name] * mean_service_s(o.service) for o in model.operators)
        sinks = [o for o in model.operators if not self._model.readers[o.name]]
        self._results_s = sum(rates[o.name] * o.selectivity for o in sinks)
        blocks_s = sum(rates[o.name] for o in model.operators) / max(own.block_tuples for own in model.sources)
        self._seconds = _BLOCKS / blocks_s

    def run(self, nodes: Nodes, seed: int) -> tuple[Result, int]:
        result = run_continuous(
            self._model, nodes, None, "oldest_first", self._seconds, self._seconds / 10, seed
        )  # fmt: skip
        return result, max(operator.partitions * operator.replicas for operator in self._model.operators)

    def served_tuples_s(self, result: Result) -> float:
        return result.throughput_tuples_s

    def keeps_up(self, result: Result) -> bool:
        return result.throughput_tuples_s >= _KEEPS_UP * self._results_s


class _FitCase:
    """An application in micro-batches, each element on as many replicas as there are cores."""

    def __init__(self, fit: Fit, rate_tuples_s: float) -> None:
        self._fit = fit.at_rate(rate_tuples_s)
        self._rate = rate_tuples_s
        rates = self._fit.model.rate_by_operator
        self.work_cores = sum(rates[own.name] * sum(own.tuple_s()) for own in fit.elements)
        first = {name for own in self._fit.model.sources for name in self._fit.model.readers[own.name]}
        self._first = first

    def run(self, nodes: Nodes, seed: int) -> tuple[Result, int]:
        slots = _slots_for(nodes.cores)
        settings, elements = [], []
        for own in self._fit.elements:
            replicas = 1 if own.is_single else nodes.cores
            settings.append(ElementConfiguration(own.name, replicas, even_route(replicas, slots)))
            elements.append(replace(own, shares=_resized(own.shares(0.0), slots)))
        configuration = replace(self._fit.configuration, elements=tuple(settings))
        fit = replace(self._fit, elements=tuple(elements), configuration=configuration)
        plant = batch_plant(fit.model, nodes, configuration, _BATCHES_S, seed, fitted=fit)
        return run_batches(plant, nodes, _BATCHES_S, _BATCHES_S / 6), nodes.cores

    def served_tuples_s(self, result: Result) -> float:
        """Of the sources."""
        return sum(result.by_operator[name].tuples_in_s for name in self._first)

    def keeps_up(self, result: Result) -> bool:
        return self.served_tuples_s(result) >= _KEEPS_UP * self._rate


def _slots_for(cores: int) -> int:
    """Enough that every replica has some, a power of two."""
    slots = SLOTS
    while slots < 8 * cores and slots < SLOTS_MAX:
        slots *= 2
    return slots


def _resized(shares: Any, slots: int) -> Callable[[float], Any]:
    """As skewed as it was: each slot cut into equal ones, as far as that goes."""
    times = max(slots // len(shares), 1)
    cut = np.repeat(np.asarray(shares) / times, times)
    if len(cut) != slots:
        cut = np.full(slots, 1.0 / slots)
    return lambda _time_s: cut


def rows_of(capacity: Capacity) -> Sequence[tuple[str, ...]]:
    """For a table."""

    def seconds(value: float | None) -> str:
        return "none" if value is None else f"{value:.3g} s"

    return [
        (
            f"{row.cores:,}", f"{row.executors:,}", f"{row.replicas:,}", f"{row.throughput_tuples_s:,.0f}",
            seconds(row.latency_mean_s), seconds(row.latency_p95_s), f"{row.busy_ratio:.0%}",
            "unknown" if row.bill_hour is None else f"{row.bill_hour:.2f}", "yes" if row.keeps_up else "no",
        )
        for row in capacity.rows
    ]  # fmt: skip
