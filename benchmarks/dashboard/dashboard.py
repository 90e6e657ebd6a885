"""A run on local Spark with and without its dashboard, in turns: throughput, and CPU and memory of the dashboard."""

from __future__ import annotations

import http.client
import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import penstock as ps
from benchmarks.machine import this_machine
from benchmarks.report import Show, finish, measured, table_of, wide_console
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.errors import InputError
from penstock.host.cores import own_cores
from penstock.watch.dashboard_process import DashboardProcess, start_dashboard

MOST_ONE, MOST_TWENTY, LEAST_RATIO = 0.01, 0.03, 0.98
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Effort:
    """`rounds` of four turns, without the dashboard, with it twice, without; then a turn with twenty clients.

    Short turns in this order: rates drift by more than a tenth within minutes, which long turns would take for a cost.
    """

    warm_s: float = 45.0
    turn_s: float = 3.0
    rounds: int = 16
    settle_s: float = 12.0
    twenty_s: float = 45.0


QUICK = Effort(20.0, 3.0, 3, 5.0, 12.0)


@dataclass(slots=True)
class Found:
    """Throughputs by turn, shares of the machine's CPU, and the dashboard's memory over time."""

    without: list[float] = field(default_factory=list)
    with_dashboard: list[float] = field(default_factory=list)
    cpu_one: list[float] = field(default_factory=list)
    cpu_twenty: float = 0.0
    memory: list[tuple[float, float]] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """By round, so that a steady drift within one cancels out."""
        without, with_it = (
            np.add.reduceat(turns, range(0, len(turns), 2)) for turns in (self.without, self.with_dashboard)
        )
        return list(with_it / without)


def run_dashboard(*, quick: bool, json_file: Path | None, folder: Path | None) -> None:
    """Prints what was found, and ends with one JSON object."""
    effort = QUICK if quick else Effort()
    found = measured(measure, effort, folder)
    low, high = interval(found.ratios)
    body = {
        "cpu_share_one": round(statistics.mean(found.cpu_one), 5),
        "cpu_share_twenty": round(found.cpu_twenty, 5),
        "throughput_ratio": round(statistics.mean(found.ratios), 4),
        "throughput_ratio_low": round(low, 4),
        "throughput_ratio_high": round(high, 4),
        "memory_slope_mb_h": round(slope_mb_h(found.memory[len(found.memory) // 3 :]), 3),  # once rings are full
        "memory_mb": round(found.memory[-1][1], 1) if found.memory else None,
        "turns": len(found.without) + len(found.with_dashboard),
        "turn_s": effort.turn_s,
        "spread_of_turns": round(statistics.stdev(found.without) / statistics.mean(found.without), 3),
    }
    table = table_of("the dashboard beside a run on local Spark", "figure", "found", "bound")
    table.add_row("CPU of the machine, one client", f"{body['cpu_share_one']:.2%}", f"at most {MOST_ONE:.0%}")
    table.add_row("CPU of the machine, twenty clients", f"{body['cpu_share_twenty']:.2%}", f"at most {MOST_TWENTY:.0%}")
    table.add_row(
        "throughput with / without", f"{body['throughput_ratio']} ({low:.3f} to {high:.3f})", f"at least {LEAST_RATIO}"
    )
    table.add_row("memory, MB an hour", f"{body['memory_slope_mb_h']}", "flat")
    wide_console(100).print(table)
    finish(body, this_machine(), json_file)


def measure(effort: Effort, folder: Path, show: Show) -> Found:
    """Turns of one run: without a dashboard, and with one and a client."""
    found = Found()
    app = vwap_per_ticker(source=ps.sources.trace("unbounded", seed=7), sink=ps.sinks.discard())
    handle = ps.start(app, checkpoint=folder / "checkpoint", session=None)
    try:
        show("warming up")
        warm_up(handle, effort.warm_s)
        with watched(handle, clients=1) as page:
            handle.wait(effort.settle_s)
            for turn in range(4 * effort.rounds):
                show(f"turns without and with a client: {turn + 1} of {4 * effort.rounds}")
                _take_turn(handle, page, effort.turn_s, found, watches=turn % 4 in (1, 2))
        show("twenty clients")
        with watched(handle, clients=20) as page:
            handle.wait(effort.settle_s)
            begin_s = cpu_s(page)
            for _ in range(int(effort.twenty_s)):
                handle.wait(1.0)
            found.cpu_twenty = (cpu_s(page) - begin_s) / (int(effort.twenty_s) * own_cores())
    finally:
        handle.stop()
    return found


def _take_turn(handle: ps.Handle, page: DashboardProcess, turn_s: float, found: Found, *, watches: bool) -> None:
    """One turn; a dashboard that is stopped takes nothing, and what it missed it reads in its own next turn."""
    page.process.send_signal(signal.SIGCONT if watches else signal.SIGSTOP)
    begin_s, cpu_before_s = time.monotonic(), cpu_s(page)
    (found.with_dashboard if watches else found.without).append(throughput(handle, turn_s))
    if watches:
        found.cpu_one.append((cpu_s(page) - cpu_before_s) / ((time.monotonic() - begin_s) * own_cores()))
        found.memory.append((time.monotonic(), memory_mb(page)))


def warm_up(handle: ps.Handle, seconds: float) -> None:
    """Waits so long, and until the first micro-batch is over: a busy machine takes a minute to get there."""
    is_over = handle.wait(seconds)
    while not is_over and handle.observe() is None:
        is_over = handle.wait(1.0)
    if is_over:
        raise InputError("the run that the dashboard was to show has ended")


def throughput(handle: ps.Handle, seconds: float) -> float:
    """Tuples a second of the micro-batches that began and were committed within some seconds."""
    first = _next_observation(handle)
    handle.wait(seconds)
    last = _next_observation(handle)
    own = [o for o in handle.result.observations if first.batch < o.batch <= last.batch]
    assert first.committed_at_s is not None
    assert last.committed_at_s is not None
    return sum(o.tuples_in for o in own) / max(last.committed_at_s - first.committed_at_s, 1e-9)


def _next_observation(handle: ps.Handle) -> ps.Observation:
    """That of the next micro-batch that is committed."""
    before = handle.observe()
    while (seen := handle.observe()) is None or (before is not None and seen.batch == before.batch):
        if handle.wait(0.02):
            raise InputError("the run that the dashboard was to show has ended")
    return seen


@contextmanager
def watched(handle: ps.Handle, clients: int) -> Iterator[DashboardProcess]:
    """The dashboard in its process, with clients that read its events."""
    page = start_dashboard(handle.checkpoint.directory)
    stopping = threading.Event()
    readers = [threading.Thread(target=_read, args=(page.url, stopping), daemon=True) for _ in range(clients)]
    for reader in readers:
        reader.start()
    try:
        yield page
    finally:
        stopping.set()
        page.process.send_signal(signal.SIGCONT)
        page.close()
        for reader in readers:
            reader.join(5.0)


def _read(url: str, stopping: threading.Event) -> None:
    parts = urlsplit(url)
    with suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=30)
        connection.request("GET", "/api/events")
        answer = connection.getresponse()
        while not stopping.is_set() and answer.readline():
            pass


def cpu_s(page: DashboardProcess) -> float:
    fields = Path(f"/proc/{page.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(page: DashboardProcess) -> float:
    pages = int(Path(f"/proc/{page.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def slope_mb_h(memory: Sequence[tuple[float, float]]) -> float:
    """
    >>> round(slope_mb_h([(0.0, 50.0), (3600.0, 51.0), (7200.0, 52.0)]), 6)
    1.0
    """
    if len(memory) < 2:
        return 0.0
    times, sizes = np.array(memory).T
    return float(np.polyfit(times - times[0], sizes, 1)[0] * 3600)


def interval(ratios: Sequence[float], seed: int = 7) -> tuple[float, float]:
    """Where the mean lies with 95 %, by drawing rounds again."""
    draw = np.random.default_rng(seed)
    means = np.mean(draw.choice(np.asarray(ratios), (2000, len(ratios))), axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
