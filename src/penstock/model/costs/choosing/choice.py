"""The choice of a fusion: the least predicted CPU that sustains a rate on some nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.arguments import FLAG, check_arguments, is_number, number, shown
from penstock.errors import InputError
from penstock.host.cores import own_cores
from penstock.model.costs.choosing.choice_search import searched
from penstock.model.costs.choosing.element_options import ElementOptions, Plan, best, combined
from penstock.model.costs.choosing.fusions import Ideals
from penstock.model.costs.composition import Composition
from penstock.model.costs.flows import Flows, flows_of, sources_of
from penstock.model.costs.node_speed import speed_on, speeds_on
from penstock.model.costs.prediction import GROUPS, check_groups, fixed_s
from penstock.model.costs.profile import Profile
from penstock.plan.nodes import Node, Nodes

MOST_EXACT = 12  # operators


@dataclass(frozen=True, slots=True)
class Choice:
    """A fusion, with replicas and hosts by element; `cpu_cores` of all elements, without the driver.

    `elements` can be given to `Profile.predict` as its fusion.  `exact`: every fusion was considered.

    `Profile.choose(...)` gives one.

    >>> Choice((("a", "b"), ("c",)), {"a": 2, "c": 1}, {}, 1.5, 0.2, exact=True).replicas["a"]
    2
    """

    elements: tuple[tuple[str, ...], ...]
    replicas: Mapping[str, int]
    hosts: Mapping[str, tuple[str, ...]]
    cpu_cores: float
    batch_time_s: float
    exact: bool


def choose(
    profile: Profile,
    rate: float | Mapping[str, float],
    nodes: Nodes | Node | None,
    exact: bool,
    micro_batch_s: float,
    together: Sequence[Sequence[str]],
    neighbours_cores: float = 0.0,
) -> Choice:
    """What `Profile.choose` gives: least CPU, ties by the shorter batch."""
    check_arguments(
        "Profile.choose", exact=(exact, FLAG), micro_batch_s=(micro_batch_s, number(above=0)),
        together=(together, GROUPS), neighbours_cores=(neighbours_cores, number(least=0)),
    )  # fmt: skip
    together = [[group] if isinstance(group, str) else group for group in together]
    check_groups("together", profile.names, together)
    machines = _machines(nodes)
    flows = flows_of(profile, rates_of(profile, rate))
    factor = 1.0 + profile.contention * neighbours_cores
    speeds = [speed_on(profile, None)] if nodes is None else speeds_on(profile, machines)
    compositions = [
        (group, Composition(profile, flows, speed, micro_batch_s, factor))
        for group, speed in zip(machines.groups, speeds, strict=True)
    ]
    options = ElementOptions(profile, compositions, [frozenset(group) for group in together])
    overhead_s = min(fixed_s(own) for _, own in compositions)
    limit_s = micro_batch_s - overhead_s
    is_exact = exact and len(profile.operators) <= MOST_EXACT
    plans = enumerated(options, flows, limit_s) if is_exact else searched(options, flows, limit_s)
    plan = best(plans, limit_s)
    if plan is None:
        raise InputError(_unsustainable(plans, rates_of(profile, rate), machines, micro_batch_s, overhead_s))
    order = {name: place for place, name in enumerate(profile.names)}
    own = sorted(plan.options, key=lambda option: order[option.operators[0]])
    return Choice(
        tuple(option.operators for option in own),
        {option.operators[0]: option.replicas for option in own},
        {option.operators[0]: option.hosts for option in own},
        plan.cpu_cores, plan.time_s + overhead_s, is_exact,
    )  # fmt: skip


def enumerated(options: ElementOptions, flows: Flows, limit_s: float) -> list[Plan]:
    """The plans of all fusions that no other beats in both CPU and time.

    Elements run one after the other, so that what ran so far is a set of operators with all operators before them:
    the walk over those sets meets every fusion, and keeps the best plans of each set.
    """
    ideals = Ideals(options.profile.names, flows)
    plans: dict[int, list[Plan]] = {0: [Plan((), 0.0, 0.0)]}
    for done in _by_size(ideals):
        before = plans.pop(done, None)
        if before is None:
            continue
        if done == ideals.everything:
            return before
        for element in ideals.next_elements(done):
            own = options.of(ideals.members(element))
            if own:
                known = plans.get(done | element, [])
                plans[done | element] = combined(before, own, limit_s, known)
    return []


def _by_size(ideals: Ideals) -> list[int]:
    """All sets that have the operators before each of theirs, smaller ones first."""
    found, waiting = {0}, [0]
    while waiting:
        done = waiting.pop()
        for place, before in enumerate(ideals.before):
            grown = done | 1 << place
            if grown not in found and before & ~done == 0:
                found.add(grown)
                waiting.append(grown)
    return sorted(found, key=lambda bits: (bits.bit_count(), bits))


def rates_of(profile: Profile, rate: float | Mapping[str, float]) -> dict[str, float]:
    """Rates by source: one number is dealt out as the sources' shares say, or evenly."""
    if isinstance(rate, Mapping):
        return dict(rate)
    if not is_number(rate) or rate < 0:
        raise InputError(f"a rate is a number of at least 0, in tuples/s, or one for each source; got {shown(rate)}")
    shares = dict(profile.source_shares) or dict.fromkeys(sources_of(profile), 1.0)
    total = sum(shares.values()) or 1.0
    return {name: rate * share / total for name, share in shares.items()}


def _machines(nodes: Nodes | Node | None) -> Nodes:
    if nodes is None:
        return Nodes((Node("this machine", cores=own_cores()),))
    if isinstance(nodes, Node):
        return Nodes((nodes,))
    if isinstance(nodes, Nodes):
        return nodes
    raise InputError(f"nodes of Profile.choose is what ps.costs.nodes(...) gives; got {shown(nodes)}")


def _unsustainable(
    plans: Sequence[Plan], rates: Mapping[str, float], machines: Nodes, micro_batch_s: float, overhead_s: float
) -> str:
    text = f"{sum(rates.values()):,.10g} tuples/s"
    if len(rates) > 1:
        text += f" ({', '.join(f'{name} {rate:,.10g}' for name, rate in rates.items())})"
    quickest = min((plan.time_s + overhead_s for plan in plans), default=None)
    reason = "no fusion fits" if quickest is None else f"the shortest batch takes {quickest:.3g} s"
    return (
        f"no fusion sustains {text} on {machines.cores} cores: {reason}, and a micro-batch has {micro_batch_s:g} s; "
        "give more or faster nodes, or a lower rate"
    )
