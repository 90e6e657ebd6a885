"""The figures of the benchmark `soak`: slopes over time, the last part's latency beside the first's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.report import table_of, verdict
from benchmarks.soak.soak import SoakResult
from benchmarks.soak.soak_scene import SoakEffort
from benchmarks.soak.usage import Usage

MOST_SLOPE_MB_H = 5.0
MOST_P95_RATIO = 1.1
_FIGURES: dict[str, Callable[[Usage], float]] = {
    "memory": lambda look: look.memory_mb, "disk": lambda look: look.disk_mb, "Python": lambda look: look.python_mb,
    "JVM, live": lambda look: look.jvm_mb, "JVM, resident": lambda look: look.jvm_resident_mb,
    "journal": lambda look: look.journal_mb, "files": lambda look: look.files,
}  # fmt: skip


def slope_h(looks: Sequence[Usage], figure: Callable[[Usage], float], warm_s: float) -> float | None:
    """How much a figure grows in an hour, after the first seconds: the median of the slopes between all pairs.

    One garbage collection that comes late, or a file that is just being written, does not move it (Theil and Sen).
    """
    found = [(look.at_s / 3600, figure(look)) for look in looks if look.at_s >= warm_s]
    if len(found) < 2:
        return None
    hours, values = np.array(found).T
    first, second = np.triu_indices(len(found), 1)
    return float(np.median((values[second] - values[first]) / (hours[second] - hours[first])))


def soak_figures(result: SoakResult, effort: SoakEffort) -> dict[str, Any]:
    """The JSON object."""
    slopes = {name: slope_h(result.looks, figure, effort.warm_s) for name, figure in _FIGURES.items()}
    first_ms, last_ms = (None if own is None else own.p95_ms for own in (result.first, result.last))
    ratio = None if not first_ms or last_ms is None else last_ms / first_ms
    return {
        "bench": "soak", "minutes": effort.minutes, "rate_tuples_s": 2 * effort.rate_tuples_s, "keys": effort.keys,
        "memory_slope_mb_h": _rounded(slopes["memory"]), "disk_slope_mb_h": _rounded(slopes["disk"]),
        "p95_first_ms": _rounded(first_ms), "p95_last_ms": _rounded(last_ms), "p95_ratio": _rounded(ratio, 3),
        "batches": result.batches, "tuples": result.tuples, "changes": result.changes,
        "dead_letters": result.dead_letters, "python_slope_mb_h": _rounded(slopes["Python"]),
        "jvm_slope_mb_h": _rounded(slopes["JVM, live"]),
        "jvm_resident_slope_mb_h": _rounded(slopes["JVM, resident"]),
        "journal_slope_mb_h": _rounded(slopes["journal"]), "files_slope_h": _rounded(slopes["files"]),
        "goals_missed": goals_missed(slopes["memory"], slopes["disk"], ratio),
    }  # fmt: skip


def goals_missed(memory_mb_h: float | None, disk_mb_h: float | None, ratio: float | None) -> list[str]:
    """The goals that a run misses, each with its figure."""
    limits = ("memory", memory_mb_h, MOST_SLOPE_MB_H), ("disk", disk_mb_h, MOST_SLOPE_MB_H)
    missed = [f"{name} grows by {got:.1f} MB/h, at most {most:g}" for name, got, most in limits
              if got is not None and got > most]  # fmt: skip
    if ratio is not None and ratio > MOST_P95_RATIO:
        missed.append(f"p95 last over first is {ratio:.2f}, at most {MOST_P95_RATIO:g}")
    return missed


def soak_table(result: SoakResult, effort: SoakEffort) -> Table:
    table = table_of(
        f"what {effort.minutes:g} minutes took", "what", "at the start", "after warm-up", "at the end", "per hour"
    )
    warm = next((look for look in result.looks if look.at_s >= effort.warm_s), result.looks[-1])
    for name, figure in _FIGURES.items():
        slope = slope_h(result.looks, figure, effort.warm_s)
        values = (figure(look) for look in (result.looks[0], warm, result.looks[-1]))
        unit = "" if name == "files" else " MB"
        table.add_row(
            name, *(f"{value:,.1f}{unit}" for value in values), "-" if slope is None else f"{slope:+,.1f}{unit}"
        )
    return table


def soak_notes(result: SoakResult, figures: dict[str, Any]) -> list[str]:
    return [
        f"{result.batches:,} micro-batches, {result.tuples:,} tuples, {result.changes} changes of the Configuration, "
        f"{result.dead_letters} dead letters",
        f"p95 of the latency: {figures['p95_first_ms']} ms in the first part, {figures['p95_last_ms']} ms in the last",
        "memory: Python processes, and the JVM's objects after a garbage collection; disk: all but the sinks' files "
        "and the journal, whose two parts are bounded",
        verdict(figures["goals_missed"]),
    ]  # fmt: skip


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)
