"""One case of benchmark `state` in a process of its own, which is killed half-way: `python -m ... ROLE SETTINGS`.

`measure` fills the state, prints its figures as one JSON line and goes on until it is killed; `restart` goes on from
its checkpoint, then once more with the host's memory wiped, and prints how long the first micro-batches took.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.spark.applications import KEYED, sums_on
from benchmarks.spark.batches import throughput
from benchmarks.spark.in_process import equals_in_process
from benchmarks.spark.sustained import configuration_of, totals
from benchmarks.spark.watching import memory_of, observations_of, started, watch_batches, watch_for
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.errors import PenstockError
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.shape import Shape
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.spark.session.session import spark_session
from penstock.state.checkpoint.manifests import Manifests

_RESTART_BATCHES = 6
_WORD_BYTES = 8
_COMPARED_BYTES = 5_000_000_000  # more state than that is not held in memory twice
_ROW_BYTES = 128  # of a key before its values, at most: its window's row, its key, a chunk's first entries
_FILL_TUPLES_MAX = 400_000_000


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """What one case is; seconds are of measuring, filling may take `fill_limit_s`."""

    keys: int
    window_tuples: int
    checkpoint: str
    seconds: float
    fill_limit_s: float
    micro_batch_tuples: int = 2_000_000
    small_batch_tuples: int = 10_000
    key_distribution: str = "uniform"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @property
    def application(self) -> Application:
        distribution = self.key_distribution
        trace = sources.trace(rate="unbounded", keys=self.keys, key_distribution=distribution, ticker="int32")
        return sums_on(trace, sinks.discard(), self.window_tuples)


def needed_bytes(keys: int, window_tuples: int) -> int:
    """Memory that a case takes: of a key, and of the values of all windows, as far as they get filled."""
    return keys * _ROW_BYTES + round(1.3 * _WORD_BYTES * min(keys * window_tuples, _FILL_TUPLES_MAX))


def main(role: str, settings_json: str) -> None:
    settings = CaseSettings(**json.loads(settings_json))
    try:
        session = spark_session("local[2]", name="penstock-bench")
        figures = measure(session, settings) if role == "measure" else restart(session, settings)
    except PenstockError as error:
        figures = {"because": " ".join(str(error).split())}
    print(json.dumps(figures), flush=True)
    while role == "measure":  # until it is killed
        time.sleep(1.0)


def measure(session: Any, settings: CaseSettings) -> dict[str, Any]:
    """Fills the state, measures, and leaves the query running."""
    app = settings.application
    own = replace(configuration_of(app), micro_batch_tuples=settings.micro_batch_tuples)
    handle = start(app, session=session, checkpoint=settings.checkpoint, configuration=own)
    _fill(handle, settings)
    observed = watch_for(handle, settings.seconds, _silent, "measuring", batches=3)
    taken = sum(o.tuples_in for o in observations_of(handle))
    rate = throughput(observed)
    held = held_values(memory_of(handle), settings.window_tuples)
    return {
        "tuples_s": round(rate.tuples_s),
        "spread_tuples_s": rate.spread.to_json(),
        "tuples": taken,
        "filled_ratio": round(held.values / settings.keys / settings.window_tuples, 4),
        "state_bytes": folder_bytes(memory_of(handle)),
        **held.to_json(),
        "log_bytes_per_tuple": log_bytes_per_tuple(handle),
        "slots_rebuilt_per_batch": sum(o.slots_rebuilt for o in observed) / len(observed),
        "checksum_equal": _is_equal(handle, settings),
    }


def _is_equal(handle: Handle, settings: CaseSettings) -> bool | None:
    """Whether the results so far are the in-process engine's; None where that would take too much memory."""
    if needed_bytes(settings.keys, settings.window_tuples) > _COMPARED_BYTES:
        return None
    return equals_in_process(settings.application, _totals_between_batches(handle), handle.configuration.block_rows)


def _totals_between_batches(handle: Handle) -> tuple[int, int, int]:
    while True:
        found = totals(handle.result)
        time.sleep(0.02)
        if totals(handle.result) == found:
            return found


def restart(session: Any, settings: CaseSettings) -> dict[str, Any]:
    """The first micro-batch after the kill, then the first after a stop wiped the host's memory, beside later ones.

    A batch that was under way at the kill runs again as it was planned, so the first may be a large one.
    """
    app = settings.application
    own = replace(configuration_of(app), micro_batch_tuples=settings.small_batch_tuples)
    after_kill = _first_batches(session, app, own, settings.checkpoint)
    after_wipe = _first_batches(session, app, own, settings.checkpoint)
    return {
        "restart_ms": after_kill["start_ms"],
        "restart_slots_rebuilt": after_kill["slots_rebuilt"],
        "rebuild_ms": round(after_wipe["first_ms"] - after_wipe["later_ms"], 1),
        "rebuild_slots": after_wipe["slots_rebuilt"],
        "later_micro_batch_ms": after_wipe["later_ms"],
    }


def _first_batches(session: Any, app: Application, configuration: Any, checkpoint: str) -> dict[str, Any]:
    begin = time.time()
    with started(session, app, Path(checkpoint), configuration) as handle:
        observed = watch_batches(handle, 1 + _RESTART_BATCHES, _silent, "restarting")
    first, later = observed[0], observed[-_RESTART_BATCHES // 2 :]
    return {
        "start_ms": round((first.started_at_s + first.micro_batch_s - begin) * 1000, 1),
        "first_ms": first.micro_batch_s * 1000,
        "later_ms": round(median(o.micro_batch_s * 1000 for o in later), 1),
        "slots_rebuilt": first.slots_rebuilt,
    }


def _fill(handle: Handle, settings: CaseSettings) -> None:
    """Until every key has a full window (trades are half of the tuples, keys come at random), or time is over."""
    wanted = min(3 * settings.keys * settings.window_tuples, _FILL_TUPLES_MAX)
    deadline_s = time.monotonic() + settings.fill_limit_s
    while sum(o.tuples_in for o in observations_of(handle)) < wanted and time.monotonic() < deadline_s:
        handle.wait(0.1)


@dataclass(frozen=True, slots=True)
class HeldValues:
    """What all windows hold."""

    keys: int
    values: int
    median: int
    largest: int
    entry_bytes: int  # that the files of chunks take, 0 where entries lie in rows

    def to_json(self) -> dict[str, Any]:
        ratio = round(self.entry_bytes / (_WORD_BYTES * self.values), 3) if self.entry_bytes and self.values else None
        return {
            "keys_held": self.keys,
            "values_held": self.values,
            "values_a_key_median": self.median,
            "values_a_key_largest": self.largest,
            "entry_bytes": self.entry_bytes,
            "entry_bytes_over_value_bytes": ratio,
        }


def held_values(folder: Path, window_tuples: int) -> HeldValues:
    """Counted in the mapped rows of the sums, each of which begins with its window's count."""
    shape = Shape(window_tuples, 1, (AggregateCall("sum", 0),), (np.dtype(np.int64),), nullable=False)
    path = next(folder.rglob("words"))
    words = np.memmap(path, np.int64, mode="r")
    width = shape.words(about_nulls=False)
    counts = np.minimum(words[: len(words) // width * width].reshape(-1, width)[:, 0], window_tuples)
    counts = counts[counts > 0]
    chunks = path.with_name("chunks")
    entry_bytes = chunks.stat().st_blocks * 512 if chunks.exists() else 0
    median_, largest = (int(np.median(counts)), int(counts.max())) if len(counts) else (0, 0)
    return HeldValues(len(counts), int(counts.sum()), median_, largest, entry_bytes)


def log_bytes_per_tuple(handle: Handle) -> float | None:
    """Bytes that the published batches put into change logs, by the manifests that are still there."""
    manifests = Manifests(handle.checkpoint.manifests)
    tuples_by_batch = {o.batch: o.tuples_in for o in observations_of(handle)}
    written = tuples = 0
    for batch in manifests.batches():
        if batch in tuples_by_batch:
            manifest = manifests.read(batch)
            if not manifest.is_full and KEYED in manifest.pages:
                written += int(manifest.pages[KEYED].entries["length"].sum())
                tuples += tuples_by_batch[batch]
    return round(written / tuples, 3) if tuples else None


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder, as much as they take on the disk or in memory."""
    found = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                found += path.stat().st_blocks * 512
        except FileNotFoundError:  # files come and go
            continue
    return found


def _silent(text: str) -> None:
    """Progress is shown by the process that started this one."""


if __name__ == "__main__":
    main(*sys.argv[1:])
