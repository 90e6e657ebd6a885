"""Benchmark `state`: many keys and long windows; what a kill costs; steady routes on a cluster rebuild nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.report import Show, millions, table_of
from benchmarks.spark.applications import sums_on
from benchmarks.spark.state_case import CaseSettings, needed_bytes
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.watching import started, watch_batches
from penstock import sinks, sources
from penstock.errors import InputError, PenstockError
from penstock.spark.session.session import close_session, import_paths, spark_session
from penstock.testing import loopback_cluster

_MEMORY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class StateEffort:
    """Cases as (keys, window), seconds of each, and batches on the cluster (0: no cluster).

    In `skewed_cases` few keys have most of the tuples (zipf), so that most windows stay short.
    """

    cases: tuple[tuple[int, int], ...] = (
        *((k, w) for k in (1_000, 10_000, 100_000, 1_000_000) for w in (4, 1_000)),
        (10_000_000, 4),
    )
    skewed_cases: tuple[tuple[int, int], ...] = ((1_000_000, 1_000),)
    seconds: float = 10.0
    fill_limit_s: float = 40.0
    micro_batch_tuples: int = 2_000_000
    limit_s: float = 300.0
    cluster_batches: int = 30
    cluster_keys: int = 10_000


QUICK = StateEffort(
    cases=((1_000, 4), (100_000, 4), (1_000, 1_000)), skewed_cases=(), seconds=4.0, fill_limit_s=6.0,
    micro_batch_tuples=1_000_000, cluster_batches=10,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Figures of one case, or why there are none."""

    keys: int
    window_tuples: int
    figures: Mapping[str, Any]
    because: str = ""
    key_distribution: str = "uniform"

    @property
    def bytes_per_key(self) -> float | None:
        return self.figures["state_bytes"] / self.keys if "state_bytes" in self.figures else None

    def to_json(self) -> dict[str, Any]:
        bytes_per_key = None if self.bytes_per_key is None else round(self.bytes_per_key, 1)
        case = {
            "keys": self.keys, "window_tuples": self.window_tuples, "key_distribution": self.key_distribution,
            "bytes_per_key": bytes_per_key,
        }  # fmt: skip
        return {**case, **self.figures, "because": self.because}


@dataclass(frozen=True, slots=True)
class StateResult:
    """All cases, and the slots rebuilt in each steady batch on a cluster (None: not run, and why)."""

    cases: tuple[CaseResult, ...]
    cluster_slots_rebuilt: tuple[int, ...] | None
    cluster_because: str = ""

    @property
    def slots_rebuilt_per_batch(self) -> float | None:
        found = self.cluster_slots_rebuilt
        return sum(found) / len(found) if found else None


def only_cases(effort: StateEffort, names: Sequence[str]) -> StateEffort:
    """The cases that were asked for, as KEYSxWINDOW, with `:zipf` behind it for skewed keys; without the cluster."""
    found = [re.fullmatch(r"(\d+)x(\d+)(:zipf)?", name) for name in names]
    if None in found:
        raise InputError(f"a case is 'KEYSxWINDOW' or 'KEYSxWINDOW:zipf', as '1000000x1000:zipf'; got {list(names)}")
    cases = [(int(match[1]), int(match[2]), bool(match[3])) for match in found if match is not None]
    uniform, skewed = (tuple((k, w) for k, w, is_zipf in cases if is_zipf == wanted) for wanted in (False, True))
    return replace(effort, cases=uniform, skewed_cases=skewed, cluster_batches=0)


def run_state(effort: StateEffort, folder: Path, show: Show) -> StateResult:
    """Case after case, each in processes of its own, then the cluster."""
    cases = [_case(effort, keys, window, "uniform", folder, show) for keys, window in effort.cases]
    cases += [_case(effort, keys, window, "zipf", folder, show) for keys, window in effort.skewed_cases]
    if not effort.cluster_batches:
        return StateResult(tuple(cases), None, "not asked for")
    try:
        return StateResult(tuple(cases), _on_cluster(effort, folder / "cluster", show))
    except PenstockError as error:
        return StateResult(tuple(cases), None, str(error))


def _case(effort: StateEffort, keys: int, window: int, distribution: str, parent: Path, show: Show) -> CaseResult:
    needed, available, folder = (
        needed_bytes(keys, window),
        _available_bytes(),
        parent / f"{keys}-{window}-{distribution}",
    )
    if needed > _MEMORY_SHARE * available:
        return CaseResult(keys, window, {}, f"may need {needed / 1e9:.1f} GB of state, and {available / 1e9:.1f} GB of "
                          "memory are free, of which a bench takes half at most", distribution)  # fmt: skip
    settings = CaseSettings(
        keys, window, str(folder), effort.seconds, effort.fill_limit_s, effort.micro_batch_tuples,
        key_distribution=distribution,
    )  # fmt: skip
    try:
        what = f"{keys:,} keys, windows of {window:,}"
        measured = _child("measure", settings, effort.limit_s, lambda text: show(f"{what}: {text}"))
        again = {} if "because" in measured else _child("restart", settings, effort.limit_s, show)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {**measured, **again}
    return CaseResult(keys, window, found, str(found.pop("because", "")), distribution)


def _available_bytes() -> int:
    """Memory that is free or can be made so; what is in files in memory is not."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _child(role: str, settings: CaseSettings, limit_s: float, show: Show) -> dict[str, Any]:
    """The JSON line of a process; one that measures is killed as soon as it has said it."""
    command = [sys.executable, "-m", "benchmarks.spark.state_case", role, settings.to_json()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(import_paths())}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    said, deadline_s, begin = b"", time.monotonic() + limit_s, time.monotonic()
    try:
        while b"\n" not in said and process.poll() is None and time.monotonic() < deadline_s:
            show(f"{role}, {time.monotonic() - begin:.0f} s")
            time.sleep(0.1)
            said += process.stdout.read() or b""
        said += process.stdout.read() or b""
    finally:
        _kill(process)
    line = said.decode().partition("\n")[0]
    return dict(json.loads(line)) if line else {"because": f"{role} gave nothing within {limit_s:.0f} s"}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL of the driver and its JVM, at whatever they are; workers end with them."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _on_cluster(effort: StateEffort, folder: Path, show: Show) -> tuple[int, ...]:
    """Slots rebuilt in each of the batches of a cluster of two hosts, once the first have found their places."""
    app = sums_on(sources.trace(rate="unbounded", keys=effort.cluster_keys, ticker="int32"), sinks.discard(), 4)
    show("starting a cluster")
    with loopback_cluster(folder) as cluster:
        session = spark_session(cluster.url, name="penstock-bench")
        try:
            own = replace(configuration_of(app, 4), micro_batch_tuples=100_000, block_rows=10_000)
            with started(session, app, folder / "checkpoint", own) as handle:
                watch_batches(handle, 5, show, "cluster, warming up")
                observed = watch_batches(handle, effort.cluster_batches, show, "cluster, steady routes")
        finally:
            close_session(session)
    return tuple(o.slots_rebuilt for o in observed)


def state_figures(result: StateResult) -> dict[str, Any]:
    return {
        "bench": "state",
        "slots_rebuilt_per_batch": result.slots_rebuilt_per_batch,
        "cluster_batches": len(result.cluster_slots_rebuilt or ()),
        "cluster_because": result.cluster_because,
        "cases": [case.to_json() for case in result.cases],
    }


def state_tables(result: StateResult) -> list[Table]:
    table = table_of(
        "full: values held, of those that full windows hold; bytes a value: memory of entries in chunks, of values\n"
        "held; restart: start to first result after SIGKILL of the driver; rebuild: first micro-batch after the\n"
        "host's memory was wiped, less a later one; zipf: few keys have most of the tuples",
        "keys", "window", "M tuples/s", "checksum", "full", "bytes a key", "bytes a value", "log, bytes a tuple",
        "restart, ms", "slots rebuilt", "rebuild, ms", "slots rebuilt",
    )  # fmt: skip
    for case in result.cases:
        if not case.because:
            table.add_row(*_row(case))
    return [table]


def _row(case: CaseResult) -> Sequence[str]:
    f = case.figures
    rate = millions(f["tuples_s"]) if "tuples_s" in f else "-"
    full = f"{f['filled_ratio']:.1%}" if "filled_ratio" in f else "-"
    equal = "-" if f.get("checksum_equal") is None else "equal" if f["checksum_equal"] else "DIFFERENT"
    bytes_per_key = "-" if case.bytes_per_key is None else f"{case.bytes_per_key:,.0f}"
    ratio = f.get("entry_bytes_over_value_bytes")
    bytes_per_value = "-" if ratio is None else f"{8 * ratio:.2f} ({ratio:g} x)"
    zipf = " zipf" if case.key_distribution == "zipf" else ""
    names = ("log_bytes_per_tuple", "restart_ms", "restart_slots_rebuilt", "rebuild_ms", "rebuild_slots")
    rest = ("-" if f.get(name) is None else f"{f[name]:,}" for name in names)
    start = (f"{case.keys:,}{zipf}", f"{case.window_tuples:,}", rate, equal, full, bytes_per_key, bytes_per_value)
    return (*start, *rest)


def state_notes(result: StateResult) -> list[str]:
    absent = [f"{case.keys:,} keys, windows of {case.window_tuples:,}: not measured; {case.because}"
              for case in result.cases if case.because]  # fmt: skip
    return [*absent, *_cluster_notes(result)]


def _cluster_notes(result: StateResult) -> list[str]:
    if result.slots_rebuilt_per_batch is None:
        return [f"slots rebuilt on a cluster: not measured; {result.cluster_because}"]
    batches = len(result.cluster_slots_rebuilt or ())
    return [f"standalone cluster, two hosts, steady routes: {result.slots_rebuilt_per_batch:g} slots rebuilt a batch "
            f"over {batches} batches (goal 0)"]  # fmt: skip
