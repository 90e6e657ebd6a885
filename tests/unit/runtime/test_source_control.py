"""What the reader is told: beats that grow whatever the clock says, sizes of the newest Configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.runtime.driver import source_control
from penstock.runtime.driver.source_control import SourceControl

CONFIGURATION = Configuration((ElementConfiguration("read", 3),), block_rows=64, micro_batch_tuples=500)


def told(folder: Path) -> dict[str, int]:
    return dict(json.loads((folder / "intake").read_bytes()))


def test_beats_grow_over_drivers_whose_clocks_were_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, beats = [5_000.0], []
    monkeypatch.setattr(source_control.time, "time", lambda: now_s[0])
    for clock_s in (5_000.0, 1_400.0, 1_401.0):
        now_s[0] = clock_s
        driver = SourceControl(tmp_path, lambda: CONFIGURATION)
        driver.write()
        for _ in range(2):
            driver.beat()
            beats.append(told(tmp_path)["beat"])
    assert beats[0] == 5_000_000
    assert beats == sorted(set(beats))


def test_a_file_that_was_never_whole_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "intake").write_text("{")
    SourceControl(tmp_path, lambda: CONFIGURATION).write()
    assert told(tmp_path) == {"micro_batch_tuples": 500, "block_rows": 64, "tasks": 3, "beat": 0}
