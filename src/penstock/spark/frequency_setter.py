"""The frequency of this machine's cores as the Configuration says, given back as it was found."""

from __future__ import annotations

import logging
from pathlib import Path

from penstock.control.configuration import Configuration
from penstock.control.frequency import Frequencies
from penstock.errors import InputError

_log = logging.getLogger(__name__)


class FrequencySetter:
    """Sets frequencies where the machine has them; only a local master's tasks run on this machine."""

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._set_ghz: float | None = None

    @property
    def executor_start_s(self) -> float | None:
        return None

    def prepare(self, configuration: Configuration) -> Configuration | None:
        wanted_ghz = configuration.frequency_ghz
        if wanted_ghz is not None and wanted_ghz != self._set_ghz:
            self._frequencies.set_ghz(wanted_ghz)
            self._set_ghz = wanted_ghz
        return configuration

    def look(self, in_force: Configuration) -> None:
        """Frequencies are there at once."""

    def close(self) -> None:
        if self._set_ghz is not None:
            self._set_ghz = None
            self._frequencies.restore()


def frequencies_within(
    wanted_ghz: tuple[float, ...], *, is_local: bool, dry_run: bool = False, root: Path = Path("/")
) -> tuple[Frequencies | None, str | None]:
    """The machine's frequencies where the user wants some of them; else the sentence that says why not."""
    if not wanted_ghz:
        return None, None
    if not is_local:
        return None, "frequencies are set on a local master only; cores are left alone, and watts are estimated"
    try:
        found = Frequencies(root, dry_run=dry_run)
    except InputError as error:
        return None, f"{error}; cores are left alone, and watts are estimated"
    missing = [f for f in wanted_ghz if round(f, 3) not in {round(own, 3) for own in found.available_ghz}]
    if missing:
        there = ", ".join(f"{f:g}" for f in found.available_ghz)
        raise InputError(f"frequencies_ghz of the limits are among those of this machine, {there}; got {missing[0]:g}")
    return found, None
