"""Benchmark `fuzz`: how many inputs of each kind, and what came of them."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.fuzz.checkpoints import Checkpoints
from benchmarks.fuzz.files import Files
from benchmarks.fuzz.journals import Journals
from benchmarks.fuzz.kind import FAULTS, HANG, REFUSED, RIGHT, TRACEBACK, WRONG, MakeKind, Outcome
from benchmarks.fuzz.options import Options
from benchmarks.fuzz.rows import Rows
from benchmarks.fuzz.spade_programs import SpadePrograms
from benchmarks.fuzz.spark_checkpoints import SparkCheckpoints
from benchmarks.fuzz.worker import Tried, tried, tried_again
from benchmarks.report import Show, table_of
from penstock.errors import InputError, did_you_mean

KINDS: Mapping[str, MakeKind] = {
    "rows": Rows, "files": Files, "spade": SpadePrograms, "options": Options, "journals": Journals,
    "checkpoints": Checkpoints, "spark": SparkCheckpoints,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FuzzEffort:
    """How many inputs of each kind at least, and how long one may take; `first`: the number of the first one.

    After so many minutes no more inputs are tried.
    """

    inputs: Mapping[str, int] = field(
        default_factory=lambda: {
            "rows": 150_000, "files": 5_000, "spade": 5_000, "options": 5_000, "journals": 5_000, "checkpoints": 500,
            "spark": 20,
        }
    )  # fmt: skip
    limit_s: float = 60.0
    spark_limit_s: float = 300.0
    first: int = 0
    minutes: float = math.inf

    def of_one(self, only: str | None, inputs: int | None, first: int) -> FuzzEffort:
        """A part of one kind: so many inputs from a number on, so that a long run can be made in pieces."""
        if only is None and (inputs is not None or first):
            raise InputError("--inputs and --first are of one kind; add --only KIND")
        check_kind(only)
        wanted = self.inputs if only is None or inputs is None else {**self.inputs, only: inputs}
        return replace(self, inputs=wanted, first=first)


QUICK = FuzzEffort(
    {"rows": 6_000, "files": 200, "spade": 200, "options": 200, "journals": 100, "checkpoints": 30, "spark": 0}
)


@dataclass(slots=True)
class FuzzResult:
    """Inputs by kind and verdict, and the files in which those that went wrong are kept."""

    seed: int
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    next: dict[str, int] = field(default_factory=dict)  # by kind, the number behind the last input

    def total(self, *verdicts: str) -> int:
        return sum(own[verdict] for own in self.counts.values() for verdict in verdicts)


def run_fuzz(effort: FuzzEffort, seed: int, only: str | None, folder: Path, show: Show) -> FuzzResult:
    """Tries inputs of every kind, or of one; each that goes wrong is kept as a file, to be tried again."""
    check_kind(only)
    result, end_s = FuzzResult(seed), time.monotonic() + 60.0 * effort.minutes
    for name in KINDS if only is None else [only]:
        wanted = effort.inputs[name]
        counts = result.counts[name] = Counter()
        if wanted:
            limit_s = effort.spark_limit_s if name == "spark" else effort.limit_s
            for one in _until(wanted, name, seed, limit_s, effort.first):
                result.next[name] = one.number + 1
                counts[one.outcome.verdict] += one.weight
                counts["all"] += one.weight
                result.slowest_s = max(result.slowest_s, one.seconds)
                if one.outcome.verdict in FAULTS:
                    result.faults[f"{name}: {one.outcome.verdict}: {_where(one.outcome)}"] += 1
                    result.files.append(_keep(folder, name, seed, one))
                faults = sum(counts[verdict] for verdict in FAULTS)
                show(f"{name}: {counts['all']:,} of {wanted:,} inputs, {faults} went wrong")
                if time.monotonic() >= end_s:
                    break
    return result


def _until(wanted: int, name: str, seed: int, limit_s: float, first: int) -> Iterator[Tried]:
    """Inputs until there are as many as wanted, by their weight."""
    done, number = 0, first
    while done < wanted:
        for one in tried(KINDS[name], name, seed, range(number, number + wanted - done), limit_s):
            number, done = one.number + 1, done + one.weight
            yield one
            if done >= wanted:
                return


def check_kind(only: str | None) -> None:
    if only is not None and only not in KINDS:
        hint = did_you_mean(only, KINDS)
        raise InputError(f"--only is one of {', '.join(KINDS)}; got '{only}'" + (f"; {hint}" if hint else ""))


def _keep(folder: Path, name: str, seed: int, one: Tried) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{seed}-{one.number}.json"
    body = {"kind": name, "seed": seed, "number": one.number, "outcome": asdict(one.outcome), "input": one.body}
    path.write_text(json.dumps(body))
    return path


def replayed(path: Path) -> Outcome:
    """Tries an input that was kept once more, in this process."""
    try:
        body = json.loads(path.read_text())
        name, given = body["kind"], body["input"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"--replay is a file that `fuzz` kept; got {path}: {error}") from error
    check_kind(name)
    return tried_again(KINDS[name], given)


def _where(outcome: Outcome) -> str:
    """What went wrong, and in which line, so that inputs with one cause are counted together."""
    lines = [line.strip() for line in outcome.trace.splitlines() if line.strip().startswith("File ")]
    own = [line for line in lines if "/penstock/" in line]
    place = (own or lines or [""])[-1].rpartition("/penstock/")[2]
    return f"{outcome.text.splitlines()[0][:90] if outcome.text else ''} ({place})"


def fuzz_table(result: FuzzResult) -> Table:
    columns = ("kind", "inputs", "right results", "sentences", "wrong results", "tracebacks", "hangs")
    table = table_of(f"what came of malformed inputs, seed {result.seed}", *columns)
    for name, own in result.counts.items():
        table.add_row(name, *(f"{own[key]:,}" for key in ("all", RIGHT, REFUSED, WRONG, TRACEBACK, HANG)))
    return table


def fuzz_notes(result: FuzzResult) -> Sequence[str]:
    notes = [f"{count} x {text}" for text, count in result.faults.most_common(40)]
    if result.files:
        folder = result.files[0].parent
        notes.append(f"inputs that went wrong are in {folder}; try one again with --replay {result.files[0]}")
    return [*notes, f"the slowest input took {result.slowest_s:.1f} s"]


def fuzz_figures(result: FuzzResult) -> dict[str, Any]:
    """The JSON object."""
    return {
        "bench": "fuzz",
        "seed": result.seed,
        "inputs": result.total("all"),
        "tracebacks": result.total(TRACEBACK),
        "hangs": result.total(HANG),
        "wrong_results": result.total(WRONG),
        "by_kind": {
            name: {
                "inputs": own["all"],
                "next": result.next.get(name, 0),
                **{key: own[key] for key in (RIGHT, REFUSED, WRONG, TRACEBACK, HANG)},
            }
            for name, own in result.counts.items()
        },
    }
