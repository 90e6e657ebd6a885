"""Frequencies in a dry run: what would be written for those that a policy wants, in sentences."""

from __future__ import annotations

from penstock.control.decision import Change
from penstock.control.loop.loop import Record
from penstock.host.frequency import Frequencies, Write


class FrequencyDryRun:
    """Tells the writes of each frequency when it is first wanted, and again after another one."""

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._shown_ghz: float | None = None

    def sentences(self, record: Record) -> list[str]:
        """What a step's decision would write; nothing if the last one wrote the same."""
        wanted_ghz = record.wanted.setting.frequency_ghz if isinstance(record.wanted, Change) else None
        if wanted_ghz is None or wanted_ghz == self._shown_ghz:
            return []
        self._shown_ghz = wanted_ghz
        found: dict[tuple[str, str], list[Write]] = {}
        for write in self._frequencies.set_ghz(wanted_ghz):
            found.setdefault((write.path.name, write.value), []).append(write)
        begin = f"dry run: step {record.seen.step} at {wanted_ghz:g} GHz would write"
        return [f"{begin} {value} to {name} {_cores_text(writes)}" for (name, value), writes in found.items()]


def _cores_text(writes: list[Write]) -> str:
    directories = [write.path.parent for write in writes]
    if len(directories) == 1:
        return f"in {directories[0]}"
    return f"of {len(directories)} cores, {directories[0]} to {directories[-1]}"
