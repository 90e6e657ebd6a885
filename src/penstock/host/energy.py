"""Energy through Linux' powercap (RAPL), under any root directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError

_ZONES = Path("sys/class/powercap")
_MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class Zone:
    """A counter of a part of the machine: `package-0`, `core`, `dram`, ..."""

    directory: Path
    name: str
    wraps_at_uj: int


class Energy:
    """Joules of the cores; of the whole packages where the machine does not count cores apart."""

    def __init__(self, root: Path = Path("/")) -> None:
        zones = _zones(root)
        cores = tuple(zone for zone in zones if zone.name == "core")
        self.zones = cores or tuple(zone for zone in zones if zone.name.startswith("package"))
        if not self.zones:
            raise InputError(
                f"this machine has no energy counters under '{root / _ZONES}'; "
                "watts are estimated by the model, and labelled so"
            )
        self._last = [_counter(zone) for zone in self.zones]

    def joules(self) -> float:
        """Used since the last call, or since the start; counters that wrapped once are put right."""
        now = [_counter(zone) for zone in self.zones]
        used = sum(
            (new - old) if new >= old else (new - old + zone.wraps_at_uj)
            for zone, old, new in zip(self.zones, self._last, now, strict=True)
        )
        self._last = now
        return used * _MICRO


def energy_of(root: Path = Path("/"), *, is_local: bool) -> tuple[Energy | None, str | None]:
    """The counters of the machine that computes; else the sentence that says why watts are estimated."""
    if not is_local:
        return None, "energy is measured on a local master only; watts are estimated by the model, and labelled so"
    try:
        return Energy(root), None
    except InputError as error:
        return None, str(error)


def _zones(root: Path) -> tuple[Zone, ...]:
    """Packages and their parts, each once."""
    found = []
    for directory in sorted((root / _ZONES).glob("intel-rapl:*")):
        if (directory / "energy_uj").exists():
            wraps = directory / "max_energy_range_uj"
            found.append(Zone(directory, _text(directory / "name"), int(_text(wraps)) if wraps.exists() else 0))
    return tuple(found)


def _counter(zone: Zone) -> int:
    return int(_text(zone.directory / "energy_uj"))


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be read ({error.strerror}); energy counters take root's rights on this machine; watts "
            "are estimated by the model, and labelled so"
        ) from error
