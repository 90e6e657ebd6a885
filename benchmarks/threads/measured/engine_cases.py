"""Loads on the in-process engine of this machine, as users run it: at fixed numbers of threads, and elastic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.threads.elastic_operator import FLOP_BY_LOAD, WAITS_MS
from benchmarks.threads.external_load import Phase
from benchmarks.threads.measured.fed_engine import EnginePeriod, FedEngine
from benchmarks.threads.measured.pegged_cores import PeggedCores
from penstock.operators.stateless.load import flop_s, rows_within
from penstock.plan.thread_setting import ElasticThreads, ThreadPolicyName
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import one_operator

WAITING_LEVELS = (1, 2, 4, 8, 16, 32, 48, 64)
_WAITING_ROWS = 64
_FIXED_PERIODS = 3


@dataclass(frozen=True, slots=True)
class EngineCase:
    """A load, as one operator behind a queue; `levels` are the fixed numbers of threads to try."""

    name: str
    model: ElementModel
    levels: tuple[int, ...]
    period_s: float = 1.0

    def fixed_rates(self) -> dict[int, float]:
        """Throughput by number of threads."""
        return {level: self.fixed_rate(level) for level in self.levels}

    def fixed_rate(self, level: int, periods: int = _FIXED_PERIODS) -> float:
        """Throughput at one number of threads: the mean of some periods, after one to get going."""
        with FedEngine(self.model, level) as engine:
            engine.period(self.period_s)
            return mean(engine.period(self.period_s).tuples_s for _ in range(periods))

    def elastic(self, policy: ThreadPolicyName, periods: int) -> list[EnginePeriod]:
        """What a policy does from the start, at whatever number of threads a user's engine allows it."""
        with FedEngine(self.model, ElasticThreads(policy=policy, period_s=self.period_s)) as engine:
            return [engine.period(self.period_s) for _ in range(periods)]

    def loaded(self, threads: int | ElasticThreads, phases: Sequence[Phase]) -> list[EnginePeriod]:
        """The same for all phases, while other processes peg cores, after a period to get going."""
        with FedEngine(self.model, threads) as engine, PeggedCores() as pegged:
            engine.period(self.period_s)
            seen = []
            for taken in taken_cores(phases):
                if taken != pegged.cores:
                    pegged.set(taken)
                seen.append(engine.period(self.period_s))
            return seen


def taken_cores(phases: Sequence[Phase]) -> Iterator[int]:
    """How many cores are taken, period by period."""
    for phase in phases:
        yield from [phase.taken_cores] * (phase.end - phase.begin)


def elastic_cases(cores: int, period_s: float = 1.0) -> list[EngineCase]:
    """The computing and the waiting loads of `python -m benchmarks elastic-operator`."""
    rate, cases = flop_s(), []
    for load, flop in FLOP_BY_LOAD.items():
        model = one_operator(flop, block_tuples=rows_within(flop, rate))
        cases.append(EngineCase(f"{load}, real", model, tuple(range(1, 2 * cores + 1)), period_s))
    for wait_ms in WAITS_MS:
        model = one_operator(1, block_tuples=_WAITING_ROWS, wait_s=wait_ms / 1000)
        cases.append(EngineCase(f"waiting {wait_ms} ms, real", model, WAITING_LEVELS, period_s))
    return cases


def load_case(cores: int, period_s: float = 1.0) -> EngineCase:
    """The heavy load at up to as many threads as cores.

    More would take time from the processes that peg cores, by their number alone; an engine does not do that.
    """
    model = one_operator(10_000, block_tuples=rows_within(10_000, flop_s()))
    return EngineCase("heavy, real", model, tuple(range(1, cores + 1)), period_s)
