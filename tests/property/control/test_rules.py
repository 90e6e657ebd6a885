"""The rules after a policy decide as the stages did that the loop had before them, step by step."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Decision, Expectation, Hold
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.rules.rule import resumed, ruled
from penstock.control.rules.useful_replicas import CpuShares, HighestReplicas
from penstock.control.setting import Setting
from tests.reference import staged_rules

settings = st.builds(
    Setting, st.integers(1, 12), st.sampled_from((None, 1.2, 2.0)), st.sampled_from((1000, 4000, 16_000))
)
expectations = st.builds(Expectation, st.sampled_from((None, 10.0)), st.sampled_from((None, 20.0)))
decisions = st.one_of(
    st.builds(Change, settings, st.just("more"), expectations), st.builds(Hold, st.just("enough"), expectations)
)
elements = st.builds(
    ElementLoad, st.sampled_from(("burn", "ask", "whole")), st.integers(1, 8), st.just(100.0), st.just(100.0),
    st.floats(0.0, 5.0), cpu_s=st.one_of(st.just(0.0), st.floats(1e-6, 5.0)), stalled_s=st.floats(0.0, 1.0),
)  # fmt: skip
steps = st.builds(
    ControlStep, step=st.just(0), ended_at_s=st.just(0.0), period_s=st.sampled_from((0.5, 1.0, 4.0)), setting=settings,
    arrived_tuples=st.floats(0, 1e4), served_tuples=st.floats(0, 1e4), backlog_tuples=st.floats(0, 1e4),
    busy_ratio=st.just(0.5), service_s=st.sampled_from((None, 0.0, 1e-4, 1e-3)), imbalance=st.floats(0.5, 3.0),
    waiting_ratio=st.floats(0.0, 1.0), reconfigured=st.booleans(), settled_below=st.booleans(),
    elements=st.lists(elements, max_size=3, unique_by=lambda own: own.name).map(tuple),
    highest_cap_tuples=st.sampled_from((None, 1000, 4000)), requested=settings, goal_broken=st.booleans(),
    frequency_fixed=st.booleans(), paused=st.integers(0, 9).map(lambda n: n == 0),
)  # fmt: skip
guards = st.fixed_dictionaries({"patience_steps": st.integers(1, 5), "reversals": st.integers(1, 4)})
bounds = st.one_of(st.none(), st.builds(Bounds, st.integers(1, 4), st.integers(4, 12)))


@given(st.lists(st.tuples(steps, decisions), max_size=25), guards, bounds, st.booleans(), st.booleans())
def test_rules_decide_as_the_stages_did(
    turns: list[tuple[ControlStep, Decision]], guard: dict[str, int], within: Bounds | None, useful: bool, guarded: bool
) -> None:
    single, cores, task_slots = frozenset({"whole"}), 2, 8
    rules = application_rules(
        Guard(**guard) if guarded else None, bounds=within,
        useful=HighestReplicas(cores, task_slots, single) if useful else None,
    )  # fmt: skip
    expected_highest = staged_rules.HighestReplicas(cores, task_slots, single) if useful else None
    expected_guard = staged_rules.Guard(**guard) if guarded else None
    shares, state = CpuShares(), staged_rules.GuardState()
    for number, (drawn, wanted) in enumerate(turns):
        shares = shares.learn(drawn.elements)
        seen = replace(drawn, step=number, cpu_share_by_element=shares.by_element)
        assert seen.requested is not None
        state, decided, names = staged_rules.staged(
            state, seen, wanted, shares, seen.requested, keeps_frequency=seen.frequency_fixed, bounds=within,
            highest=expected_highest, paused=seen.paused, guard=expected_guard, broken=seen.goal_broken,
        )  # fmt: skip
        after = ruled(rules, seen, wanted)
        assert after.decision == decided
        assert tuple(change.rule for change in after.changes) == names
        rules = after.rules


@given(st.lists(st.tuples(steps, decisions), max_size=10))
def test_each_change_goes_on_from_the_one_before_and_ends_in_the_decision(
    turns: list[tuple[ControlStep, Decision]],
) -> None:
    rules = application_rules(Guard(), bounds=Bounds(2, 6), useful=HighestReplicas(2, 8))
    for seen, wanted in turns:
        after = ruled(rules, seen, wanted)
        at = wanted
        for change in after.changes:
            assert change.before == at != change.after
            at = change.after
        assert at == after.decision
        rules = after.rules


def test_another_loop_goes_on_from_what_the_guard_remembers() -> None:
    seen = ControlStep(3, 3.0, 1.0, Setting(4), 10.0, 10.0, 5.0, 0.5)
    before = ruled(application_rules(Guard()), seen, Change(Setting(6), "more")).rules
    rules = resumed(application_rules(Guard(patience_steps=9), bounds=Bounds(1, 8)), before)
    names = ["waiting is not measured", "micro-batch pace", "frequency left alone", "limits", "paused", "guard"]
    assert [rule.name for rule in rules] == names
    guard, known = rules[-1], before[-1]
    assert isinstance(guard, Guard)
    assert isinstance(known, Guard)
    assert (guard.patience_steps, guard.memory) == (9, known.memory)
    assert [turn.after for turn in guard.memory.turns] == [6]
