"""What is in force while slots move: by the hosts there are, the way that was chosen, and how far copies have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.placement.moves import moves_between, slots_by_host
from penstock.plan.placement.placement import Packing, Placement, stayed
from penstock.runtime.migration import copies
from penstock.runtime.migration.copier import Copier
from penstock.runtime.migration.copies import Movable, Portion, Published
from penstock.runtime.migration.migration import (
    AT_ONCE,
    PRE_COPY,
    REPLICAS_WAIT,
    SPLITTER_HOLDS,
    Migrator,
    Situation,
    check_migration,
)
from penstock.runtime.migration.stale_copies import RETENTION_S, Leftover, Leftovers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.entries import ENTRY
from penstock.state.checkpoint.ledger import Ledger

SLOTS = 8
BOTH = {"a": 2, "b": 2}
WINDOW = Movable("window", 1, ("window",), SLOTS, can_defer=True, can_hold=True)
ORDERED = replace(WINDOW, can_defer=False, can_hold=False)


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "SMALL_BYTES", 0)


def configuration(*route: int) -> Configuration:
    own = ElementConfiguration("window", max(route) + 1, route)
    return Configuration((ElementConfiguration("read", 1), own))


OLD, NEW = configuration(0, 0, 0, 0, 1, 1, 1, 1), configuration(0, 0, 0, 1, 1, 1, 1, 0)  # slots 3 and 7 change host


class Scene:
    """Batches of a query whose every slot changes in every batch; copies are run by hand."""

    def __init__(self, element: Movable = WINDOW) -> None:
        self.element, self.batch, self.ledger = element, -1, Ledger.empty(SLOTS)
        self.portions: list[Portion] = []
        self.now_s, self.released = 0.0, list[Leftover]()
        self.copier = Copier(self._run, self._release, clock=lambda: self.now_s)
        self.migrator = Migrator(self.copier)
        self.before: BatchPlan | None = None
        self.changes: tuple[int, ...] = tuple(range(SLOTS))

    def plan(
        self, wanted: Configuration, way: str = PRE_COPY, cores: Mapping[str, int] = BOTH, **now: Any
    ) -> BatchPlan:
        self.batch += 1
        draft = BatchPlan(self.batch, 1, self.batch - 1 if self.batch else None, wanted)
        situation = Situation(cores, {"window": self.element}, way, **now)
        self.before = self.migrator.planned(draft, self.before, situation)
        entries = np.zeros(len(self.changes), ENTRY)
        entries["slot"], entries["batch"], entries["epoch"], entries["length"] = self.changes, self.batch, 1, 100
        self.ledger = self.ledger.after(entries)
        self.copier.published(Published(self.batch, {"window": self.ledger}))
        return self.before

    def _release(self, leftover: Leftover) -> Mapping[str, Any]:
        self.released.append(leftover)
        return leftover.slots_by_host

    @property
    def newest_released(self) -> dict[str, list[int]]:
        return {host: list(slots) for host, slots in self.released[-1].slots_by_host.items()}

    def _run(self, portion: Portion) -> Mapping[str, Any]:
        self.portions.append(portion)
        return portion.slots_by_host


def begun(element: Movable = WINDOW) -> Scene:
    scene = Scene(element)
    for _ in range(3):
        plan = scene.plan(OLD)
    assert plan.placements["window"].hosts == ("a", "b")
    return scene


def test_slots_that_change_host_are_those_of_moved_replicas_and_routes() -> None:
    before, after = Placement(("a", "b"), ("a", "b"), (0, 0, 1)), Placement(("b", "b"), ("b", "b"), (0, 1, 1))
    assert moves_between(before, after, 3) == {0: "b", 1: "b"}
    assert moves_between(Placement(("a",), ("a",)), Placement(("b",), ("b",)), 2) == {0: "b", 1: "b"}
    assert slots_by_host({4: "a", 1: "b", 2: "a"}) == {"a": [2, 4], "b": [1]}


def test_who_stays_leaves_only_a_host_that_is_gone() -> None:
    before = Placement(("a", "a", "b"), ("a", "a", "b"), (0, 1, 2))
    assert stayed(before, {"a": 2, "b": 2, "c": 2}) == before
    assert stayed(before, {"a": 2}).hosts == ("a", "a", "a")
    assert stayed(before, {"a": 2}).homes == before.homes


def test_the_old_route_stays_until_the_copy_lags_by_one_batch() -> None:
    scene = begun()
    first = scene.plan(NEW)
    assert first.configuration == OLD
    assert first.target == NEW
    assert scene.copier.step()
    assert [(p.batch, {h: list(s) for h, s in p.slots_by_host.items()}) for p in scene.portions] == [
        (3, {"a": [7], "b": [3]})
    ]
    second = scene.plan(NEW)  # the copy has batch 3, and batch 3 is the newest
    assert second.configuration == NEW
    assert (second.target, second.deferring, second.held) == (None, (), {})


def test_slots_on_their_way_keep_their_aim_whatever_the_load_becomes() -> None:
    scene, even = begun(), {"window": [1.0] * SLOTS}
    four = configuration(0, 1, 2, 3, 0, 1, 2, 3)  # half of every replica's slots lie on each host
    first = scene.plan(four, loads=even)
    assert first.target == four
    aim = scene.migrator._aims["window"].placement
    others = {"window": [9.0, 9.0, 1.0, 1.0] * 2}, {"window": [9.0, 1.0, 9.0, 1.0] * 2}
    fresh = {Packing(BOTH, loads).place("window", 4, (0, 1, 2, 3) * 2, first.placements["window"]) for loads in others}
    assert fresh != {aim}, "another load would have them go elsewhere"
    for loads in others:
        scene.plan(four, loads=loads)
        assert scene.migrator._aims["window"].placement == aim


def test_a_copy_that_is_two_batches_behind_is_not_there_yet() -> None:
    scene = begun()
    scene.plan(NEW)
    scene.copier.step()
    scene.copier.want({}, set(BOTH))  # so that what follows is not known to be copied
    assert scene.plan(NEW).configuration == OLD
    assert scene.plan(NEW).configuration == OLD
    scene.copier.step()
    assert scene.plan(NEW).configuration == NEW


def test_slots_that_move_within_a_host_are_in_force_at_once() -> None:
    scene = begun()
    plan = scene.plan(configuration(0, 0, 2, 2, 1, 1, 3, 3))
    assert plan.configuration.element("window").replicas == 4
    assert plan.target is None
    assert not scene.copier.step()


def test_at_once_replicas_put_off_the_tuples_of_slots_until_they_have_come() -> None:
    scene = begun()
    plan = scene.plan(NEW, AT_ONCE)
    assert plan.configuration == NEW
    assert plan.deferring == ("window",)
    scene.changes = (0, 1, 2, 4, 5, 6)  # no slot that waits changes
    assert scene.plan(NEW).deferring == ("window",)
    scene.copier.step()
    assert scene.plan(NEW).deferring == ()


def test_replicas_that_wait_put_nothing_off() -> None:
    plan = begun().plan(NEW, REPLICAS_WAIT)
    assert (plan.configuration, plan.deferring, plan.held, plan.target) == (NEW, (), {}, None)


def test_a_splitter_holds_until_slots_have_come_and_lets_all_go_then() -> None:
    scene = begun()
    plan = scene.plan(NEW, SPLITTER_HOLDS)
    assert (plan.configuration, plan.held, plan.deferring) == (NEW, {"window": (3, 7)}, ())
    scene.changes = (0, 1, 2, 4, 5, 6)
    held = {"waiting": frozenset({"window"}), "held": frozenset({"window"})}
    later = scene.plan(OLD, REPLICAS_WAIT, **held)
    assert (later.configuration, later.held, later.released) == (NEW, {"window": (3, 7)}, ())
    scene.copier.step()
    last = scene.plan(NEW, SPLITTER_HOLDS, **held)
    assert (last.held, last.released) == ({}, ("window",))


def test_where_order_is_kept_nothing_is_put_off() -> None:
    for way in (AT_ONCE, SPLITTER_HOLDS):
        plan = begun(ORDERED).plan(NEW, way)
        assert (plan.configuration, plan.deferring, plan.held) == (NEW, (), {})


def test_a_lost_host_puts_off_its_own_slots_and_others_go_on() -> None:
    scene = begun()
    plan = scene.plan(OLD, cores={"a": 2})
    assert plan.placements["window"].hosts == ("a", "a")
    assert plan.deferring == ("window",)
    scene.changes = (0, 1, 2, 3)
    scene.copier.step()
    assert {h: list(s) for h, s in scene.portions[-1].slots_by_host.items()} == {"a": [4, 5, 6, 7]}
    assert scene.plan(OLD, cores={"a": 2}).deferring == ()
    scene.changes = tuple(range(SLOTS))
    back = scene.plan(OLD)  # the host is there again, and lacks some batches
    assert back.placements["window"].hosts == ("a", "a")
    scene.copier.step()
    assert scene.plan(OLD).placements["window"].hosts == ("a", "b")


def test_a_host_lost_while_slots_move_takes_only_its_own_along() -> None:
    scene = begun()
    scene.plan(NEW)
    plan = scene.plan(NEW, cores={"b": 2})
    assert plan.placements["window"].hosts == ("b", "b")
    assert plan.deferring == ("window",)


def test_a_copy_that_fails_again_and_again_is_not_waited_for() -> None:
    scene = begun()
    scene.plan(NEW)

    def fails(portion: Portion) -> Mapping[str, Any]:
        raise OSError("no such file")

    scene.copier._run = fails
    for _ in range(6):
        assert scene.copier.step()
    assert scene.plan(NEW).configuration == NEW


def test_another_fusion_waits_for_tuples_that_wait() -> None:
    scene = begun()
    other = replace(OLD, unfused=("window",))
    plan = scene.plan(other, waiting=frozenset({"window"}))
    assert (plan.configuration, plan.target) == (OLD, other)
    assert scene.plan(other).configuration == other


def test_another_fusion_with_other_elements_waits_too_and_on_a_local_master() -> None:
    scene = begun()
    apart = replace(OLD.elements[1], name="second")
    other = Configuration((*OLD.elements, apart), unfused=("second",))
    for cores in (BOTH, {}):
        draft = BatchPlan(scene.batch + 1, 1, scene.batch, other)
        now = Situation(cores, {"window": WINDOW}, waiting=frozenset({"window"}))  # of the fusion there is
        plan = scene.migrator.planned(draft, scene.before, now)
        assert (plan.configuration, plan.target) == (OLD, other)


def test_a_new_driver_goes_on_with_what_was_wanted() -> None:
    scene = begun()
    scene.plan(NEW)
    again = Migrator(Copier(lambda portion: {}, lambda leftover: None))
    plan = again.planned(BatchPlan(9, 2, 8, NEW), scene.before, Situation(BOTH, {"window": WINDOW}))
    assert plan.configuration == NEW


def test_without_hosts_to_choose_from_everything_is_at_once() -> None:
    scene = Scene()
    for wanted in (OLD, NEW):
        plan = scene.plan(wanted, cores={})
        assert (plan.configuration, plan.placements) == (wanted, {})


def test_a_way_that_there_is_not() -> None:
    with pytest.raises(InputError, match=r"slots move by one of: pre-copy, .*; got 'precopy'; did you mean 'pre-copy'"):
        check_migration("precopy")


def test_portions_are_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PORTION_BYTES", 250)
    state, wanted = _copies_of_all()
    sizes = []
    while (portion := state.next_portion(wanted)) is not None:
        sizes.append(len(portion.slots_by_host["b"]))
        state.note(portion, portion.slots_by_host)
    assert sizes == [3, 3, 2]


def test_a_copy_gives_way_and_pushes_where_it_gets_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PORTION_BYTES", 100)
    state, wanted = _copies_of_all()
    found = []
    for took_s in (0.1, 10.0, 0.1, 10.0, 10.0, 10.0, 10.0, 0.1):
        portion = state.next_portion(wanted)
        assert portion is not None
        found.append(portion.niceness)
        state.note(portion, portion.slots_by_host, took_s)
    assert found == [19, 19, 9, 9, 4, 2, 1, 0]


def _copies_of_all() -> tuple[copies.Copies, Published]:
    state = copies.Copies()
    state.want({WINDOW: dict.fromkeys(range(SLOTS), "b")}, set(BOTH))
    return state, Published(9, {"window": Ledger.empty(SLOTS).after(_entries(range(SLOTS), 9))})


def _entries(slots: Any, batch: int) -> Any:
    entries = np.zeros(len(slots), ENTRY)
    entries["slot"], entries["batch"], entries["epoch"], entries["length"] = list(slots), batch, 1, 100
    return entries


def tidied() -> Scene:
    """A scene whose hosts have nothing but what they serve."""
    scene = begun()
    assert not scene.copier.tidy()
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert scene.newest_released == {"a": [4, 5, 6, 7], "b": [0, 1, 2, 3]}, "hosts that are new may have any"
    assert not scene.copier.tidy()
    return scene


def test_slots_that_went_to_another_host_are_kept_for_a_while_and_released_then() -> None:
    scene = tidied()
    scene.plan(NEW)
    scene.copier.step()
    assert scene.plan(NEW).configuration == NEW
    scene.now_s += RETENTION_S - 1
    scene.plan(NEW)
    assert not scene.copier.tidy()
    scene.now_s += 1
    assert scene.copier.tidy()
    assert scene.newest_released == {"a": [3], "b": [7]}
    assert scene.released[-1].batch == 3, "the newest when they left: what changes later is in use"
    scene.now_s += 10 * RETENTION_S
    scene.plan(NEW)
    assert not scene.copier.tidy(), "once is enough"


def test_slots_that_come_back_in_time_are_not_released() -> None:
    scene = tidied()
    scene.plan(NEW)
    scene.copier.step()
    scene.plan(NEW)
    scene.now_s += RETENTION_S / 2
    scene.plan(OLD)  # on their way back
    scene.now_s += RETENTION_S
    assert not scene.copier.tidy()
    scene.copier.step()
    assert scene.plan(OLD).configuration == OLD
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert scene.newest_released == {"a": [7], "b": [3]}


def test_what_was_released_counts_as_copied_no_more() -> None:
    scene = tidied()
    third = configuration(0, 0, 0, 1, 0, 1, 1, 1)  # slots 3 and 4
    scene.plan(NEW)
    scene.copier.step()
    scene.plan(third)  # 7 is on host a for nothing now; 4 is yet to come, so copying goes on
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert scene.newest_released == {"a": [7]}
    assert scene.plan(NEW).configuration == OLD, "7 is to be copied anew"


def test_a_release_that_fails_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(leftover: Leftover) -> Mapping[str, Any]:
        failed.append(leftover)
        raise OSError("no executor")

    failed = list[Leftover]()
    scene = tidied()
    monkeypatch.setattr(scene.copier, "_release", fails)
    scene.plan(NEW, REPLICAS_WAIT)
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert not scene.copier.tidy()
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert len(failed) == 2


def test_slots_that_a_task_had_when_others_were_released_are_tried_again() -> None:
    scene = tidied()
    scene.copier._release = lambda leftover: {host: slots[:0] for host, slots in leftover.slots_by_host.items()}
    scene.plan(NEW, REPLICAS_WAIT)
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()


def test_a_host_that_comes_back_may_have_anything() -> None:
    scene = tidied()
    scene.plan(NEW, REPLICAS_WAIT)
    scene.plan(NEW, cores={"a": 2})
    scene.now_s += RETENTION_S
    scene.plan(NEW)
    assert not scene.copier.tidy(), "of b nothing is known any more"
    scene.now_s += RETENTION_S
    assert scene.copier.tidy()
    assert 7 in scene.newest_released["b"]


def test_many_slots_are_released_some_at_a_time() -> None:
    leftovers, element = Leftovers(), replace(WINDOW, slots=80)
    leftovers.note({element: {"a": list(range(80)), "b": []}}, {"a", "b"}, 0.0, 0)
    counts = []
    while (due := leftovers.due(RETENTION_S)) is not None:
        counts.append(sum(len(slots) for slots in due.slots_by_host.values()))
        leftovers.released(element, due.slots_by_host)
    assert counts == [32, 32, 16]


def test_an_operator_without_a_key_has_one_slot_whatever_its_element_has() -> None:
    scene = begun()
    scene.ledger = Ledger.empty(1)
    scene.changes = (0,)
    published = Published(9, {"window": scene.ledger})
    copied = copies.Copies()
    assert copied.is_ready(WINDOW, {0: "b", 5: "b"}, published, 0)
