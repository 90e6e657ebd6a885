"""Frequencies and energy against directory trees as the kernel makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.host.energy import Energy
from penstock.host.frequency import Frequencies

ACPI = {
    "cpuinfo_min_freq": "1200000", "cpuinfo_max_freq": "2000000", "scaling_min_freq": "1200000",
    "scaling_max_freq": "2000000", "scaling_cur_freq": "1800000", "scaling_governor": "ondemand",
    "scaling_available_governors": "conservative ondemand userspace powersave performance",
    "scaling_available_frequencies": "2000000 1900000 1800000 1700000 1600000 1500000 1400000 1300000 1200000",
    "scaling_setspeed": "<unsupported>",
}  # fmt: skip
PSTATE = {
    "cpuinfo_min_freq": "800000", "cpuinfo_max_freq": "3500000", "scaling_min_freq": "800000",
    "scaling_max_freq": "3500000", "scaling_cur_freq": "2400000", "scaling_governor": "powersave",
    "scaling_available_governors": "performance powersave", "scaling_setspeed": "<unsupported>",
}  # fmt: skip


def machine(root: Path, files: dict[str, str], cores: int = 2) -> Path:
    for core in range(cores):
        directory = root / f"sys/devices/system/cpu/cpu{core}/cpufreq"
        directory.mkdir(parents=True)
        for name, text in files.items():
            (directory / name).write_text(text + "\n")
    (root / "sys/devices/system/cpu/cpufreq").mkdir(parents=True, exist_ok=True)  # policies, not a core
    return root


def value(root: Path, core: int, name: str) -> str:
    return (root / f"sys/devices/system/cpu/cpu{core}/cpufreq/{name}").read_text().strip()


def test_userspace_governor_sets_the_speed(tmp_path: Path) -> None:
    frequencies = Frequencies(machine(tmp_path, ACPI))
    assert frequencies.available_ghz == pytest.approx([1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0])
    frequencies.set_ghz(1.5)
    assert [value(tmp_path, core, "scaling_setspeed") for core in (0, 1)] == ["1500000", "1500000"]
    assert value(tmp_path, 0, "scaling_governor") == "userspace"
    frequencies.restore()
    assert value(tmp_path, 1, "scaling_governor") == "ondemand"


def test_without_a_userspace_governor_both_limits_are_set_in_an_order_the_kernel_takes(tmp_path: Path) -> None:
    frequencies = Frequencies(machine(tmp_path, PSTATE, cores=1))
    assert frequencies.available_ghz[0] == pytest.approx(0.8)
    assert len(frequencies.available_ghz) == 28
    up = [write.path.name for write in frequencies.set_ghz(2.0)]
    assert up == ["scaling_max_freq", "scaling_min_freq"]  # both above the lowest of before
    down = [write.path.name for write in frequencies.set_ghz(1.0)]
    assert down == ["scaling_min_freq", "scaling_max_freq"]
    assert value(tmp_path, 0, "scaling_max_freq") == "1000000"
    restored = [write.path.name for write in frequencies.restore()]
    assert restored == ["scaling_governor", "scaling_max_freq", "scaling_min_freq"]
    assert (value(tmp_path, 0, "scaling_min_freq"), value(tmp_path, 0, "scaling_max_freq")) == ("800000", "3500000")


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    frequencies = Frequencies(machine(tmp_path, ACPI), dry_run=True)
    writes = frequencies.set_ghz(1.3)
    assert len(writes) == 4
    assert value(tmp_path, 0, "scaling_governor") == "ondemand"


def test_cores_are_taken_by_number(tmp_path: Path) -> None:
    cores = Frequencies(machine(tmp_path, ACPI, cores=12)).cores
    assert [core.directory.parent.name for core in cores] == [f"cpu{i}" for i in range(12)]


def test_a_machine_without_cpufreq_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no cpufreq .* leave frequencies out of the limits"):
        Frequencies(tmp_path)


def test_a_frequency_out_of_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cpu0 runs from 1.2 to 2 GHz; got 3.1"):
        Frequencies(machine(tmp_path, ACPI)).set_ghz(3.1)


def test_a_write_that_fails_says_what_it_takes(tmp_path: Path) -> None:
    frequencies = Frequencies(machine(tmp_path, ACPI, cores=1))
    path = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed"
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"cannot be written .* it takes root's rights"):
        frequencies.set_ghz(1.5)


def counters(root: Path, zones: dict[str, tuple[str, int]]) -> Path:
    for directory, (name, energy_uj) in zones.items():
        own = root / "sys/class/powercap" / directory
        own.mkdir(parents=True)
        (own / "name").write_text(name + "\n")
        (own / "energy_uj").write_text(f"{energy_uj}\n")
        (own / "max_energy_range_uj").write_text("1000000000\n")
    return root


TWO_PACKAGES = {
    "intel-rapl:0": ("package-0", 5), "intel-rapl:0:0": ("core", 1_000_000), "intel-rapl:0:1": ("dram", 7),
    "intel-rapl:1": ("package-1", 5), "intel-rapl:1:0": ("core", 999_000_000),
}  # fmt: skip


def test_joules_of_the_cores_of_all_packages_with_a_counter_that_wraps(tmp_path: Path) -> None:
    energy = Energy(counters(tmp_path, TWO_PACKAGES))
    zones = tmp_path / "sys/class/powercap"
    (zones / "intel-rapl:0:0/energy_uj").write_text("3500000\n")
    (zones / "intel-rapl:1:0/energy_uj").write_text("500000\n")  # wrapped
    assert energy.joules() == pytest.approx(2.5 + 1.5)
    assert energy.joules() == 0.0


def test_packages_count_where_cores_are_not_counted_apart(tmp_path: Path) -> None:
    energy = Energy(counters(tmp_path, {"intel-rapl:0": ("package-0", 0)}))
    (tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj").write_text("2000000")
    assert energy.joules() == pytest.approx(2.0)


def test_a_machine_without_counters_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no energy counters .* watts are estimated by the model"):
        Energy(tmp_path)
