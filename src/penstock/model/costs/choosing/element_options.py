"""The ways to run one element on some nodes, and plans: one way for each element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.model.costs.composition import Composition
from penstock.model.costs.profile import Profile
from penstock.model.costs.task_groups import scope_of
from penstock.plan.nodes import Node

_MOST_REPLICAS = 64
_SAME = 1e-9  # relative: plans this close are ties


@dataclass(frozen=True, slots=True)
class Option:
    """An element on so many replicas: its CPU in cores, the time of its stage, and the hosts it is on."""

    operators: tuple[str, ...]
    replicas: int
    hosts: tuple[str, ...]
    cpu_cores: float
    time_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A way for each element of a fusion."""

    options: tuple[Option, ...]
    cpu_cores: float
    time_s: float

    def with_option(self, own: Option) -> Plan:
        return Plan((*self.options, own), self.cpu_cores + own.cpu_cores, self.time_s + own.time_s)


class ElementOptions:
    """Finds, and remembers, the options of elements."""

    def __init__(
        self, profile: Profile, compositions: Sequence[tuple[Node, Composition]], together: Sequence[frozenset[str]]
    ) -> None:
        self.profile, self._compositions, self._together = profile, compositions, together
        self._known: dict[tuple[str, ...], tuple[Option, ...]] = {}

    def of(self, operators: tuple[str, ...]) -> tuple[Option, ...]:
        """The options that no other beats in both CPU and time; none where a user's partition would be cut."""
        if operators not in self._known:
            inside = set(operators)
            cut = any(group & inside and not group <= inside for group in self._together)
            self._known[operators] = () if cut else self._found(operators)
        return self._known[operators]

    def _found(self, operators: tuple[str, ...]) -> tuple[Option, ...]:
        cores = sum(node.count * node.cores for node, _ in self._compositions)
        most = 1 if scope_of(self.profile, operators) == "stream" else min(cores, _MOST_REPLICAS)
        found: list[Option] = []
        for replicas in range(1, most + 1):
            own = self._option(operators, replicas)
            if not found or own.time_s < found[-1].time_s * (1 - _SAME):
                found = [other for other in found if other.cpu_cores < own.cpu_cores * (1 - _SAME)]
                found.append(own)
        return tuple(found)

    def _option(self, operators: tuple[str, ...], replicas: int) -> Option:
        """Tasks on the cores that need the least CPU for them, one each, the busiest first; the rest in more waves."""
        priced = [own.element(operators, replicas) for _, own in self._compositions]
        order = sorted(range(len(priced)), key=lambda place: (priced[place].cpu_cores, place))
        busiest = sorted(enumerate(priced[order[0]].tasks), key=lambda own: -own[1][1])
        left = {kind: count for kind, (count, _) in busiest}
        cpu, time_s, ratio = 0.0, 0.0, self.profile.fixed.stage_s_per_cpu_s
        hosts = dict[str, None]()
        while any(left.values()):
            slowest = 0.0
            for place in order:
                node, own = self._compositions[place]
                free = node.count * node.cores
                hosts |= dict.fromkeys(node.names[: -(-min(free, sum(left.values())) // node.cores)])
                for kind, count in left.items():
                    taken, each = min(count, free), priced[place].tasks[kind][1]
                    if taken:
                        cpu, slowest = cpu + taken * each, max(slowest, each * own.micro_batch_s * ratio)
                    left[kind], free = count - taken, free - taken
            time_s += slowest
        return Option(operators, replicas, tuple(hosts), cpu, time_s)


def combined(
    before: Iterable[Plan], options: Iterable[Option], limit_s: float, known: Sequence[Plan] = ()
) -> list[Plan]:
    """The best plans with one more element; those over the limit are dropped where one within it is known."""
    every = [*known, *(plan.with_option(own) for plan in before for own in options)]
    every.sort(key=lambda plan: (plan.cpu_cores, plan.time_s))
    best: list[Plan] = []
    for plan in every:
        if not best or plan.time_s < best[-1].time_s * (1 - _SAME):
            best.append(plan)
    within = [plan for plan in best if plan.time_s <= limit_s]
    return within or best[-1:]


def best(plans: Iterable[Plan], limit_s: float) -> Plan | None:
    """The cheapest plan within the limit; of those that cost the same the quickest."""
    within = [plan for plan in plans if plan.time_s <= limit_s]
    if not within:
        return None
    cheapest = min(plan.cpu_cores for plan in within)
    ties = [plan for plan in within if plan.cpu_cores <= cheapest * (1 + _SAME)]
    return min(ties, key=lambda plan: plan.time_s)
