"""Which Configuration is in force while slots are on their way to other hosts.

A micro-batch is a barrier, so nothing may wait inside one for state to arrive.  By default the replica that has a slot
serves it until its copy on another host lags by at most one batch (docs/design/0035-live-migration.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.elements.layout import Layout
from penstock.plan.placement.moves import Moves, hosts_of_slots, moves_between
from penstock.plan.placement.placement import Packing, Placement, stayed
from penstock.runtime.migration.copier import Copier
from penstock.runtime.migration.copies import Movable
from penstock.runtime.slots.state_forms import slot_function
from penstock.runtime.slots.state_slots import can_defer, can_hold, stored_operators
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Fixed

PRE_COPY, AT_ONCE, REPLICAS_WAIT, SPLITTER_HOLDS = "pre-copy", "at once", "replicas wait", "splitter holds"
MIGRATIONS = (PRE_COPY, AT_ONCE, REPLICAS_WAIT, SPLITTER_HOLDS)


def check_migration(name: str) -> None:
    """Raises InputError where there is no such way to move slots."""
    if name not in MIGRATIONS:
        hint = did_you_mean(name, MIGRATIONS)
        raise InputError(f"slots move by one of: {', '.join(MIGRATIONS)}; got '{name}'" + (f"; {hint}" if hint else ""))


def movable_elements(fixed: Fixed, layout: Layout) -> dict[str, Movable]:
    """The elements that are placed on hosts, since they may have state."""
    graph, found = fixed.graph, {}
    for number, element in enumerate(layout.pipeline.elements):
        if number and element.scope != "none":
            slots = slot_function(fixed, element).slots
            kinds = can_defer(graph, layout, element), can_hold(graph, layout, element)
            found[element.name] = Movable(element.name, number, stored_operators(graph, layout, element), slots, *kinds)
    return found


@dataclass(frozen=True, slots=True)
class Situation:
    """What a batch is planned from, besides the plan before it; `waiting` are the elements that tuples wait for."""

    cores: Mapping[str, int]
    movables: Mapping[str, Movable]
    migration: str = PRE_COPY
    waiting: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()  # those of the waiting whose tuples the splitter has
    leaving: frozenset[str] = frozenset()  # hosts that are about to go, and serve their slots until then
    loads: Mapping[str, Sequence[float]] = field(default_factory=dict)  # work by slot when routes were last chosen
    hosts: Mapping[str, str] = field(default_factory=dict)  # by element, as somebody asked for
    paces: Mapping[str, float] = field(default_factory=dict)  # by host, how much its cores do

    def packing(self, configuration: Configuration) -> Packing:
        """What places the elements of one batch; by load where that of all of them is known."""
        routes = {name: configuration.element(name).route for name in self.movables}
        is_known = all(len(self.loads.get(name, ())) == (len(route) or 1) for name, route in routes.items())
        return Packing(self.cores, self.loads if is_known else None, self.hosts, self.paces)


@dataclass(frozen=True, slots=True)
class _Part:
    """One element in a batch; `coming` are slots to be copied before what is wanted of it can be in force."""

    own: ElementConfiguration
    placement: Placement
    coming: Moves


@dataclass(frozen=True, slots=True)
class _Unready:
    """Slots that were routed to a host before their state was there; tuples wait in replicas, or in the splitter."""

    moves: Moves
    is_held: bool


@dataclass(frozen=True, slots=True)
class _Aim:
    """Where an element goes, and from what that was chosen, but for the loads: slots on their way keep their aim."""

    own: ElementConfiguration
    at: Placement | None
    cores: Mapping[str, int]
    paces: Mapping[str, float]
    placement: Placement

    def is_of(self, own: ElementConfiguration, at: Placement | None, now: Situation) -> bool:
        same = (self.own.replicas, self.own.route) == (own.replicas, own.route)
        return same and self.at == at and (self.cores, self.paces) == (now.cores, now.paces)


class Migrator:
    """Plans each batch of one query."""

    def __init__(self, copier: Copier) -> None:
        self._copier = copier
        self._unready: dict[str, _Unready] = {}
        self._aims: dict[str, _Aim] = {}
        self._is_first = True

    def planned(self, plan: BatchPlan, before: BatchPlan | None, now: Situation) -> BatchPlan:
        """The plan with what can be in force of the Configuration that it asks for."""
        is_first, self._is_first = self._is_first, False
        is_same = before is not None and before.configuration.fused == plan.configuration.fused
        if before is not None and not is_same and now.waiting:
            # Tuples that wait do so for an element, which must not be cut otherwise before they are through.
            unchanged = replace(plan, configuration=before.configuration)
            done = self._moved(unchanged, before, now) if now.cores else self._at_once(unchanged, before, now)
            return replace(done, target=plan.configuration)
        if before is None or not now.cores or is_first or not is_same:
            # A driver that has just begun finds no rows on any host: every slot is rebuilt once, where it is to be.
            return self._at_once(plan, before, now)
        return self._moved(plan, before, now)

    def _at_once(self, plan: BatchPlan, before: BatchPlan | None, now: Situation) -> BatchPlan:
        self._unready, self._aims = {}, {}
        self._copier.want({}, set(now.cores))
        placements, packing = {}, now.packing(plan.configuration)
        if now.cores:
            for name in now.movables:
                own = plan.configuration.element(name)
                at = None if before is None else before.placements.get(name)
                placements[name] = packing.place(name, own.replicas, own.route, at)
        self._serve(placements, now)
        return replace(plan, placements=placements, released=tuple(sorted(now.held)))

    def _moved(self, plan: BatchPlan, before: BatchPlan, now: Situation) -> BatchPlan:
        packing = now.packing(plan.configuration)
        parts = {name: self._part(element, plan, before, now, packing) for name, element in now.movables.items()}
        configuration = plan.configuration
        for part in parts.values():
            configuration = configuration.with_element(part.own)
        self._copier.want(
            {now.movables[name]: {**part.coming, **self._unready_moves(name)} for name, part in parts.items()},
            set(now.cores),
        )
        self._serve({name: part.placement for name, part in parts.items()}, now)
        held = {name: tuple(sorted(own.moves)) for name, own in self._unready.items() if own.is_held}
        return replace(
            plan, configuration=configuration, placements={name: part.placement for name, part in parts.items()},
            target=plan.configuration if configuration != plan.configuration else plan.target,
            deferring=tuple(sorted(set(self._unready) - set(held))), held=held,
            released=tuple(sorted(now.held - set(held))),
        )  # fmt: skip

    def _serve(self, placements: Mapping[str, Placement], now: Situation) -> None:
        hosts = {*now.cores, *now.leaving}
        self._copier.serve({now.movables[name]: placement for name, placement in placements.items()}, hosts)

    def _part(self, element: Movable, plan: BatchPlan, before: BatchPlan, now: Situation, packing: Packing) -> _Part:
        """What is in force of one element: what is wanted where its slots are there or may be awaited, else the old."""
        own, at = plan.configuration.element(element.name), before.placements.get(element.name)
        known = self._aims.get(element.name)
        aim = known.placement if known is not None and known.is_of(own, at, now) else None
        then = packing.place(element.name, own.replicas, own.route, at, aim)
        self._aims[element.name] = _Aim(own, at, now.cores, now.paces, then)
        if at is None:
            return _Part(own, then, {})
        here = stayed(at, {**dict.fromkeys(now.leaving, 1), **now.cores})
        self._look_after(element, is_lost=here.hosts != at.hosts)
        moves, lost = moves_between(at, then, element.slots), moves_between(at, here, element.slots)
        is_forced = set(moves) <= set(lost)  # the hosts they were on are gone
        if self._must_let_go(element, now):  # before anything else happens to its slots
            moves, is_early = {}, True
        else:
            is_early = not is_forced and now.migration == PRE_COPY and not self._copier.is_ready(element, moves, lag=1)
        if is_early:
            self._await(element, here, lost, is_held=False)
            return _Part(before.configuration.element(element.name), here, moves)
        is_held = not is_forced and now.migration == SPLITTER_HOLDS and element.can_hold
        is_put_off = is_held or is_forced or now.migration == AT_ONCE
        self._await(element, then, moves if is_put_off else {}, is_held=is_held)
        return _Part(own, then, {})

    def _must_let_go(self, element: Movable, now: Situation) -> bool:
        """Whether the splitter holds tuples of an element, or has to send on what it held."""
        return element.name in now.held or (element.name in self._unready and self._unready[element.name].is_held)

    def _await(self, element: Movable, placement: Placement, moves: Moves, *, is_held: bool) -> None:
        """Has the tuples of moved slots wait for their state, with those that still do so on the same host."""
        hosts, before = hosts_of_slots(placement, element.slots), self._unready_moves(element.name)
        together = {slot: host for slot, host in before.items() if hosts[slot] == host} | dict(moves)
        is_held = is_held or (element.name in self._unready and self._unready[element.name].is_held)
        self._unready.pop(element.name, None)
        is_worth_it = bool(together) and (is_held or element.can_defer)
        if is_worth_it and not self._copier.is_ready(element, together, lag=0):
            self._unready[element.name] = _Unready(together, is_held)

    def _look_after(self, element: Movable, *, is_lost: bool) -> None:
        """Lets tuples go on whose slots have arrived; a splitter lets all go when a host was lost meanwhile."""
        own = self._unready.get(element.name)
        if own is not None and ((own.is_held and is_lost) or self._copier.is_ready(element, own.moves, lag=0)):
            del self._unready[element.name]

    def _unready_moves(self, name: str) -> Moves:
        return self._unready[name].moves if name in self._unready else {}
