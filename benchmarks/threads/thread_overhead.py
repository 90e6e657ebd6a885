"""What the machinery of threads costs at a level of one, and what taking ingestion apart from processing gains."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.threads.measured.model_graph import SCHEMA, Work, graph_of
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.element import Element
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.kernels.flops import burn
from penstock.operators.protocol import OperatorRuntime, Stateless
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import balanced, one_operator, pipeline

_PAYLOAD_ROWS = 64
_WORTH_A_QUEUE_FLOP = 1_000_000
Ingest = Callable[[], object]
Figure = TypeVar("Figure")
_T_95 = 2.05  # Student's t at 95 % for 30 pairs; for more it is a little less


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """The ratio of one way's seconds to the other's: median of all pairs, 95 % confidence interval of the mean."""

    pairs: int
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.4f} ({self.low:.4f}-{self.high:.4f})"


def paired_ratio(seconds: Sequence[tuple[float, float]]) -> PairedRatio:
    """The ratio of first to second over pairs; means are of logarithms, so that both directions count alike.

    >>> str(paired_ratio([(1.0, 2.0)] * 30))
    '0.5000 (0.5000-0.5000)'
    """
    logs = [math.log(one / other) for one, other in seconds]
    low, high = interval(logs)
    return PairedRatio(len(logs), math.exp(median(logs)), math.exp(low), math.exp(high))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean.

    >>> interval([1.0] * 30)
    (1.0, 1.0)
    """
    spread = _T_95 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return fmean(values) - spread, fmean(values) + spread


def in_turns(one: Callable[[], Figure], other: Callable[[], Figure], pairs: int) -> list[tuple[Figure, Figure]]:
    """What both give, measured as pairs; which goes first alternates."""
    measured = []
    for pair in range(pairs):
        if pair % 2:
            second = other()
            measured.append((one(), second))
        else:
            first = one()
            measured.append((first, other()))
    return measured


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of one run: on the CPU, by the clock, and, if measured separately, CPU outside of operators."""

    cpu_s: float
    wall_s: float
    machinery_s: float = 0.0


@dataclass(frozen=True, slots=True)
class OverheadRow:
    """A load; shares of all CPU seconds; CPU and wall seconds with threads over those without.

    `outside_share` is everything but operators, and clock readings around each; `calls_share` is what function calls
    alone have outside of them: after milliseconds of a kernel the interpreter is out of the caches either way.
    `machinery_interval` is of the difference, pair by pair (95 %).
    """

    flop: int
    block_rows: int
    outside_share: float
    calls_share: float
    machinery_interval: tuple[float, float]
    cpu: PairedRatio
    wall: PairedRatio

    @property
    def machinery_share(self) -> float:
        """What threads take, beyond what calls take anyway."""
        return self.outside_share - self.calls_share

    @property
    def is_worth_a_queue(self) -> bool:
        """Whether a block takes about a millisecond or more; smaller ones are better called."""
        return self.flop * self.block_rows >= _WORTH_A_QUEUE_FLOP


@dataclass(frozen=True, slots=True)
class IngestionRow:
    """How ingestion works, how long it and the operator take per block, and the gain of a thread for the operator."""

    kind: str
    ingest_ms: float
    work_ms: float
    gain: PairedRatio


@dataclass(frozen=True, slots=True)
class PayloadRow:
    """CPU microseconds of a block on its way through one queue, at so many bytes per tuple."""

    payload_bytes: int
    hop_us: float


class OneOperator:
    """Runs blocks through one operator, with threads and without."""

    def __init__(self, model: ElementModel, blocks: int, ingest: Ingest = lambda: None) -> None:
        self._graph, self._works = graph_of(model)
        self._blocks, self._ingest = blocks, ingest
        values = np.zeros(model.block_tuples)
        self._fed = {"source": Block(SCHEMA, (FixedColumn(values, pa.float64()),), model.block_tuples)}

    def without_threads(self) -> Spent:
        return self._called(lambda operator, *_: self._works[operator.name])

    def calls_with_waits(self) -> Spent:
        """Without threads, with the CPU clock around each call of the operator."""
        timed = _Timed(self._works["work"])
        spent = self._called(lambda *_: timed)
        return Spent(spent.cpu_s, spent.wall_s, spent.cpu_s - timed.spent_ns / 1e9)

    def with_threads(self) -> Spent:
        return self._threaded(time_every=16)

    def with_waits(self) -> Spent:
        return self._threaded(time_every=1)

    def _called(self, make: Callable[..., OperatorRuntime]) -> Spent:
        element = Element(self._graph, DeadLetters(), {}, positioned=frozenset(), make=make)
        return self._spent(lambda: element.step(self._fed, EVERYTHING))

    def _threaded(self, time_every: int) -> Spent:
        with ThreadedElement(
            self._graph, DeadLetters(), {}, positioned=frozenset(), make=lambda o, *_: self._works[o.name],
            threads=1, queued=["work"], time_every=time_every,
        ) as element:  # fmt: skip
            spent = self._spent(lambda: element.feed(self._fed), element.drain)
            return Spent(spent.cpu_s, spent.wall_s, spent.cpu_s - sum(element.operator_cpu_s.values()))

    def _spent(self, feed: Ingest, drain: Ingest = lambda: None) -> Spent:
        def run() -> None:
            for _ in range(self._blocks):
                self._ingest()
                feed()
            drain()

        return _spent(run)


def overhead(flop: int, block_rows: int, *, run_s: float, flop_s: float, pairs: int) -> OverheadRow:
    """One load at one block size, in runs of about `run_s`."""
    blocks = (
        max(4, round(run_s * flop_s / (flop * block_rows))) if flop * block_rows > flop_s / 1e5 else round(1e4 * run_s)
    )
    runs = OneOperator(one_operator(flop, block_tuples=block_rows), blocks)
    runs.with_threads()
    apart = in_turns(runs.with_waits, runs.calls_with_waits, pairs)
    spent = in_turns(runs.with_threads, runs.without_threads, pairs)
    return OverheadRow(
        flop, block_rows, _share([threads for threads, _ in apart]), _share([calls for _, calls in apart]),
        interval([_share([threads]) - _share([calls]) for threads, calls in apart]),
        paired_ratio([(one.cpu_s, other.cpu_s) for one, other in spent]),
        paired_ratio([(one.wall_s, other.wall_s) for one, other in spent]),
    )  # fmt: skip


def ingestion(kind: str, ingest_ms: float, work_ms: float, *, blocks: int, flop_s: float, pairs: int) -> IngestionRow:
    """Ingestion that waits or computes, and an operator that computes, on one thread and on one each."""
    ingest_flop = round(ingest_ms / 1000 * flop_s)
    ingest: Ingest = lambda: time.sleep(ingest_ms / 1000)  # noqa: E731
    if kind == "computes":
        ingest = lambda: burn(1, ingest_flop)  # noqa: E731
    runs = OneOperator(one_operator(round(work_ms / 1000 * flop_s), block_tuples=1), blocks, ingest)
    runs.with_threads()
    spent = in_turns(runs.without_threads, runs.with_threads, pairs)
    return IngestionRow(kind, ingest_ms, work_ms, paired_ratio([(one.wall_s, other.wall_s) for one, other in spent]))


def payload(payload_bytes: int, *, blocks: int, rounds: int, operators: int = 20) -> PayloadRow:
    """Blocks of tuples of a size through operators that do nothing, a queue in front of each; the best round counts."""
    graph, works = graph_of(pipeline(operators, balanced(0)))
    schema = pa.schema([(f"x{i}", pa.float64()) for i in range(payload_bytes // 8)])
    columns = tuple(FixedColumn(np.zeros(_PAYLOAD_ROWS), pa.float64()) for _ in schema)
    fed = {"source": Block(schema, columns, _PAYLOAD_ROWS)}
    with ThreadedElement(
        graph, DeadLetters(), {}, positioned=frozenset(), make=lambda o, *_: works[o.name], threads=1, queued=works,
        sample_period_s=None,
    ) as element:  # fmt: skip

        def run() -> None:
            for _ in range(blocks):
                element.feed(fed)
            element.drain()

        best_s = min(_spent(run).cpu_s for _ in range(rounds + 1))
    return PayloadRow(payload_bytes, best_s / (blocks * operators) * 1e6)


class _Timed(Stateless):
    """An operator whose calls are timed by the CPU clock."""

    def __init__(self, work: Work) -> None:
        self._work, self.spent_ns = work, 0

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        begin_ns = time.thread_time_ns()
        outputs = self._work.process(inputs, frontier)
        self.spent_ns += time.thread_time_ns() - begin_ns
        return outputs


def _share(runs: Sequence[Spent]) -> float:
    return sum(each.machinery_s for each in runs) / sum(each.cpu_s for each in runs)


def _spent(run: Callable[[], None]) -> Spent:
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    run()
    return Spent(time.process_time() - cpu_s, time.perf_counter() - wall_s)
