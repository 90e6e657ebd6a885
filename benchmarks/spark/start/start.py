"""Benchmark `start`: from a new process to the first result of a trivial application, beside plain PySpark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.report import Show, table_of
from penstock.errors import InputError
from penstock.host.java import java_home
from penstock.spark.session.class_archive import ClassArchive, class_archive, spark_jars

GOAL_ABOVE_PLAIN_S = 1.0
_TRIAL = "benchmarks.spark.start.trial"


@dataclass(frozen=True, slots=True)
class StartEffort:
    """How often each starts, one after the other."""

    repeats: int = 5
    limit_s: float = 300.0


QUICK = StartEffort(repeats=2)


@dataclass(frozen=True, slots=True)
class StartResult:
    """The results of each trial, of ours and of plain PySpark with one Python stage."""

    ours: tuple[Mapping[str, Any], ...]
    plain: tuple[Mapping[str, Any], ...]
    first: Mapping[str, Any] | None = None  # of ours, where no archive of classes was there yet
    has_archive: bool = False

    def median_s(self, name: str) -> float:
        trials = self.plain if name.startswith("plain") else self.ours
        return float(median(trial[name] for trial in trials))

    def phases_s(self, name: str = "phases_s") -> dict[str, float]:
        return {phase: median(trial[name][phase] for trial in self.ours) for phase in self.ours[0][name]}


def run_start(effort: StartEffort, folder: Path, show: Show) -> StartResult:
    """Plain and ours in turn, each in a process of its own; before them what a user's first start leaves to be made."""
    archive = class_archive(java_home(), spark_jars(), {}, os.environ)
    first = None
    if archive is not None and not archive.file.exists():
        show("the first start of ours, which leaves an archive of classes to be made")
        first = _trial("ours", folder, effort.limit_s)
        _wait_for(archive, effort.limit_s, show)
    ours, plain = [], []
    for number in range(effort.repeats):
        show(f"plain PySpark, {number + 1} of {effort.repeats}")
        plain.append(_trial("plain", folder, effort.limit_s))
        show(f"ours, {number + 1} of {effort.repeats}")
        ours.append(_trial("ours", folder, effort.limit_s))
    return StartResult(tuple(ours), tuple(plain), first, archive is not None and archive.file.exists())


def _wait_for(archive: ClassArchive, limit_s: float, show: Show) -> None:
    began_s = time.monotonic()
    while archive.names.exists() and time.monotonic() - began_s < limit_s:
        show(f"the archive of classes is made: {time.monotonic() - began_s:.0f} s")
        time.sleep(0.5)


def _trial(kind: str, folder: Path, limit_s: float) -> Mapping[str, Any]:
    root = Path(__file__).resolve().parents[3]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-m", _TRIAL, kind], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=limit_s, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise InputError(f"a start of '{kind}' failed: {done.stderr.strip().splitlines()[-1:] or 'it said nothing'}")
    found: Mapping[str, Any] = json.loads(lines[-1])
    return found


def start_figures(result: StartResult) -> dict[str, Any]:
    cold, warm = result.median_s("first_result_s_cold"), result.median_s("first_result_s_warm")
    plain = result.median_s("plain_first_result_s")
    return {
        "bench": "start",
        "first_result_s_cold": round(cold, 2),
        "first_result_s_warm": round(warm, 2),
        "plain_first_result_s": round(plain, 2),
        "above_plain_s": round(cold - plain, 2),
        "class_archive": result.has_archive,
        "first_ever_s": None if result.first is None else round(result.first["first_result_s_cold"], 2),
        "phases_s": {name: round(seconds, 2) for name, seconds in result.phases_s().items()},
        "warm_phases_s": {name: round(seconds, 2) for name, seconds in result.phases_s("warm_phases_s").items()},
        "first_results_s_cold": [round(trial["first_result_s_cold"], 2) for trial in result.ours],
        "plain_first_results_s": [round(trial["plain_first_result_s"], 2) for trial in result.plain],
    }


def start_tables(result: StartResult) -> list[Table]:
    table = table_of("seconds from a new process to the first result, medians", "", "seconds")
    table.add_row("plain PySpark, one Python stage", f"{result.median_s('plain_first_result_s'):.2f}")
    table.add_row("ours", f"{result.median_s('first_result_s_cold'):.2f}")
    for name, seconds in result.phases_s().items():
        table.add_row(f"  {name}", f"{seconds:.2f}")
    table.add_row("ours, in an open session", f"{result.median_s('first_result_s_warm'):.2f}")
    if result.first is not None:
        table.add_row("ours, without an archive of classes", f"{result.first['first_result_s_cold']:.2f}")
    return [table]


def start_notes(figures: Mapping[str, Any]) -> Sequence[str]:
    reached = "reached" if figures["above_plain_s"] <= GOAL_ABOVE_PLAIN_S else "missed"
    return [f"goal, at most {GOAL_ABOVE_PLAIN_S:g} s above plain PySpark: {reached}, {figures['above_plain_s']:+.2f} s"]
