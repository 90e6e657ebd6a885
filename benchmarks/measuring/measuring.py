"""What measuring costs: the same blocks through the same operators with and without meters, in turns.

No Spark, no envelopes, no state in slots: everything that measuring has to be small against in a real run is left out
but the operators, so that the ratios are the highest there are.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from penstock.block.block import Block, block_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.connectors.trace.source import TraceSource
from penstock.element.element import Element
from penstock.measure.task.block_bytes import block_bytes
from penstock.measure.task.task_meters import ElementMeters, TaskStart, encoded
from penstock.measure.task.task_report import task_report
from penstock.operators.factory import make_operator

BLOCK_ROWS = (1_000, 8_192, 32_768)
SEED = 7


@dataclass(frozen=True, slots=True)
class MeasuringCost:
    """Extra CPU / CPU without meters, of each pair of rounds; and the share that the meters say they took."""

    block_rows: int
    ratios: tuple[float, ...]
    reported_ratio: float
    timed_ratio: float  # blocks that were timed / all

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the median, by the binomial distribution of ranks."""
        ordered, n = sorted(self.ratios), len(self.ratios)
        low = max(0, int(n / 2 - 0.98 * n**0.5))
        return ordered[low], ordered[n - 1 - low]


def measure(block_rows: int, tuples: int, pairs: int) -> MeasuringCost:
    """Rounds of `tuples` tuples with and without meters, in turns; the order changes from pair to pair."""
    graph = vwap_per_ticker().graph
    schema, trace = graph.sources[0].schema, TraceSource(seed=SEED).open()
    blocks = [block_of(trace.batch(i, i + block_rows), schema) for i in range(0, tuples, block_rows)]
    meters = ElementMeters()
    bare = Element(graph, DeadLetters(), {"out": "out"})
    metered = Element(
        graph, DeadLetters(), {"out": "out"}, make=lambda o, g, d: meters.metered(o.name, make_operator(o, g, d))
    )
    for _ in range(3):
        _bare_s(bare, blocks)
        _metered_s(metered, meters, blocks)
    ratios, reported, timed = [], [], []
    for pair in range(pairs):
        gc.collect()
        first_s = _bare_s(bare, blocks) if pair % 2 else None
        own_s, reported_s, timed_ratio = _metered_s(metered, meters, blocks)
        bare_s = _bare_s(bare, blocks) if first_s is None else first_s
        ratios.append(own_s / bare_s - 1)
        reported.append(reported_s / own_s)
        timed.append(timed_ratio)
    return MeasuringCost(block_rows, tuple(ratios), median(reported), float(np.mean(timed)))


def _bare_s(element: Element, blocks: Sequence[Block]) -> float:
    start_s = time.thread_time()
    for block in blocks:
        outputs = element.step({"quotes": block}, EVERYTHING)
        assert outputs["out"].schema is not None  # held until the next is there, as in a task: that alone costs 10 %
    return time.thread_time() - start_s


def _metered_s(element: Element, meters: ElementMeters, blocks: Sequence[Block]) -> tuple[float, float, float]:
    """A task as `runtime.replica.task` measures it: its CPU, what it says measuring took, the share of timed blocks."""
    start_s = time.thread_time()
    figures = meters.begin(0, TaskStart())
    for block in figures.exit.outward(blocks):
        figures.took("quotes", block.rows, block_bytes(block))
        if figures.step_turn.is_due():
            start_ns = time.perf_counter_ns()
            outputs = element.step({"quotes": block}, EVERYTHING)
            figures.service.add(block.rows, time.perf_counter_ns() - start_ns)
        else:
            outputs = element.step({"quotes": block}, EVERYTHING)
        figures.gave("out", outputs["out"].rows, block_bytes(outputs["out"]))
        figures.triggers.add(outputs["out"], 0, 0, block.rows)
    plain = figures.report()
    encoded(plain)
    report = task_report(plain)
    operators = report.replica.operators
    timed = sum(o.timed_blocks for o in operators) / sum(o.blocks for o in operators)
    return time.thread_time() - start_s, report.replica.measuring_cpu_s, timed
