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

from benchmarks.spark.applications import KEYED, sums_on
from benchmarks.spark.batches import throughput
from benchmarks.spark.in_process import equals_in_process
from benchmarks.spark.sustained import configuration_of, totals
from benchmarks.spark.watching import memory_of, observations_of, started, watch_batches, watch_for
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.errors import PenstockError
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.spark.session.session import spark_session
from penstock.state.checkpoint.manifests import Manifests

_RESTART_BATCHES = 6
_COMPARED_BYTES = 2_000_000_000  # more state than that is not held in memory twice


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

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @property
    def application(self) -> Application:
        trace = sources.trace(rate="unbounded", keys=self.keys, ticker="int32")
        return sums_on(trace, sinks.discard(), self.window_tuples)


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
    return {
        "tuples_s": round(rate.tuples_s),
        "spread_tuples_s": rate.spread.to_json(),
        "filled_ratio": round(min(1.0, taken / 2 / settings.keys / settings.window_tuples), 4),
        "state_bytes": folder_bytes(memory_of(handle)),
        "log_bytes_per_tuple": log_bytes_per_tuple(handle),
        "slots_rebuilt_per_batch": sum(o.slots_rebuilt for o in observed) / len(observed),
        "checksum_equal": _is_equal(handle, settings),
    }


def _is_equal(handle: Handle, settings: CaseSettings) -> bool | None:
    """Whether the results so far are the in-process engine's; None where that would take too much memory."""
    if settings.keys * settings.window_tuples * 8 > _COMPARED_BYTES:
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
    wanted, deadline_s = 3 * settings.keys * settings.window_tuples, time.monotonic() + settings.fill_limit_s
    while sum(o.tuples_in for o in observations_of(handle)) < wanted and time.monotonic() < deadline_s:
        handle.wait(0.1)


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
