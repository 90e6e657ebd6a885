"""How much work a host's cores do: its speed as measured, less what other programs take of it.

A pace is relative: 1 is that of the mean host.  The same work takes twice as long at pace 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Place = tuple[str, str]  # element, host

_ROUNDS, _SETTLED = 30, 1e-9
_LEAST_CPU_S = 2.0  # a host that did less has not shown what it can do
_LEAST, _MOST = 0.2, 5.0
_FORGETS = 0.9  # what earlier micro-batches count for, one batch later
STEP = 1.25  # a pace counts once it differs by that factor from the one in force: replicas do not follow noise


@dataclass(frozen=True, slots=True)
class ReplicaWork:
    """What a replica of an element did on a host; it stood in line for a core for `stalled_s`."""

    element: str
    host: str
    tuples: float
    cpu_s: float
    stalled_s: float = 0.0


def speeds(work: Iterable[ReplicaWork]) -> dict[str, float]:
    """How fast hosts are, from the CPU that the same elements take for a tuple on each of them.

    Fits cost = element's / host's by least squares of logarithms, weighted by CPU; hosts that share no element with
    others are as fast as the mean.
    """
    cpu_s, tuples = dict[Place, float](), dict[Place, float]()
    for own in work:
        _add(cpu_s, (own.element, own.host), own.cpu_s)
        _add(tuples, (own.element, own.host), own.tuples)
    costs = {at: math.log(cpu_s[at] / tuples[at]) for at in cpu_s if cpu_s[at] > 0 and tuples[at] > 0}
    speed = dict.fromkeys((host for _, host in costs), 0.0)
    for _ in range(_ROUNDS):
        before = speed
        base = _means({at: cost + speed[at[1]] for at, cost in costs.items()}, cpu_s, 0)
        speed = _means({at: base[at[0]] - cost for at, cost in costs.items()}, cpu_s, 1)
        if max((abs(speed[host] - before[host]) for host in speed), default=0.0) < _SETTLED:
            break
    mean = sum(speed.values()) / max(len(speed), 1)
    return {host: _bounded(math.exp(own - mean)) for host, own in speed.items()}


def free_shares(work: Iterable[ReplicaWork]) -> dict[str, float]:
    """The share of the time in which a task wants a core and has one: the rest is what others take."""
    cpu_s, wanted_s = dict[str, float](), dict[str, float]()
    for own in work:
        _add(cpu_s, own.host, own.cpu_s)
        _add(wanted_s, own.host, own.cpu_s + own.stalled_s)
    return {host: max(cpu_s[host] / wanted, _LEAST) for host, wanted in wanted_s.items() if wanted > 0}


def capacities(cores_by_host: Mapping[str, float], pace_by_host: Mapping[str, float]) -> dict[str, float]:
    """What hosts can do, in cores of the mean host; hosts whose pace is not known are as the mean one."""
    return {host: cores * pace_by_host.get(host, 1.0) for host, cores in cores_by_host.items()}


class HostPaces:
    """Learns the paces of hosts from micro-batches; those in force change in steps."""

    def __init__(self) -> None:
        self.in_force: Mapping[str, float] = {}
        self._known: dict[tuple[str, str], ReplicaWork] = {}

    def learn(self, work: Iterable[ReplicaWork]) -> None:
        """Takes a micro-batch in; a host that is not heard of any more is forgotten."""
        known = {at: _scaled(own, _FORGETS) for at, own in self._known.items()}
        for own in work:
            before = known.get((own.element, own.host))
            known[own.element, own.host] = own if before is None else _together(before, own)
        self._known = {at: own for at, own in known.items() if own.cpu_s > _LEAST_CPU_S / 1_000}
        self.in_force = self._stepped(self._measured())

    def _measured(self) -> dict[str, float]:
        spent_s = dict[str, float]()
        for own in self._known.values():
            _add(spent_s, own.host, own.cpu_s)
        work = [own for own in self._known.values() if spent_s[own.host] >= _LEAST_CPU_S]
        free, speed = free_shares(work), speeds(work)
        paces = {host: share * speed.get(host, 1.0) for host, share in free.items()}
        mean = sum(paces.values()) / max(len(paces), 1)
        return {host: _bounded(pace / mean) for host, pace in paces.items()}

    def _stepped(self, measured: Mapping[str, float]) -> Mapping[str, float]:
        before = self.in_force
        off = (max(pace / (was := before.get(host, 1.0)), was / pace) for host, pace in measured.items())
        return dict(measured) if max(off, default=1.0) > STEP else before


def _means(values: Mapping[Place, float], weights: Mapping[Place, float], by: int) -> dict[str, float]:
    """Weighted means by element (0) or host (1)."""
    total, weight = dict[str, float](), dict[str, float]()
    for at, value in values.items():
        _add(total, at[by], weights[at] * value)
        _add(weight, at[by], weights[at])
    return {name: total[name] / weight[name] for name in total}


def _add(sums: dict[T, float], at: T, value: float) -> None:
    sums[at] = sums.get(at, 0.0) + value


def _scaled(own: ReplicaWork, by: float) -> ReplicaWork:
    return ReplicaWork(own.element, own.host, own.tuples * by, own.cpu_s * by, own.stalled_s * by)


def _together(one: ReplicaWork, other: ReplicaWork) -> ReplicaWork:
    return ReplicaWork(
        one.element, one.host, one.tuples + other.tuples, one.cpu_s + other.cpu_s, one.stalled_s + other.stalled_s
    )


def _bounded(pace: float) -> float:
    return min(max(pace, _LEAST), _MOST)
