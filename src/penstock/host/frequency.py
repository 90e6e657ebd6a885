"""The frequency of cores through Linux' cpufreq (sysfs), under any root directory; dry runs write nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError

_CPUS = Path("sys/devices/system/cpu")
_KHZ = 1e6  # kHz in a GHz


@dataclass(frozen=True, slots=True)
class Write:
    """One write into sysfs."""

    path: Path
    value: str


@dataclass(frozen=True, slots=True)
class CoreFrequency:
    """One core's cpufreq directory and what it allows, in kHz."""

    directory: Path
    lowest_khz: int
    highest_khz: int
    available_khz: tuple[int, ...]
    governors: tuple[str, ...]


class Frequencies:
    """All cores that have cpufreq; `set_ghz` pins them, `restore` gives them back as they were found."""

    def __init__(self, root: Path = Path("/"), *, dry_run: bool = False) -> None:
        self._dry_run = dry_run
        self.cores = _cores(root)
        if not self.cores:
            raise InputError(
                f"this machine has no cpufreq under '{root / _CPUS}', so that frequencies cannot be set; "
                "leave frequencies out of the limits, or run where the kernel offers them"
            )
        self._found = [Write(path, _read(path)) for core in self.cores for path in _restored(core)]

    @property
    def available_ghz(self) -> tuple[float, ...]:
        """What every core can do; steps of 0.1 GHz where the driver names no list."""
        lists = [set(core.available_khz or _tenths(core)) for core in self.cores]
        return tuple(sorted(khz / _KHZ for khz in set.intersection(*lists)))

    def check_rights(self) -> None:
        """Raises InputError where a file that pins or restores a core cannot be written; a dry run needs no rights."""
        if self._dry_run:
            return
        for path in (path for core in self.cores for path in _written(core)):
            try:
                os.close(os.open(path, os.O_WRONLY))  # opened and not written to: nothing changes
            except OSError as error:
                raise _not_written(path, error) from error

    def set_ghz(self, frequency_ghz: float) -> tuple[Write, ...]:
        """Pins every core to a frequency; gives the writes, done or (dry run) only planned."""
        khz = round(frequency_ghz * _KHZ)
        for core in self.cores:
            if not core.lowest_khz <= khz <= core.highest_khz:
                raise InputError(
                    f"{core.directory.parent.name} runs from {core.lowest_khz / _KHZ:g} to {core.highest_khz / _KHZ:g} "
                    f"GHz; got {frequency_ghz:g}"
                )
        writes = tuple(write for core in self.cores for write in _pinning(core, khz))
        self._do(writes)
        return writes

    def restore(self) -> tuple[Write, ...]:
        """Governors and limits as they were found; of those that cannot be written, the first is raised at the end."""
        writes = tuple(write for core in self.cores for write in self._restoring(core))
        failures = [error for write in writes if (error := self._failure(write)) is not None]
        if failures:
            raise failures[0]
        return writes

    def _restoring(self, core: CoreFrequency) -> list[Write]:
        """The wider limit first: the kernel refuses a lowest above the highest."""
        own = {write.path.name: write for write in self._found if write.path.parent == core.directory}
        raises = int(own["scaling_max_freq"].value) >= _number(core.directory / "scaling_min_freq")
        limits = ("scaling_max_freq", "scaling_min_freq") if raises else ("scaling_min_freq", "scaling_max_freq")
        return [own[name] for name in ("scaling_governor", *limits)]

    def _do(self, writes: tuple[Write, ...]) -> None:
        for write in writes:
            error = self._failure(write)
            if error is not None:
                raise error

    def _failure(self, write: Write) -> InputError | None:
        """Writes; gives what went wrong."""
        try:
            if not self._dry_run:
                write.path.write_text(write.value)
        except OSError as error:
            return _not_written(write.path, error)
        return None


def _not_written(path: Path, error: OSError) -> InputError:
    return InputError(
        f"'{path}' cannot be written ({error.strerror}), so that frequencies cannot be set; it takes root's rights"
    )


def _cores(root: Path) -> tuple[CoreFrequency, ...]:
    directories = sorted((root / _CPUS).glob("cpu[0-9]*/cpufreq"), key=lambda path: int(path.parent.name[3:]))
    return tuple(_core(directory) for directory in directories if (directory / "scaling_max_freq").exists())


def _core(directory: Path) -> CoreFrequency:
    listed = directory / "scaling_available_frequencies"
    governors = directory / "scaling_available_governors"
    return CoreFrequency(
        directory,
        _number(directory / "cpuinfo_min_freq"),
        _number(directory / "cpuinfo_max_freq"),
        tuple(sorted(int(text) for text in _read(listed).split())) if listed.exists() else (),
        tuple(_read(governors).split()) if governors.exists() else (),
    )


def _restored(core: CoreFrequency) -> list[Path]:
    return [core.directory / name for name in ("scaling_governor", "scaling_min_freq", "scaling_max_freq")]


def _written(core: CoreFrequency) -> list[Path]:
    speed = [core.directory / "scaling_setspeed"] if "userspace" in core.governors else []
    return [*_restored(core), *speed]


def _pinning(core: CoreFrequency, khz: int) -> list[Write]:
    """By the userspace governor where there is one; else the lowest and the highest frequency are made the same."""
    own, value = core.directory, str(khz)
    if "userspace" in core.governors:
        return [Write(own / "scaling_governor", "userspace"), Write(own / "scaling_setspeed", value)]
    limits = [Write(own / "scaling_max_freq", value), Write(own / "scaling_min_freq", value)]
    # The kernel refuses a lowest above the highest: going below the lowest of now, that one goes first.
    return limits if khz >= _number(own / "scaling_min_freq") else limits[::-1]


def _tenths(core: CoreFrequency) -> list[int]:
    first = -(-core.lowest_khz // 100_000)
    return [tenth * 100_000 for tenth in range(first, core.highest_khz // 100_000 + 1)]


def _number(path: Path) -> int:
    return int(_read(path))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from error
