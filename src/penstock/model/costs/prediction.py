"""What a fusion would use and sustain: the elements, the batch time, the highest rate and its bottleneck."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.arguments import Rule, check_arguments, is_whole, kind, many, number, or_none, shown, whole
from penstock.errors import InputError, did_you_mean
from penstock.model.costs.choosing.fusions import convexity_problem
from penstock.model.costs.composition import Composition, ElementPrediction
from penstock.model.costs.flows import flows_of
from penstock.model.costs.node_speed import speed_on
from penstock.model.costs.profile import Profile
from penstock.model.costs.task_groups import scope_of
from penstock.plan.nodes import Node, Nodes

_HIGHEST_FACTOR = 2.0**60
GROUPS = many(
    "a list of lists of operators",
    Rule("a list of operators", lambda group: isinstance(group, str | list | tuple)),
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A fusion at some rates; an element's key is its first operator in program order.

    `batch_time_s` = the driver's fixed part + for each stage, one after the other, its busiest task times the waves of
    tasks.  `max_rate_tuples_s`, over all sources, is where that equals the batch interval; infinite where nothing
    costs anything.  `bottleneck` is the element whose stage takes longest.

    `Profile.predict(...)` gives one; docs/costs.md reads it.

    >>> from penstock import costs
    >>> cost = costs.ResourceFunction((costs.Term((1,), 2e-6),))
    >>> prediction = costs.Profile((costs.OperatorCost("a", cost),)).predict({"source": 1e5}, fusion=[["a"]])
    >>> prediction.bottleneck, round(prediction.cpu_cores, 6)
    ('a', 0.2)
    """

    elements: Mapping[str, ElementPrediction]
    bottleneck: str
    batch_time_s: float
    driver_cpu_cores: float
    stage_s: Mapping[str, float]
    rates: Mapping[str, float]
    _stages: Stages = field(repr=False, compare=False)

    @property
    def max_rate_tuples_s(self) -> float:
        """The sources' rates together, in the proportions of `rates`."""
        total = sum(self.rates.values())
        return self._stages.highest_factor(self.rates) * (total or len(self.rates))

    @property
    def cpu_cores(self) -> float:
        """Of all elements, without the driver."""
        return sum(own.cpu_cores for own in self.elements.values())


def predict(
    profile: Profile,
    rates: Mapping[str, float],
    fusion: Sequence[Sequence[str]] | None,
    node: Node | Nodes | str | Mapping[str, float] | None,
    micro_batch_s: float,
    replicas: Mapping[str, int] | None,
    cores: int | None,
    neighbours_cores: float,
) -> Prediction:
    """What `Profile.predict` gives."""
    check_arguments(
        "Profile.predict", fusion=(fusion, or_none(GROUPS)), micro_batch_s=(micro_batch_s, number(above=0)),
        replicas=(replicas, or_none(kind("a mapping of whole numbers by element", Mapping))),
        cores=(cores, or_none(whole(least=1))), neighbours_cores=(neighbours_cores, number(least=0)),
    )  # fmt: skip
    if isinstance(node, Nodes) and len(node.groups) == 1:
        node = node.groups[0]
    if cores is None and isinstance(node, Node):
        cores = node.count * node.cores
    factor = 1.0 + profile.contention * neighbours_cores
    composition = Composition(profile, flows_of(profile, rates), speed_on(profile, node), micro_batch_s, factor)
    groups = checked_fusion(profile, composition, fusion)
    counts = _replicas(profile, groups, replicas or {})
    stages = Stages(composition, groups, counts, cores)
    elements, stage_s = stages.at(composition)
    return Prediction(
        elements, max(stage_s, key=stage_s.__getitem__), stages.fixed_s + sum(stage_s.values()),
        profile.fixed.micro_batch_cpu_s / composition.speed("communication") / micro_batch_s, stage_s, dict(rates),
        stages,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stages:
    """The elements of a fusion, which run one after the other in a micro-batch."""

    composition: Composition
    groups: tuple[tuple[str, ...], ...]
    replicas: Mapping[str, int]
    cores: int | None

    @property
    def fixed_s(self) -> float:
        return fixed_s(self.composition)

    def at(self, composition: Composition) -> tuple[dict[str, ElementPrediction], dict[str, float]]:
        """The elements, and how long the stage of each takes."""
        elements = {group[0]: composition.element(group, self.replicas[group[0]]) for group in self.groups}
        cpu_s = composition.micro_batch_s * composition.profile.fixed.stage_s_per_cpu_s
        return elements, {name: own.busiest_cores(self.cores) * cpu_s for name, own in elements.items()}

    def batch_time_s(self, rates: Mapping[str, float]) -> float:
        own = replace(self.composition, flows=flows_of(self.composition.profile, rates))
        return self.fixed_s + sum(self.at(own)[1].values())

    def highest_factor(self, rates: Mapping[str, float]) -> float:
        """By how much all rates can be multiplied before a batch takes longer than its interval."""
        unit = dict(rates) if sum(rates.values()) else dict.fromkeys(rates, 1.0)

        def fits(factor: float) -> bool:
            scaled = {name: rate * factor for name, rate in unit.items()}
            return self.batch_time_s(scaled) <= self.composition.micro_batch_s

        if not fits(0.0):
            return 0.0
        low, high = 0.0, 1.0
        while fits(high):
            low, high = high, high * 2
            if high > _HIGHEST_FACTOR:
                return math.inf
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low


def fixed_s(composition: Composition) -> float:
    """The time of a micro-batch besides its stages: as measured, else the driver's CPU."""
    fixed = composition.profile.fixed
    own_s = fixed.micro_batch_cpu_s if fixed.micro_batch_s is None else fixed.micro_batch_s
    return own_s / composition.speed("communication")


def checked_fusion(
    profile: Profile, composition: Composition, fusion: Sequence[Sequence[str]] | None
) -> tuple[tuple[str, ...], ...]:
    """The elements in program order, operators too.

    As in `Configuration.with_fusion`, sources that are not named are one element, a sink that is not named is in the
    element of the operator it reads, and any other operator is an element of its own.
    """
    order = {name: place for place, name in enumerate(profile.names)}
    members = [[group] if isinstance(group, str) else list(group) for group in fusion or ()]
    check_groups("the fusion", profile.names, members)
    groups = [tuple(sorted(group, key=order.__getitem__)) for group in members if group]
    named = {name for group in groups for name in group}
    groups = _completed(profile, composition, groups, [name for name in order if name not in named])
    if problem := convexity_problem(groups, composition.flows):
        raise InputError(problem)
    return tuple(sorted(groups, key=lambda group: order[group[0]]))


def check_groups(what: str, names: Sequence[str], groups: Sequence[Sequence[str]]) -> None:
    """InputError with a sentence for each name that no operator has, or that is there twice."""
    problems: list[str] = []
    named: set[str] = set()
    for name in (name for group in groups for name in group):
        if not isinstance(name, str) or name not in names:
            hint = did_you_mean(name, names) if isinstance(name, str) else ""
            problems.append(f"{what} names operator {shown(name)}, which the profile does not have; it has: "
                            f"{', '.join(names)}" + (f"; {hint}" if hint else ""))  # fmt: skip
        elif name in named:
            problems.append(f"{what} names operator '{name}' twice")
        else:
            named.add(name)
    if problems:
        raise InputError("\n".join(problems))


def _completed(
    profile: Profile, composition: Composition, groups: list[tuple[str, ...]], others: Sequence[str]
) -> list[tuple[str, ...]]:
    """The groups with the operators that no group names."""
    sources = tuple(name for name in others if profile.operator(name).inputs == ())
    found = [*groups, *([sources] if sources else [])]
    for name in others:
        if name in sources:
            continue
        reads = composition.flows.producer.get(composition.flows.inputs[name][0])
        home = next((place for place, group in enumerate(found) if reads in group), None)
        if profile.operator(name).operator_class == "sink" and home is not None:
            found[home] = (*found[home], name)
        else:
            found.append((name,))
    return found


def _replicas(profile: Profile, groups: Sequence[Sequence[str]], given: Mapping[str, int]) -> dict[str, int]:
    problems = []
    keys = [group[0] for group in groups]
    for name, count in given.items():
        if name not in keys:
            problems.append(f"replicas names element '{name}', which is none; the elements are: {', '.join(keys)}")
        elif not is_whole(count, 1):
            problems.append(f"an element has at least one replica; got {shown(count)} for '{name}'")
        elif count > 1 and scope_of(profile, groups[keys.index(name)]) == "stream":
            problems.append(f"element '{name}' has one replica, since its operators need the whole stream; got {count}")
    if problems:
        raise InputError("\n".join(problems))
    return {name: given.get(name, 1) for name in keys}
