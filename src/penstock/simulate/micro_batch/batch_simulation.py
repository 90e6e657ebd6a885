"""A model in micro-batches for so many seconds: the same figures as in continuous mode.

One event is one task finished; a block is the part of a micro-batch that an element gets, its number the micro-batch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.measure.latency_sketch import LatencySketch, merged, sketch_of
from penstock.plan.nodes import Nodes
from penstock.simulate.events.results import Latency, NodeResult, OperatorResult, Result
from penstock.simulate.events.simulation import log_rows
from penstock.simulate.micro_batch.batches import Batch
from penstock.simulate.micro_batch.plant import BatchPlant


@dataclass
class _Sums:
    """Over the micro-batches that were committed after the warm-up."""

    batches: int = 0
    tuples: float = 0.0
    results: float = 0.0
    stay_s: float = 0.0
    sketches: list[LatencySketch] = field(default_factory=list)
    by_operator: dict[str, np.ndarray] = field(default_factory=dict)  # waited, tuples in, out, tasks, stayed
    busy_s: dict[int, float] = field(default_factory=dict)

    def add(self, batch: Batch, sinks: set[str]) -> None:
        self.batches += 1
        self.tuples += batch.tuples
        self.results += sum(stage.tuples_out for stage in batch.stages if stage.element.name in sinks)
        self.stay_s += float((batch.latencies_s * batch.weights).sum())
        self.sketches.append(sketch_of(batch.latencies_s * 1000.0, batch.weights))
        arrived_s = batch.committed_s - (self._mean_stay_s(batch) if batch.tuples else 0.0)
        for stage in batch.stages:
            begins_s = stage.began_s + float(stage.placed.begins_s.min(initial=0.0))
            ended_s = stage.began_s + float(stage.placed.ends_s.max(initial=0.0))
            reads_source = any(name in batch.taken for name in stage.element.inputs)
            waited_s = begins_s - arrived_s if reads_source else stage.placed.begins_s.mean()
            own = (stage.tuples * waited_s, stage.tuples, stage.tuples_out, len(stage.busy_s),
                   stage.tuples * (ended_s - begins_s + waited_s))  # fmt: skip
            self.by_operator[stage.element.name] = self.by_operator.get(stage.element.name, np.zeros(5)) + own
            worked_s = stage.busy_s - stage.stalled_s + stage.jvm_cpu_s
            for node, busy_s in zip(stage.placed.nodes.tolist(), worked_s.tolist(), strict=True):
                self.busy_s[node] = self.busy_s.get(node, 0.0) + busy_s

    @staticmethod
    def _mean_stay_s(batch: Batch) -> float:
        return float((batch.latencies_s * batch.weights).sum() / batch.weights.sum())


def run_batches(
    plant: BatchPlant,
    nodes: Nodes,
    seconds: float,
    warm_up_s: float,
    *,
    record: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """A plant from its beginning to its end, under the Configuration that it has."""
    sums, rows, events = _Sums(), [], 0
    read = {name for own in plant.batches.elements for name in own.inputs}
    sinks = {own.name for own in plant.batches.elements} - read
    while plant.time_s < seconds:
        batch = plant.next_batch()
        events += sum(len(stage.busy_s) for stage in batch.stages)
        if record:
            rows += _rows(batch, nodes.names)
        if batch.committed_s > warm_up_s:
            sums.add(batch, sinks)
        if progress is not None:
            progress(min(plant.time_s, seconds))
    time_s = max(plant.time_s - warm_up_s, 1e-9)
    log = log_rows(*_columns(rows)) if record else None
    return Result(
        sums.results / time_s, _latency(sums.sketches), _operators(plant, sums, time_s), sums.stay_s / time_s,
        _nodes(nodes, sums, time_s), events, time_s, log,
    )  # fmt: skip


def _latency(sketches: Sequence[LatencySketch]) -> Latency:
    whole = merged(sketches)
    if not whole.counts:
        return Latency(None, None, None, None)
    p50, p95, p99 = (whole.quantile(share) / 1000.0 for share in (0.5, 0.95, 0.99))
    return Latency(whole.mean_ms / 1000.0, p50, p95, p99)


def _operators(plant: BatchPlant, sums: _Sums, time_s: float) -> dict[str, OperatorResult]:
    found = {}
    for element in plant.batches.elements:
        waited, come, gone, tasks, stayed = sums.by_operator.get(element.name, np.zeros(5)).tolist()
        found[element.name] = OperatorResult(
            waited / come if come else None, waited / time_s, 0, int(tasks), come / time_s, gone / time_s,
            stayed / time_s,
        )  # fmt: skip
    return found


def _nodes(nodes: Nodes, sums: _Sums, time_s: float) -> dict[str, NodeResult]:
    found, number = {}, 0
    for group in nodes.groups:
        for name in group.names:
            busy_s = sums.busy_s.get(number, 0.0)
            found[name] = NodeResult(busy_s / (group.cores * time_s), busy_s, group.cores)
            number += 1
    return found


def _rows(batch: Batch, names: Sequence[str]) -> list[tuple[float, str, int, int, str]]:
    found = []
    for stage in batch.stages:
        ends_s = (stage.began_s + stage.placed.ends_s).tolist()
        for task, (end_s, node) in enumerate(zip(ends_s, stage.placed.nodes.tolist(), strict=True)):
            found.append((end_s, stage.element.name, task, batch.number, names[node]))
    return sorted(found)


def _columns(rows: list[tuple[float, str, int, int, str]]) -> list[Any]:
    times, operators, tasks, blocks, nodes = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return [
        np.array(times, np.float64), np.array(operators, np.str_), np.array(tasks, np.int32),
        np.array(blocks, np.int64), np.array(nodes, np.str_),
    ]  # fmt: skip
