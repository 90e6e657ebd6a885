"""The plant over a running application: its steps equal a plain reference, and decisions meet the next micro-batch."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.goals.goal import throughput
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.live.controller import NOT_MEASURED, Controller
from penstock.control.live.frequency_dry_run import FrequencyDryRun
from penstock.control.live.frequency_setter import FrequencySetter
from penstock.control.live.micro_batch_plant import SparkPlant
from penstock.control.loop.loop import Loop
from penstock.control.routes.routing import Routing, narrowed
from penstock.control.routes.slot_loads import work_by_slot
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.batch_cap import first_pace
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.host.frequency import Frequencies
from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import ArrivalObservation, BatchTimes, Observation, ReplicaObservation, latency_of
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.spark.executors.placer import Placer
from tests.unit.host.test_frequency import ACPI, machine, value

SLOTS = 8


@dataclass
class FakeHandle:
    """An application that does as it is told at the next micro-batch."""

    configuration: Configuration
    applied: list[Configuration] = field(default_factory=list)
    beats: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)

    def apply(self, configuration: Configuration) -> None:
        self.applied.append(configuration)
        self.configuration = configuration

    def apply_cap(self, tuples: int) -> None:
        self.apply(replace(self.configuration, micro_batch_tuples=tuples))

    def clear_frequency(self) -> None:
        self.configuration = replace(self.configuration, frequency_ghz=None)

    def beat(self) -> None:
        self.beats.put(1)


@dataclass
class Notes:
    decisions: list[tuple[int, RecordedDecision]] = field(default_factory=list)
    cpu_s: float = 0.0

    def decided(self, batch: int, decision: RecordedDecision) -> None:
        self.decisions.append((batch, decision))

    def spent(self, cpu_s: float) -> None:
        self.cpu_s += cpu_s


def configured(replicas: int) -> Configuration:
    keyed = ElementConfiguration("window", replicas, even_route(replicas, SLOTS))
    return Configuration((ElementConfiguration("source", 1), keyed), micro_batch_tuples=1000)


def observed(batch: int, replicas: int, wall_s: float = 0.5, tuples: int = 600, arrived: int = 700) -> Observation:
    windows = tuple(
        ReplicaObservation(r, tuples // replicas, 10, wall_s * (0.4 if r else 0.6), 0.01, 0) for r in range(replicas)
    )
    source = ReplicaObservation(0, tuples, tuples, 0.1 * wall_s, 0.1, 0)
    return Observation(
        batch=batch, started_at_s=10.0 + batch, micro_batch_s=0.8 * wall_s, tuples_in=tuples, tuples_out=20,
        replicas_by_element={"source": (source,), "window": windows},
        latency=latency_of(sketch_of(np.array([100.0 + batch]), np.array([tuples]))), backlog_tuples=arrived - tuples,
        committed_at_s=11.0 + batch, arrivals=ArrivalObservation(arrived, wall_s),
        times=BatchTimes(0.0, wall_s, 0.0, before_s=0.2 * wall_s),
        slot_tuples_by_element={"window": (tuples,) + (0,) * (SLOTS - 1)},
    )  # fmt: skip


def reference(batches: list[tuple[Observation, int]]) -> Iterator[dict[str, object]]:
    """Steps as plainly as can be: whole micro-batches of one number of replicas, a second or more."""
    group: list[tuple[Observation, int]] = []
    for place, (observation, replicas) in enumerate(batches):
        group.append((observation, replicas))
        seconds = sum(o.micro_batch_s + (o.times.before_s or 0.0) for o, _ in group if o.times is not None)
        changes = place + 1 < len(batches) and batches[place + 1][1] != replicas
        if seconds >= 1.0 or changes:
            served = sum(o.tuples_in for o, _ in group)
            work_s = sum(r.busy_s for o, _ in group for r in o.replicas_by_element["window"])
            yield {
                "period_s": pytest.approx(seconds),
                "replicas": replicas,
                "arrived_tuples": sum(o.arrivals.tuples for o, _ in group if o.arrivals is not None),
                "served_tuples": served,
                "backlog_tuples": group[-1][0].backlog_tuples,
                "service_s": pytest.approx(work_s / served),
                "last_batch": group[-1][0].batch,
            }
            group = []


def figures(step: ControlStep) -> dict[str, object]:
    names = ("period_s", "arrived_tuples", "served_tuples", "backlog_tuples", "service_s", "last_batch")
    return {**{name: getattr(step, name) for name in names}, "replicas": step.setting.replicas}


batch_shapes = st.lists(
    st.tuples(st.integers(2, 4), st.sampled_from((0.1, 0.3, 0.5, 1.2)), st.integers(1, 2000), st.integers(0, 3000)),
    min_size=1,
    max_size=25,
)


@given(batch_shapes)
def test_steps_equal_the_reference(shapes: list[tuple[int, float, int, int]]) -> None:
    batches = [(observed(i, n, wall_s, taken, came), n) for i, (n, wall_s, taken, came) in enumerate(shapes)]
    handle = FakeHandle(configured(shapes[-1][0]))
    plant = SparkPlant(handle, single=("source",), cold_batches=0, patience_s=0.0)
    for observation, replicas in batches:
        plant.committed(observation, configured(replicas))
    wanted = list(reference(batches))
    assert [figures(step) for step in plant._steps] == wanted
    seen = [plant.observe() for _ in wanted]
    assert [figures(step) for step in seen if step is not None] == wanted


@dataclass(frozen=True, slots=True)
class Script:
    """Wants so many replicas after each step."""

    wanted: tuple[int, ...]
    name: str = "script"

    def start(self) -> int:
        return 0

    def decide(self, state: int, seen: ControlStep) -> tuple[int, Decision]:
        replicas = self.wanted[min(state, len(self.wanted) - 1)]
        same = replicas == seen.setting.replicas
        return state + 1, Hold("as it is") if same else Change(replace(seen.setting, replicas=replicas), "scripted")


def controlled(handle: FakeHandle, policy: object, **more: object) -> tuple[Controller, Notes]:
    notes, told = Notes(), more.pop("told", [])
    plant = SparkPlant(
        handle,
        cold_batches=1,
        patience_s=30.0,
        resources=more.pop("resources", None),  # type: ignore[arg-type]
        pace=more.pop("pace", None),  # type: ignore[arg-type]
        idle_s=more.pop("idle_s", 60.0),  # type: ignore[arg-type]
    )
    routing, sentences = more.pop("routing", Routing()), more.pop("sentences", None)
    loop = Loop(policy, throughput(), routing=routing, **more)  # type: ignore[arg-type]
    controller = Controller(plant, loop, notes, tell=told.append, sentences=sentences)  # type: ignore
    controller.start()
    return controller, notes


def fed(controller: Controller, handle: FakeHandle, batches: int, wall_s: float = 1.0) -> list[int]:
    """The replicas that each micro-batch ran with."""
    used = []
    for batch in range(batches):
        configuration = handle.configuration
        used.append(configuration.element("window").replicas)
        controller.committed(observed(batch, used[-1], wall_s), configuration)
    return used


def test_a_decision_is_in_force_at_the_very_next_micro_batch_and_is_noted() -> None:
    handle = FakeHandle(configured(2))
    controller, notes = controlled(handle, Script((4, 4, 3)))
    assert fed(controller, handle, 6) == [2, 2, 4, 4, 3, 3]
    controller.close()
    assert [(batch, d.setting.replicas, d.decided.replicas) for batch, d in notes.decisions[:3]] == [
        (1, 2, 4), (2, 4, 4), (3, 4, 3),
    ]  # fmt: skip
    assert notes.decisions[0][1].text == "step 1: goes from 2 replicas, cap 1000 to 4 replicas, cap 1000; scripted"
    assert notes.cpu_s > 0
    assert all(element.replicas == 1 for c in handle.applied for element in c.elements if element.name == "source")


def test_passive_control_tells_and_applies_nothing() -> None:
    handle, told = FakeHandle(configured(2)), list[str]()
    controller, notes = controlled(handle, Script((4,)), passive=True, told=told)
    assert fed(controller, handle, 4) == [2, 2, 2, 2]
    controller.close()
    assert handle.applied == []
    assert told[0] == "step 1: would go from 2 replicas, cap 1000 to 4 replicas, cap 1000; scripted"
    assert all(d.passive and not d.requested for _, d in notes.decisions)


def test_passive_control_tells_a_recommendation_once_and_again_after_another() -> None:
    handle, told = FakeHandle(configured(2)), list[str]()
    controller, notes = controlled(handle, Script((4, 4, 2, 4, 5, 5)), passive=True, told=told)
    fed(controller, handle, 8)
    controller.close()
    assert len(notes.decisions) >= 6
    assert [sentence.partition(":")[0] for sentence in told] == ["step 1", "step 4", "step 5"]


class Broken:
    name = "broken"

    def start(self) -> None: ...

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        raise ZeroDivisionError("no tuples")


def test_a_policy_that_fails_leaves_the_application_alone() -> None:
    handle, told = FakeHandle(configured(2)), list[str]()
    controller, _ = controlled(handle, Broken(), told=told)
    assert fed(controller, handle, 5) == [2] * 5
    controller.close()
    assert isinstance(controller.failure, ZeroDivisionError)
    assert told == ["control has stopped, and the application goes on as it is: no tuples"]


def test_closing_lets_a_waiting_micro_batch_go() -> None:
    handle = FakeHandle(configured(2))
    plant = SparkPlant(handle, cold_batches=0, patience_s=60.0)
    waiting = threading.Thread(target=plant.committed, args=(observed(0, 2, 1.5), configured(2)))
    waiting.start()
    plant.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert plant.observe() is None


@dataclass
class SlowExecutors:
    """Room for as many replicas as `cores`, which a test raises."""

    cores: int
    gives_up: bool = False
    executor_start_s: float | None = 4.0

    def prepare(self, configuration: Configuration) -> Configuration | None:
        if configuration.element("window").replicas <= self.cores:
            return configuration
        return narrowed(configuration, self.cores) if self.gives_up else None

    def look(self, in_force: Configuration) -> None: ...

    def close(self) -> None: ...


@dataclass
class SilentMaster:
    """A master that does not answer until a test says so, when it is looked at or asked."""

    on: str
    is_asked: threading.Event = field(default_factory=threading.Event)
    answers: threading.Event = field(default_factory=threading.Event)
    executor_start_s: float | None = None
    closed: int = 0

    def _wait(self, on: str) -> None:
        if on == self.on:
            self.is_asked.set()
            assert self.answers.wait(60)

    def prepare(self, configuration: Configuration) -> Configuration | None:
        self._wait("prepare")
        return configuration

    def look(self, in_force: Configuration) -> None:
        self._wait("look")

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("on", ["look", "prepare"])
def test_a_master_that_does_not_answer_holds_neither_micro_batches_nor_the_end(on: str) -> None:
    handle, master = FakeHandle(configured(2)), SilentMaster(on)
    plant = SparkPlant(handle, cold_batches=0, patience_s=0.05, resources=master)
    controller = Controller(plant, Loop(Script((4,)), throughput(), routing=Routing()), Notes())
    controller.start()

    def work() -> None:
        for batch in range(4):
            controller.committed(observed(batch, 2, 1.0), handle.configuration)
        controller.close(patience_s=0.05)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    assert master.is_asked.wait(30)
    worker.join(20)
    is_held = worker.is_alive()
    master.answers.set()
    worker.join(20)
    assert not is_held, "the lock was held while the master was asked"
    controller.close()
    assert handle.applied == [], "what was closed changes nothing any more"
    assert master.closed > 1, "what was taken after the end is given back"


def test_a_change_waits_for_executors_and_is_made_when_they_have_come() -> None:
    handle, executors = FakeHandle(configured(2)), SlowExecutors(2)
    controller, notes = controlled(handle, Script((4,)), resources=executors)
    assert fed(controller, handle, 4) == [2, 2, 2, 2]
    executors.cores = 4
    assert fed(controller, handle, 2) == [2, 4]
    controller.close()
    waiting = [d for _, d in notes.decisions]
    assert {d.decided.replicas for d in waiting} == {4}
    assert len(handle.applied) == 1


def test_while_a_change_waits_the_step_says_so() -> None:
    handle = FakeHandle(configured(2))
    plant = SparkPlant(handle, cold_batches=0, patience_s=0.0, resources=SlowExecutors(2))
    plant.committed(observed(0, 2, 1.5), configured(2))
    plant.observe()
    plant.apply(configured(4))
    plant.committed(observed(1, 2, 1.5), configured(2))
    step = plant.observe()
    assert step is not None
    assert (step.settled_below, step.replicas_ready, step.executor_start_s) == (False, 2, 4.0)
    assert plant.configuration == configured(4)


def test_what_will_not_come_is_done_without_and_not_tried_at_every_step() -> None:
    handle = FakeHandle(configured(2))
    controller, _ = controlled(handle, Script((6,)), resources=SlowExecutors(3, gives_up=True))
    assert fed(controller, handle, 6) == [2, 2, 3, 3, 3, 3]
    controller.close()
    assert len(handle.applied) == 1


def test_what_somebody_else_applied_is_taken_as_it_is() -> None:
    handle = FakeHandle(configured(2))
    controller, _ = controlled(handle, Script((4, 4, 4, 4)))
    assert fed(controller, handle, 3) == [2, 2, 4]
    handle.apply(configured(3))
    controller.close()
    plant = SparkPlant(handle)
    plant.apply(configured(2))
    handle.apply(configured(4))
    assert plant.configuration == configured(4)


def committed(plant: SparkPlant, observation: Observation, configuration: Configuration) -> None:
    """As the controller has it: the loop keeps the pace after each micro-batch."""
    plant.committed(observation, configuration)
    Loop(Content(), throughput()).keep_pace(plant)


def test_the_plant_leaves_the_cap_to_the_loop_and_a_passive_one_leaves_it_as_it_is() -> None:
    handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
    plant = SparkPlant(handle, patience_s=0.0, pace=first_pace(32_768))
    plant.committed(observed(0, 2, 0.5, tuples=8192), handle.configuration)
    assert (plant.cap_tuples, plant.cap_in_time) == (8192, 32_768)
    Loop(Content(), throughput(), passive=True).keep_pace(plant)
    assert plant.cap_tuples == 8192
    Loop(Content(), throughput()).keep_pace(plant)
    assert plant.cap_tuples == 32_768
    plant.close()
    assert plant.cap_in_time is None


def test_the_cap_follows_the_pace_and_a_lower_one_of_the_policy_stays() -> None:
    handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
    plant = SparkPlant(handle, patience_s=0.0, pace=first_pace(32_768))
    committed(plant, observed(0, 2, 0.5, tuples=8192), handle.configuration)
    assert handle.configuration.micro_batch_tuples == 32_768
    plant.apply(replace(handle.configuration, micro_batch_tuples=2048))
    committed(plant, observed(1, 2, 0.5, tuples=2048), handle.configuration)
    assert handle.configuration.micro_batch_tuples == 2048
    plant.apply(replace(handle.configuration, micro_batch_tuples=32_768))
    committed(plant, observed(2, 2, 9.0, tuples=20_000), handle.configuration)  # it worked for 6 s
    assert handle.configuration.micro_batch_tuples == 2048


def caps_of_full_batches(plant: SparkPlant, handle: FakeHandle, batches: int, change_at: int | None) -> list[int]:
    """The cap of each micro-batch; a policy that leaves caps alone asks for a third replica after one of them."""
    caps = []
    for batch in range(batches):
        now = handle.configuration
        caps.append(now.micro_batch_tuples)
        replicas = now.element("window").replicas
        committed(plant, observed(batch, replicas, 0.25, tuples=caps[-1]), now)
        committed(plant, observed(batch, replicas, 1.0, tuples=1), now)
        seen = plant.observe()
        if batch == change_at:
            assert seen is not None
            plant.apply(replace(configured(3), micro_batch_tuples=seen.setting.micro_batch_tuples))
    return caps


@pytest.mark.parametrize("resources", [None, 2])
def test_a_change_of_replicas_leaves_the_cap_to_the_pace(resources: int | None) -> None:
    def caps(change_at: int | None) -> list[int]:
        handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
        slow = None if resources is None else SlowExecutors(resources)
        plant = SparkPlant(
            handle,
            cold_batches=0,
            patience_s=0.0,
            pace=first_pace(8_388_608),
            resources=slow,  # type: ignore[arg-type]
        )
        first = caps_of_full_batches(plant, handle, 3, change_at)
        if slow is not None:
            slow.cores = 3
        return first + caps_of_full_batches(plant, handle, 3, None)

    assert caps(1) == caps(None) == [8192 * 4**n for n in range(6)]


def test_a_full_micro_batch_is_due_until_the_next_cap_is_found_too_high() -> None:
    handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
    plant = SparkPlant(handle, cold_batches=0, patience_s=0.0, pace=first_pace(131_072))
    committed(plant, observed(0, 2, 1.0, tuples=100), handle.configuration)  # committed at 11
    assert not plant.is_due(11.5, handle.configuration, 100)
    assert plant.is_due(11.5, handle.configuration, 8192)
    committed(plant, observed(0, 2, 0.25, tuples=8192), handle.configuration)
    assert handle.configuration.micro_batch_tuples == 32_768
    committed(plant, observed(0, 2, 1.2, tuples=32_768), handle.configuration)  # four times the work is too much
    assert not plant.is_due(11.5, handle.configuration, 32_768)
    plant.close()
    assert not plant.is_due(99.0, handle.configuration, 32_768)


class Content:
    name = "content"

    def start(self) -> None: ...

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        return None, Hold("as it is")


def test_loads_that_drift_apart_move_slots_and_nothing_else() -> None:
    handle = FakeHandle(configured(2))
    controller, notes = controlled(handle, Content())
    for batch in range(4):
        uneven = replace(observed(batch, 2, 1.0), slot_tuples_by_element={"window": (150,) * 3 + (30,) * 5})
        controller.committed(uneven, handle.configuration)
    controller.close()
    (applied,) = handle.applied
    assert [e.replicas for e in applied.elements] == [1, 2]
    loads = np.bincount(applied.element("window").route, [150.0] * 3 + [30.0] * 5)
    assert loads.max() / loads.mean() < 1.1
    moved = notes.decisions[0][1]
    assert (moved.requested, moved.moved_slots > 0, moved.decided) == (True, True, moved.setting)


def test_places_learn_the_load_with_a_change_of_routes_and_keep_it_till_the_next() -> None:
    handle, places, steps = FakeHandle(configured(2)), Placer(), list[ControlStep | None]()
    plant = SparkPlant(handle, cold_batches=0, patience_s=0.0, places=places)
    wanted = [replace(handle.configuration, micro_batch_tuples=7), configured(3), None]
    for batch, change in enumerate(wanted):
        plant.committed(observed(batch, 2, wall_s=1.0 + batch), handle.configuration)
        steps.append(plant.observe())
        if change is not None:
            plant.apply(change)
        assert bool(places.loads) == (batch > 0)
    seen = steps[1]
    assert seen is not None
    assert places.loads == work_by_slot(seen, configured(2))
    assert places.loads["window"][0] > 0


def test_a_hot_slot_is_told() -> None:
    handle = FakeHandle(configured(2))
    controller, notes = controlled(handle, Content(), rules=application_rules(useful=HighestReplicas(2, 16)))
    fed(controller, handle, 3)  # all tuples are of one slot
    controller.close()
    assert controller.advice is not None
    assert "slot 0 has 100% of the load, so that more than 1 replicas do not help" in controller.advice
    assert notes.decisions[-1][1].highest_useful_replicas == 1
    assert handle.applied == []


def test_a_hot_slot_that_can_be_split_is_split_and_not_told_of() -> None:
    handle = FakeHandle(configured(2))
    controller, _ = controlled(handle, Content(), routing=Routing(splittable=("window",)))
    for batch in range(4):
        falls_behind = observed(batch, 2, 1.0, arrived=4000)  # the busiest replica needs relief
        controller.committed(falls_behind, handle.configuration)
    controller.close()
    assert handle.applied[-1].element("window").split == (0,)
    assert controller.advice is None


def test_a_hot_slot_is_told_in_passive_mode_too() -> None:
    handle = FakeHandle(configured(2))
    controller, _ = controlled(handle, Content(), passive=True)
    fed(controller, handle, 3)
    controller.close()
    assert controller.advice is not None
    assert "slot 0 has 100% of the load" in controller.advice
    assert handle.applied == []


@dataclass(frozen=True, slots=True)
class Slower:
    """Wants one replica more at 1.5 GHz."""

    name: str = "slower"

    def start(self) -> None:
        return None

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        return state, Change(replace(seen.setting, replicas=3, frequency_ghz=1.5), "cheaper")


def test_a_dry_run_changes_replicas_and_tells_what_frequencies_would_take(tmp_path: Path) -> None:
    handle, told = FakeHandle(configured(2)), list[str]()
    dry_run = FrequencyDryRun(Frequencies(machine(tmp_path, ACPI), dry_run=True))
    controller, notes = controlled(
        handle, Slower(), told=told, keeps_frequency=lambda: True, sentences=dry_run.sentences
    )
    used = fed(controller, handle, 6)
    controller.close()
    assert controller.failure is None
    assert used[-1] == 3
    assert all(own.frequency_ghz is None for own in handle.applied)
    assert len(told) == 2
    assert "at 1.5 GHz would write 1500000 to scaling_setspeed" in told[1]
    assert {(d.wanted.frequency_ghz, d.decided.frequency_ghz) for _, d in notes.decisions} == {(1.5, None)}
    assert value(tmp_path, 0, "scaling_governor") == "ondemand"


def test_frequencies_are_in_the_configuration_while_they_are_set_and_no_longer(tmp_path: Path) -> None:
    handle, setter = FakeHandle(configured(2)), FrequencySetter(Frequencies(machine(tmp_path, ACPI)))
    controller, _ = controlled(handle, Slower(), resources=setter)
    fed(controller, handle, 4)
    assert (handle.configuration.frequency_ghz, value(tmp_path, 0, "scaling_setspeed")) == (1.5, "1500000")
    controller.close()
    assert (handle.configuration.frequency_ghz, value(tmp_path, 0, "scaling_governor")) == (None, "ondemand")
    assert handle.configuration.element("window").replicas == 3
    controller.plant.apply(replace(configured(2), frequency_ghz=1.2))  # a decision that was on its way
    assert (handle.configuration.frequency_ghz, value(tmp_path, 0, "scaling_governor")) == (None, "ondemand")


def test_a_frequency_that_cannot_be_set_is_told_once_and_replicas_are_controlled_on(tmp_path: Path) -> None:
    speed = machine(tmp_path, ACPI) / "sys/devices/system/cpu/cpu1/cpufreq/scaling_setspeed"
    speed.unlink()
    speed.symlink_to("/dev/full")
    handle, told = FakeHandle(replace(configured(2), frequency_ghz=None)), list[str]()
    setter = FrequencySetter(Frequencies(tmp_path))
    controller, notes = controlled(
        handle,
        Slower(),
        told=told,
        resources=setter,
        sentences=setter.sentences,
        keeps_frequency=lambda: setter.has_failed,
    )
    assert fed(controller, handle, 6)[-1] == 3
    controller.close()
    assert controller.failure is None
    assert len(told) == 1
    assert told[0].endswith("cores are left alone, and watts are estimated")
    assert {own.frequency_ghz for own in handle.applied} == {None}
    assert sum(d.requested for _, d in notes.decisions) == 1
    assert value(tmp_path, 0, "scaling_governor") == "ondemand"


def test_control_that_fails_gives_the_cap_back() -> None:
    handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
    controller, _ = controlled(handle, Broken(), pace=first_pace(32_768))
    for batch in range(3):
        controller.committed(observed(batch, 2, 1.0, tuples=100), handle.configuration)
    controller.close(gives_cap_back=False)
    assert isinstance(controller.failure, ZeroDivisionError)
    assert handle.configuration == replace(configured(2), micro_batch_tuples=32_768)


@pytest.mark.parametrize(("goes_on", "cap_tuples"), [(True, 32_768), (False, 8192)])
def test_control_that_is_closed_gives_the_cap_back_where_the_application_goes_on(
    goes_on: bool, cap_tuples: int
) -> None:
    handle = FakeHandle(replace(configured(2), micro_batch_tuples=8192))
    controller, _ = controlled(handle, Content(), pace=first_pace(32_768))
    controller.committed(observed(0, 2, 1.0, tuples=100), handle.configuration)
    controller.close(gives_cap_back=goes_on)
    assert handle.configuration.micro_batch_tuples == cap_tuples


def test_a_goal_that_is_not_measured_is_told_once() -> None:
    handle, told = FakeHandle(configured(2)), list[str]()
    controller, notes = controlled(handle, Content(), told=told)
    for batch in range(4):
        seen = observed(batch, 2, 1.0)
        controller.committed(replace(seen, backlog_tuples=None), handle.configuration)
    controller.close()
    assert told == [NOT_MEASURED]
    assert not any(own.measured or own.broken for _, own in notes.decisions)
