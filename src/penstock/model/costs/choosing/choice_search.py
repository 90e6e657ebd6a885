"""A search for a good fusion of many operators: the best cuts of one order of the operators after another."""

from __future__ import annotations

import random
from collections.abc import Sequence

from penstock.model.costs.choosing.element_options import ElementOptions, Plan, best, combined
from penstock.model.costs.choosing.fusions import Ideals
from penstock.model.costs.flows import Flows

_ORDERS = 24  # drawn at first
_STARTS = 4  # the best of them, each of which is improved
_MOVES = 300  # tried from each
_IDLE_MOVES = 60  # in a row that find nothing better
_WORSE_SHARE = 0.1  # of moves that make it worse: they are taken, out of a dead end

Key = tuple[bool, float, float]


def searched(options: ElementOptions, flows: Flows, limit_s: float, seed: int = 1) -> list[Plan]:
    """Good plans.

    Every fusion is a way to cut some topological order into pieces, and the best cuts of one order take n^2 / 2
    elements: the search draws orders, then moves operators, one or a few at once, in the best of them while that helps.
    """
    ideals, chance = Ideals(options.profile.names, flows), random.Random(seed)
    count = len(ideals.names)
    drawn = [tuple(range(count)), *(_drawn(ideals, chance) for _ in range(_ORDERS))]
    scored = [_scored(options, ideals, order, limit_s) for order in dict.fromkeys(drawn)]
    starts = sorted(scored, key=lambda own: own[0])[:_STARTS]
    found = [_improved(options, ideals, own, limit_s, chance) for own in starts]
    return min(found, key=lambda own: own[0])[2]


Scored = tuple[Key, tuple[int, ...], list[Plan]]  # an order with the best plans of its cuts


def _scored(options: ElementOptions, ideals: Ideals, order: tuple[int, ...], limit_s: float) -> Scored:
    plans = best_cuts(options, ideals, order, limit_s)
    return _score(plans, limit_s), order, plans


def _improved(options: ElementOptions, ideals: Ideals, start: Scored, limit_s: float, chance: random.Random) -> Scored:
    """The best of what moves lead to from an order."""
    found = at = start
    idle = 0
    for _ in range(_MOVES):
        if idle >= _IDLE_MOVES:
            break
        moved = _grouped(ideals, at[1], at[2], chance)
        for _ in range(chance.choice((1, 1, 2, 4))):
            moved = _moved(ideals, moved, chance)
        own = _scored(options, ideals, moved, limit_s)
        idle = 0 if own[0] < found[0] else idle + 1
        if own[0] <= at[0] or chance.random() < _WORSE_SHARE:
            at = own
        found = min(found, own, key=lambda each: each[0])
    return found


def best_cuts(options: ElementOptions, ideals: Ideals, order: Sequence[int], limit_s: float) -> list[Plan]:
    """The best plans of all ways to cut an order into elements."""
    plans: list[list[Plan]] = [[Plan((), 0.0, 0.0)]]
    for end in range(1, len(order) + 1):
        found: list[Plan] = []
        bits = 0
        for start in range(end - 1, -1, -1):
            bits |= 1 << order[start]
            own = options.of(ideals.members(bits))
            if own and plans[start]:
                found = combined(plans[start], own, limit_s, found)
        plans.append(found)
    return plans[-1]


def _score(plans: Sequence[Plan], limit_s: float) -> Key:
    """Lower is better: plans within the limit, then CPU, then time."""
    plan = best(plans, limit_s)
    if plan is not None:
        return False, plan.cpu_cores, plan.time_s
    return True, min((own.time_s for own in plans), default=float("inf")), 0.0


def _drawn(ideals: Ideals, chance: random.Random) -> tuple[int, ...]:
    """A topological order by chance: every other one goes on with a reader of the last operator where it can."""
    done, order, deep = 0, list[int](), chance.random() < 0.5
    while len(order) < len(ideals.names):
        ready = [n for n, before in enumerate(ideals.before) if not done >> n & 1 and before & ~done == 0]
        after = [n for n in ready if order and ideals.before[n] >> order[-1] & 1] if deep else []
        own = chance.choice(after or ready)
        order.append(own)
        done |= 1 << own
    return tuple(order)


def _grouped(ideals: Ideals, order: tuple[int, ...], plans: Sequence[Plan], chance: random.Random) -> tuple[int, ...]:
    """The same fusion with its elements in another order, by chance, so that a move finds other neighbours."""
    if not plans or chance.random() < 0.5:
        return order
    place = {name: number for number, name in enumerate(ideals.names)}
    groups = [sum(1 << place[name] for name in own.operators) for own in plans[0].options]
    done, found = 0, list[int]()
    while groups:
        ready = [g for g in groups if all(ideals.before[n] & ~(done | g) == 0 for n in _bits(g))]
        own = chance.choice(ready)
        groups.remove(own)
        found += _bits(own)
        done |= own
    return tuple(found)


def _moved(ideals: Ideals, order: tuple[int, ...], chance: random.Random) -> tuple[int, ...]:
    """One operator at another place that keeps the order topological."""
    own = chance.choice(order)
    rest = [number for number in order if number != own]
    before = ideals.before[own]
    first = max((place + 1 for place, n in enumerate(rest) if before >> n & 1), default=0)
    last = min((place for place, n in enumerate(rest) if ideals.before[n] >> own & 1), default=len(rest))
    where = chance.randint(first, last)
    return (*rest[:where], own, *rest[where:])


def _bits(value: int) -> list[int]:
    return [number for number in range(value.bit_length()) if value >> number & 1]
