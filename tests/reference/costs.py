"""The obvious truth about costs: sums written out, and every fusion tried."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from penstock.model.costs.communication import Communication
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.resource_function import ResourceFunction, Term


def line(coefficient: float, ports: int = 1) -> ResourceFunction:
    """The same CPU for a tuple of any port."""
    return ResourceFunction(tuple(Term(tuple(int(p == q) for q in range(ports)), coefficient) for p in range(ports)))


def partitions(names: Sequence[str]) -> Iterator[list[list[str]]]:
    """Every partition of a set."""
    if not names:
        yield []
        return
    first, *rest = names
    for smaller in partitions(rest):
        for place, group in enumerate(smaller):
            yield [*smaller[:place], [first, *group], *smaller[place + 1 :]]
        yield [[first], *smaller]


def one_way(profile: Profile, groups: Sequence[Sequence[str]]) -> bool:
    """Whether some order of the elements has every reader's element after, or the same as, the producer's."""
    producer = {stream: own.name for own in profile.operators for stream in own.outputs}
    edges = [(producer[s], own.name) for own in profile.operators for s in own.inputs or () if s in producer]
    for order in itertools.permutations(range(len(groups))):
        place = {name: order[number] for number, group in enumerate(groups) for name in group}
        if all(place[start] <= place[end] for start, end in edges):
            return True
    return False


def random_profile(seed: int, operators: int, *, shape: str = "any") -> Profile:
    """Operators that read one or two earlier streams; costs, ratios and scopes by chance."""
    chance = random.Random(seed)
    found = [OperatorCost("s", line(chance.uniform(1e-7, 1e-6)), {"s": line(1.0)}, ())]
    for number in range(1, operators):
        before = [own.name for own in found]
        ports = 2 if shape == "any" and len(before) > 1 and chance.random() < 0.3 else 1
        inputs = (before[-1],) if shape == "chain" else tuple(chance.sample(before, ports))
        name = f"o{number}"
        found.append(
            OperatorCost(
                name,
                line(10 ** chance.uniform(-7, -5), len(inputs)),
                {name: line(chance.choice([0.1, 0.5, 1.0]), len(inputs))},
                inputs,
                scope=chance.choice(["none", "none", "key", "stream"]),
                by=("k",),
                bytes_per_tuple={name: chance.choice([8.0, 80.0])},
            )
        )
    table = Communication((8.0, 80.0), (1e6, 4e5), (0.9, 1.0), (0.4, 0.7))
    return Profile(tuple(found), FixedCosts(0.05, 0.01, 2e-4), table)
