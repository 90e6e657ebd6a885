"""Measuring: ours and its limit in turns, over the same blocks in the same process, the same number of passes each."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from penstock.bench.equality import check_equal
from penstock.bench.job import Case, Job, Scale
from penstock.bench.ours import Ours
from penstock.bench.peers import peers_of, rate_tuples_s

Progress = Callable[[str], None]
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
    """Rates of one case, by round, and the batch rates of its peers."""

    case: Case
    ours_tuples_s: tuple[float, ...]
    limit_tuples_s: tuple[float, ...]
    peers_tuples_s: dict[str, float] = field(default_factory=dict)
    why_no_peer: str = ""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Ours to the limit, by round."""
        return tuple(ours / limit for ours, limit in zip(self.ours_tuples_s, self.limit_tuples_s, strict=True))

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def reaches_goal(self) -> bool | None:
        """None where there is no goal."""
        return None if self.case.goal_ratio is None else self.ratio >= self.case.goal_ratio


class _Runner(Protocol):
    def run(self, number: int) -> Any: ...

    def advance(self) -> None: ...


def measure(case: Case, effort: Effort, *, with_peers: bool, progress: Progress) -> Measurement:
    """Checks that all outputs are equal on a slice, then measures."""
    progress("checking that outputs are equal")
    check_equal(case, with_peers=with_peers)
    blocks = max(64 * 8192 // case.block_rows, 8)
    job = case.make(Scale(block_rows=case.block_rows, blocks=blocks, seed=effort.seed))
    ours, limit = _rounds(job, effort, progress)
    gc.collect()  # state of up to gigabytes goes before the next case
    rates: dict[str, float] = {}
    for peer in peers_of(job.query, job.tables) if with_peers else ():
        progress(f"{peer.name} on the whole as one batch")
        rates[peer.name] = rate_tuples_s(peer, job.tuples, effort.peer_repeats)
    return Measurement(case, ours, limit, rates, job.query.why_not)


def _rounds(job: Job, effort: Effort, progress: Progress) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Rates of ours and of the limit by round, after both have filled their windows alike."""
    runners: tuple[_Runner, _Runner] = (Ours(job), job.loop)
    progress("filling windows")
    warm_passes = 2 + min(job.warm_tuples, effort.warm_tuples) // job.tuples
    for runner in runners:
        _pass_s(runner, len(job.cuts), warm_passes)
    slower_s = max(_pass_s(runner, len(job.cuts), 1) for runner in runners)
    passes = max(1, round(_TURN_S / slower_s))
    turns = max(1, round(effort.round_s / (passes * slower_s)))
    rates: tuple[list[float], list[float]] = ([], [])
    for number in range(effort.rounds):
        progress(f"round {number + 1} of {effort.rounds}")
        seconds = _turns_s(runners, len(job.cuts), passes, turns)
        for which, spent_s in enumerate(seconds):
            rates[which].append(turns * passes * job.tuples / spent_s)
    return tuple(rates[0]), tuple(rates[1])


def _turns_s(runners: tuple[_Runner, _Runner], blocks: int, passes: int, turns: int) -> list[float]:
    """Seconds of each runner over many short turns, so that whatever else the machine does falls on both."""
    seconds = [0.0, 0.0]
    for turn in range(turns):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds[which] += _pass_s(runners[which], blocks, passes)
    return seconds


def _pass_s(runner: _Runner, blocks: int, passes: int) -> float:
    """Seconds of this thread's CPU clock for so many passes; moving event times on between them does not count.

    Both run on this thread and never wait, so on a machine that does nothing else these are seconds of the wall clock.
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
