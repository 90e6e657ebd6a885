"""The frequency of this machine's cores as the Configuration says, given back as it was found."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from penstock.control.loop.loop import Record
from penstock.errors import InputError
from penstock.host.frequency import Frequencies
from penstock.plan.configuration import Configuration

_log = logging.getLogger(__name__)
_LEFT_ALONE = "cores are left alone, and watts are estimated"


class FrequencySetter:
    """Sets frequencies where the machine has them; only a local master's tasks run on this machine.

    If one cannot be set after all, one warning says so; cores are restored and left alone from then on.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._set_ghz: float | None = None
        self._untold: list[str] = []
        self.has_failed = False

    @property
    def executor_start_s(self) -> float | None:
        return None

    def prepare(self, configuration: Configuration) -> Configuration | None:
        """The Configuration with its frequency in force; without one where it cannot be."""
        wanted_ghz = configuration.frequency_ghz
        if not self.has_failed and wanted_ghz is not None and wanted_ghz != self._set_ghz:
            self._set(wanted_ghz)
        return replace(configuration, frequency_ghz=None) if self.has_failed else configuration

    def _set(self, wanted_ghz: float) -> None:
        try:
            self._frequencies.set_ghz(wanted_ghz)
            self._set_ghz = wanted_ghz
        except InputError as error:
            self.has_failed, self._set_ghz = True, None
            self._untold.append(f"{error}; {_LEFT_ALONE}")
            self._restore()  # what was written before it failed

    def _restore(self) -> None:
        try:
            self._frequencies.restore()
        except InputError as error:
            sentence = f"cores are not all as they were found: {error}"
            _log.warning(sentence)
            self._untold.append(sentence)

    def look(self, in_force: Configuration) -> None:
        """Frequencies are there at once."""

    def sentences(self, record: Record) -> list[str]:
        """What a user has to know since the last turn of the loop."""
        sentences, self._untold = self._untold, []
        return sentences

    def close(self) -> None:
        if self._set_ghz is not None:
            self._set_ghz = None
            self._restore()


def frequencies_within(
    wanted_ghz: tuple[float, ...], *, is_local: bool, dry_run: bool = False, root: Path = Path("/")
) -> tuple[Frequencies | None, str | None]:
    """The machine's frequencies where the user wants some of them; else the sentence that says why not."""
    if not wanted_ghz:
        return None, None
    if not is_local:
        return None, f"frequencies are set on a local master only; {_LEFT_ALONE}"
    try:
        found = Frequencies(root, dry_run=dry_run)
    except InputError as error:
        return None, f"{error}; {_LEFT_ALONE}"
    missing = [f for f in wanted_ghz if round(f, 3) not in {round(own, 3) for own in found.available_ghz}]
    if missing:
        there = ", ".join(f"{f:g}" for f in found.available_ghz)
        raise InputError(f"frequencies_ghz of the limits are among those of this machine, {there}; got {missing[0]:g}")
    try:
        found.check_rights()
    except InputError as error:
        return None, f"{error}; {_LEFT_ALONE}"
    return found, None
