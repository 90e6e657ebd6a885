"""The node performance learner (MODEL, 3.5): how fast a node runs each class of operators, and what neighbours cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import geometric_mean, median

from penstock.errors import InputError
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.learning.samples import Sample
from penstock.model.costs.profile import OperatorCost
from penstock.model.costs.resource_function import ResourceFunction

_HIGHEST = 2.0**60  # tuples/s
_LEAST_DEVIATION = 0.01  # of a saturated rate: no function is surer than that


def learned_speeds(here: Iterable[OperatorCost], there: Iterable[OperatorCost]) -> dict[str, float]:
    """Speeds of one node relative to another by operator class, out of operators that both have measured.

    A node's capacity is the highest rate of an operator on one of its cores, not its MIPS (Figure 9): with u = f(r) on
    the one and u = f(r / s) on the other, s = r' / r where both use a whole core.  Operators are the same where their
    keys are; those of a class count by how sure their functions are.  A class whose operators never use a core, sinks
    for example, has the mean of the other classes.
    """
    known = {own.key: own for own in here}
    logs: dict[str, list[tuple[float, float]]] = {}
    silent: set[str] = set()
    for other in there:
        own = known.get(other.key)
        if own is None or own.key is None or own.operator_class is None:
            continue
        rates = saturated_rate(own.cpu), saturated_rate(other.cpu)
        if rates[0] is None or rates[1] is None:
            silent.add(own.operator_class)
            continue
        variance = own.cpu.variance(_ports(own.cpu, rates[0])) + other.cpu.variance(_ports(other.cpu, rates[1]))
        weight = 1.0 / max(variance, _LEAST_DEVIATION**2)
        logs.setdefault(own.operator_class, []).append((weight, math.log(rates[1] / rates[0])))
    speeds = {
        name: math.exp(sum(weight * log for weight, log in found) / sum(weight for weight, _ in found))
        for name, found in logs.items()
    }
    return speeds | (dict.fromkeys(sorted(silent - set(speeds)), geometric_mean(speeds.values())) if speeds else {})


def saturated_rate(cpu: ResourceFunction) -> float | None:
    """Tuples/s, of each input port alike, at which an operator uses a whole core; None where it never does.

    >>> from penstock.model.costs.resource_function import Term
    >>> round(saturated_rate(ResourceFunction((Term((0,), 0.1), Term((1,), 3e-6)))))
    300000
    """
    low, high = 0.0, 1.0
    while cpu.at(_ports(cpu, high)) < 1.0:
        low, high = high, high * 2
        if high > _HIGHEST:
            return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cpu.at(_ports(cpu, middle)) < 1.0 else (low, middle)
    return high


def _ports(cpu: ResourceFunction, rate: float) -> list[float]:
    return [rate] * max(cpu.ports, 1)


def communication_speed(here: Overhead, there: Overhead) -> float:
    """The same for Spark's and our own work around operators: the highest rate of an element that only passes tuples
    on, over the widths that `here` was calibrated with."""
    widths = here.communication.bytes_per_tuple or (None,)
    pairs = [(_passed_on(here, width), _passed_on(there, width)) for width in widths]
    ratios = [other / own for own, other in pairs if own > 0 and other > 0]
    if not ratios:
        raise InputError("the speed of communication needs what a tuple costs on both nodes; one of them has no costs")
    return geometric_mean(ratios)


def _passed_on(overhead: Overhead, width: float | None) -> float:
    """Tuples/s at which task, envelopes, receiving and sending take a whole core; 0 where tuples cost nothing."""
    fixed, table = overhead.fixed, overhead.communication
    tuple_s = table.send(1.0, width) + table.receive(1.0, width) + 2 * fixed.envelope_cpu_s / fixed.envelope_tuples
    return max(1.0 - fixed.task_cpu_s, 0.0) / tuple_s if tuple_s > 0 else 0.0


def learned_contention(alone: Sequence[Sample], shared: Sequence[Sample], neighbours_cores: float) -> float:
    """By how much each busy core of neighbours raises the CPU of elements: the median over pairs of visits, in turns.

    Never below 0: neighbours take caches and memory, and give none.
    """
    if not alone or len(alone) != len(shared):
        raise InputError(
            f"contention needs as many visits with neighbours as without; got {len(shared)} and {len(alone)}"
        )
    ratios = [_cpu_s(other) / _cpu_s(own) for own, other in zip(alone, shared, strict=True)]
    return max(median(ratios) - 1.0, 0.0) / neighbours_cores


def _cpu_s(sample: Sample) -> float:
    return sum(own.cpu_s for own in sample.elements.values())
