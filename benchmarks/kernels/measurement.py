"""Measuring: operator, kernel and limit in turns, over the same blocks in the same process, as many passes each."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.kernels.cases.bare_kernels import Runner
from benchmarks.kernels.equality import check_equal
from benchmarks.kernels.job import Case, Job, Scale
from benchmarks.kernels.ours import Ours
from benchmarks.kernels.peers import peers_of, rate_tuples_s
from benchmarks.report import Show

_TURN_S = 0.03


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure; windows are filled with at most `warm_tuples` first."""

    rounds: int = 7
    round_s: float = 0.3
    warm_tuples: int = 120_000_000
    peer_repeats: int = 3
    seed: int = 1


QUICK = Effort(rounds=3, round_s=0.08, warm_tuples=3_000_000, peer_repeats=1)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Rates of one case, by round, and the batch rates of its peers.

    `operator` is the whole way through the engine, `kernel` its kernel alone on the limit's arrays and `lookup` its
    way from keys to ids; the latter two are empty where a case has none of its own.
    """

    case: Case
    operator_tuples_s: tuple[float, ...]
    limit_tuples_s: tuple[float, ...]
    kernel_tuples_s: tuple[float, ...] = ()
    lookup_tuples_s: tuple[float, ...] = ()
    peers_tuples_s: dict[str, float] = field(default_factory=dict)
    why_no_peer: str = ""

    @property
    def operator_ratios(self) -> tuple[float, ...]:
        """The whole operator to the limit, by round."""
        return self._to_limit(self.operator_tuples_s)

    @property
    def kernel_ratios(self) -> tuple[float, ...]:
        """The bare kernel to the limit, by round; empty where there is none."""
        return self._to_limit(self.kernel_tuples_s)

    @property
    def ratios(self) -> tuple[float, ...]:
        """What the goal is about: the kernel where there is one, else the whole operator."""
        return self.kernel_ratios or self.operator_ratios

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def reaches_goal(self) -> bool | None:
        """None where there is no goal."""
        return None if self.case.goal_ratio is None else self.ratio >= self.case.goal_ratio

    def _to_limit(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(rate / limit for rate, limit in zip(rates, self.limit_tuples_s, strict=bool(rates)))


def run_cases(cases: Sequence[Case], effort: Effort, *, with_peers: bool) -> list[Measurement]:
    """Measures one case after the other; progress goes to the standard error."""
    columns = (MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    results: list[Measurement] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("", total=len(cases))
        for case in cases:

            def show(step: str, name: str = case.name) -> None:
                display.update(task, description=f"{name}: {step}")

            results.append(measure(case, effort, with_peers=with_peers, progress=show))
            display.advance(task)
    return results


def measure(case: Case, effort: Effort, *, with_peers: bool, progress: Show) -> Measurement:
    """Checks that all outputs are equal on a slice, then measures."""
    progress("checking that outputs are equal")
    check_equal(case, with_peers=with_peers)
    blocks = max(64 * 8192 // case.block_rows, 8)
    job = case.make(Scale(block_rows=case.block_rows, blocks=blocks, seed=effort.seed))
    measured = _rounds(job, effort, progress)
    gc.collect()  # state of up to gigabytes goes before the next case
    peers: dict[str, float] = {}
    for peer in peers_of(job.query, job.tables) if with_peers else ():
        progress(f"{peer.name} on the whole as one batch")
        peers[peer.name] = rate_tuples_s(peer, job.tuples, effort.peer_repeats)
    return Measurement(
        case, measured["operator"], measured["limit"], measured.get("kernel", ()), measured.get("lookup", ()),
        peers, job.query.why_not,
    )  # fmt: skip


def _runners(job: Job) -> dict[str, Runner]:
    """What runs in turns: the limit beside each way of ours that the job has."""
    runners: dict[str, Runner] = {"operator": Ours(job), "limit": job.loop}
    if job.kernel is not None:
        runners["kernel"] = job.kernel()
    if job.lookup is not None:
        runners["lookup"] = job.lookup()
    return runners


def _rounds(job: Job, effort: Effort, progress: Show) -> dict[str, tuple[float, ...]]:
    """Rates by round of each runner, after all have filled their windows alike."""
    runners = _runners(job)
    progress("filling windows")
    warm_passes = 2 + min(job.warm_tuples, effort.warm_tuples) // job.tuples
    for name, runner in runners.items():
        _pass_s(runner, len(job.cuts), 2 if name == "lookup" else warm_passes)
    slowest_s = max(_pass_s(runner, len(job.cuts), 1) for runner in runners.values())
    passes = max(1, round(_TURN_S / slowest_s))
    turns = max(1, round(effort.round_s / (passes * slowest_s)))
    rates: dict[str, list[float]] = {name: [] for name in runners}
    for number in range(effort.rounds):
        progress(f"round {number + 1} of {effort.rounds}")
        for name, spent_s in _turns_s(runners, len(job.cuts), passes, turns).items():
            rates[name].append(turns * passes * job.tuples / spent_s)
    return {name: tuple(by_round) for name, by_round in rates.items()}


def _turns_s(runners: dict[str, Runner], blocks: int, passes: int, turns: int) -> dict[str, float]:
    """Seconds of each runner over many short turns, so that whatever else the machine does falls on all."""
    seconds = dict.fromkeys(runners, 0.0)
    names = list(runners)
    for turn in range(turns):
        for name in names if turn % 2 == 0 else reversed(names):
            seconds[name] += _pass_s(runners[name], blocks, passes)
    return seconds


def _pass_s(runner: Runner, blocks: int, passes: int) -> float:
    """Seconds of this thread's CPU clock for so many passes; moving event times on between them does not count.

    All run on this thread and never wait, so on a machine that does nothing else these are seconds of the wall clock.
    """
    run = runner.run
    total_s = 0.0
    for _ in range(passes):
        begin = time.thread_time()
        for number in range(blocks):
            run(number)
        total_s += time.thread_time() - begin
        runner.advance()
    return total_s
