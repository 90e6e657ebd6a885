"""Frequencies that cannot be set: told in a sentence, cores as they were found, and control goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.control.decision import Hold
from penstock.control.live.frequency_setter import FrequencySetter, frequencies_within
from penstock.control.loop.loop import Record
from penstock.errors import InputError
from penstock.host.frequency import Frequencies
from penstock.plan.configuration import Configuration
from tests.unit.control.loop.test_loop import step
from tests.unit.host.test_frequency import ACPI, PSTATE, machine, value

AT_1_5, AT_1_2 = Configuration((), frequency_ghz=1.5), Configuration((), frequency_ghz=1.2)
TURN = Record(step(1), Hold("enough"), Hold("enough"), None)


def refused(root: Path, core: int, name: str) -> None:
    """A file that cannot be opened for writing, by root neither."""
    path = root / f"sys/devices/system/cpu/cpu{core}/cpufreq/{name}"
    path.unlink()
    path.mkdir()


def full(root: Path, core: int, name: str) -> None:
    """A file that can be opened, and takes no value."""
    path = root / f"sys/devices/system/cpu/cpu{core}/cpufreq/{name}"
    path.unlink()
    path.symlink_to("/dev/full")


def test_without_rights_one_sentence_says_so_at_the_start_and_nothing_is_written(tmp_path: Path) -> None:
    refused(machine(tmp_path, ACPI), 1, "scaling_setspeed")
    found, sentence = frequencies_within((1.2, 1.5), is_local=True, root=tmp_path)
    assert found is None
    assert sentence is not None
    assert "cpu1/cpufreq/scaling_setspeed' cannot be written (Is a directory)" in sentence
    assert sentence.endswith("it takes root's rights; cores are left alone, and watts are estimated")
    assert value(tmp_path, 0, "scaling_governor") == "ondemand"


def test_only_files_that_would_be_written_need_rights_and_none_in_a_dry_run(tmp_path: Path) -> None:
    refused(machine(tmp_path, PSTATE), 0, "scaling_setspeed")  # its driver has no userspace governor
    assert frequencies_within((1.2,), is_local=True, root=tmp_path)[1] is None
    refused(machine(tmp_path / "other", ACPI), 0, "scaling_setspeed")
    assert frequencies_within((1.2,), is_local=True, dry_run=True, root=tmp_path / "other")[1] is None


def test_looking_for_rights_changes_no_file(tmp_path: Path) -> None:
    found = Frequencies(machine(tmp_path, ACPI))
    found.check_rights()
    assert {name: value(tmp_path, 1, name) for name in ACPI} == ACPI


def test_a_write_that_fails_half_way_is_taken_back_told_once_and_not_tried_again(tmp_path: Path) -> None:
    full(machine(tmp_path, ACPI), 1, "scaling_setspeed")
    found, _ = frequencies_within((1.2, 1.5), is_local=True, root=tmp_path)
    assert found is not None
    setter = FrequencySetter(found)
    assert setter.prepare(AT_1_5) == Configuration(())
    assert setter.has_failed
    assert [value(tmp_path, core, "scaling_governor") for core in (0, 1)] == ["ondemand", "ondemand"]
    (sentence,) = setter.sentences(TURN)
    assert "cpu1/cpufreq/scaling_setspeed' cannot be written (No space left on device)" in sentence
    assert setter.prepare(AT_1_2) == Configuration(())
    assert setter.sentences(TURN) == []
    assert value(tmp_path, 0, "scaling_setspeed") == "1500000"  # and not 1.2 GHz
    setter.close()


def test_cores_that_cannot_be_given_back_are_told_and_the_others_are(tmp_path: Path) -> None:
    setter = FrequencySetter(Frequencies(machine(tmp_path, ACPI)))
    setter.prepare(AT_1_5)
    full(tmp_path, 0, "scaling_governor")
    setter.close()
    assert value(tmp_path, 1, "scaling_governor") == "ondemand"
    (sentence,) = setter.sentences(TURN)
    assert sentence.startswith("cores are not all as they were found: ")


def test_restoring_goes_on_past_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    frequencies = Frequencies(machine(tmp_path, ACPI))
    frequencies.set_ghz(1.3)
    full(tmp_path, 0, "scaling_governor")
    with pytest.raises(InputError, match="cpu0/cpufreq/scaling_governor' cannot be written"):
        frequencies.restore()
    assert value(tmp_path, 1, "scaling_governor") == "ondemand"
