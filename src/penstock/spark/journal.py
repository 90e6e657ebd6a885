"""The journal of a run: one JSON line per micro-batch, with what was observed and the Configuration in force."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from penstock.control.configuration import Configuration
from penstock.measure.observation import Observation


class Journal:
    """A file that only grows; routes are written only when they change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: Configuration | None = None

    def write(self, observation: Observation, configuration: Configuration) -> None:
        line: dict[str, object] = {"observation": dataclasses.asdict(observation)}
        if configuration != self._written:
            line["configuration"] = dataclasses.asdict(configuration)
            self._written = configuration
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
