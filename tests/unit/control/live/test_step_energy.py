"""Energy of control steps: measured where the machine counts it, else the model's estimate, labelled as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.cli.journal.decisions import summary_lines
from penstock.control.control_step import ControlStep
from penstock.control.decision import Hold
from penstock.control.goals.goal import throughput
from penstock.control.journal.journal import Journal, read_journal
from penstock.control.journal.recorded_decision import RecordedDecision, judged_decisions, recorded
from penstock.control.live.micro_batch_plant import SparkPlant
from penstock.control.loop.loop import Record
from penstock.host.energy import Energy, energy_of
from penstock.model.power import PowerModel
from penstock.watch.control_lines import control_lines
from tests.unit.control.live.test_micro_batch_plant import FakeHandle, configured, observed
from tests.unit.host.test_frequency import TWO_PACKAGES, counters

CORE = "sys/class/powercap/intel-rapl:0:0/energy_uj"


def steps_of(root: Path, joules: list[float], replicas: list[int]) -> list[ControlStep]:
    """The steps of micro-batches of a second each, before the end of which the cores use some more."""
    handle = FakeHandle(configured(2))
    plant = SparkPlant(handle, cold_batches=1, patience_s=0.0, energy=energy_of(root, is_local=True)[0])
    for batch, (own, wide) in enumerate(zip(joules, replicas, strict=True)):
        file = root / CORE
        if file.exists():
            file.write_text(f"{int(file.read_text()) + round(own * 1e6)}\n")
        plant.committed(observed(batch, wide, 1.0), configured(wide))
    return list(plant._steps)


def decision(step: ControlStep) -> RecordedDecision:
    return recorded(Record(step, Hold("enough"), Hold("enough"), None), "mpc", throughput(), passive=False)


def test_a_step_has_the_joules_that_were_used_in_it_and_not_those_of_the_cold_start(tmp_path: Path) -> None:
    steps = steps_of(counters(tmp_path, TWO_PACKAGES), [100.0, 7.5, 3.0], [2, 2, 2])
    assert [step.joules for step in steps] == pytest.approx([7.5, 3.0])
    seen = decision(steps[0]).seen
    assert (seen.joules, seen.watts, seen.watts_estimated) == (pytest.approx(7.5), pytest.approx(7.5), None)
    assert dict(control_lines(decision(steps[0])))["measured"].endswith(", 7.5 W")


def test_two_steps_that_end_together_share_by_their_time(tmp_path: Path) -> None:
    counters(tmp_path, TWO_PACKAGES)
    plant = SparkPlant(FakeHandle(configured(2)), cold_batches=0, patience_s=0.0, energy=Energy(tmp_path))
    plant.committed(observed(0, 2, 0.5), configured(2))
    (tmp_path / CORE).write_text("9000000\n")
    plant.committed(observed(1, 3, 1.5), configured(3))  # the change cuts the first one short
    assert [step.joules for step in plant._steps] == pytest.approx([2.0, 6.0])


def test_a_machine_without_counters_has_an_estimate_that_says_so(tmp_path: Path) -> None:
    (step,) = steps_of(tmp_path, [0.0, 0.0], [2, 2])
    own = decision(step)
    assert (own.seen.joules, own.seen.watts) == (None, None)
    assert own.seen.watts_estimated == pytest.approx(PowerModel().watts(2, 2.0))
    assert dict(control_lines(own))["measured"].endswith(f", {own.seen.watts_estimated:.1f} W (estimated)")


def test_counters_that_go_away_leave_the_estimate(tmp_path: Path) -> None:
    counters(tmp_path, TWO_PACKAGES)
    plant = SparkPlant(FakeHandle(configured(2)), cold_batches=0, patience_s=0.0, energy=Energy(tmp_path))
    plant.committed(observed(0, 2, 1.0), configured(2))
    (tmp_path / CORE).unlink()
    plant.committed(observed(1, 2, 1.0), configured(2))
    assert [step.joules is None for step in plant._steps] == [False, True]


def test_the_journal_tells_what_was_measured_and_what_was_estimated(tmp_path: Path) -> None:
    measured = steps_of(counters(tmp_path, TWO_PACKAGES), [0.0, 8.0, 4.0], [2, 2, 2])
    (estimated,) = steps_of(tmp_path / "none", [0.0, 0.0], [4, 4])
    journal = Journal(tmp_path / "j", "prices")
    for batch, step in enumerate([*measured, estimated]):
        journal.write(observed(batch, 2), configured(2))
        journal.decide(batch, decision(step))
    lines = summary_lines(judged_decisions(read_journal(tmp_path / "j")), 0)
    assert "energy: 12 J in 2 steps, 6.0 W, measured" in lines
    assert any(line.startswith("energy: 22.8 W (estimated) in 1 step, by the model") for line in lines)


def test_why_nothing_is_measured_is_one_sentence(tmp_path: Path) -> None:
    energy, sentence = energy_of(tmp_path, is_local=True)
    assert energy is None
    assert sentence is not None
    assert sentence.startswith("this machine has no energy counters")
    assert "local master only" in str(energy_of(tmp_path, is_local=False)[1])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_counters_that_are_roots_are_told(tmp_path: Path) -> None:
    counters(tmp_path, TWO_PACKAGES)
    (tmp_path / CORE).chmod(0)
    assert "cannot be read (Permission denied)" in str(energy_of(tmp_path, is_local=True)[1])
