"""The Observation of a simulated micro-batch: the form in which Spark's driver makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    Observation,
    PortObservation,
    ReplicaObservation,
    latency_of,
)
from penstock.simulate.micro_batch.batches import Batch, Stage, variation
from penstock.simulate.micro_batch.costs import MicroBatchCosts


def observation_of(
    batch: Batch, costs: MicroBatchCosts, arrived: int, waiting: int, before_s: float | None, arrival_cv: float | None
) -> Observation:
    """`arrived`: tuples since the commit before; `waiting`: not taken; `before_s`: from that commit to its begin."""
    sketch = sketch_of(batch.latencies_s * 1000.0, batch.weights)
    period_s = batch.took_s + (before_s or 0.0)
    plan_s, publish_s = costs.batch_s / 2 + batch.pause_s, costs.batch_s / 2
    ends = {name for stage in batch.stages for name in stage.element.inputs}
    return Observation(
        batch=batch.number,
        started_at_s=batch.began_s,
        micro_batch_s=batch.took_s,
        tuples_in=batch.tuples,
        tuples_out=sum(stage.tuples_out for stage in batch.stages if stage.element.name not in ends),
        replicas_by_element={stage.element.name: _replicas(stage) for stage in batch.stages},
        latency=latency_of(sketch),
        backlog_tuples=waiting,
        committed_at_s=batch.committed_s,
        arrivals=_arrivals(arrived, period_s, arrival_cv),
        times=BatchTimes(plan_s, batch.took_s - plan_s - publish_s, publish_s, before_s),
        slot_tuples_by_element={stage.element.name: tuple(stage.tuples_by_slot.tolist()) for stage in batch.stages},
    )


def _arrivals(tuples: int, period_s: float, cv: float | None) -> ArrivalObservation:
    if cv is None or tuples == 0:
        return ArrivalObservation(tuples, period_s)
    mean_s = period_s / tuples
    return ArrivalObservation(tuples, period_s, mean_s, (cv * mean_s) ** 2)


def _replicas(stage: Stage) -> tuple[ReplicaObservation, ...]:
    element, number = stage.element, len(stage.tuples_by_replica)
    tuples = _whole(stage.tuples_by_replica)
    emitted = _whole(stage.tuples_by_replica * (stage.tuples_out / stage.tuples if stage.tuples else 0.0))
    size, variance = int(element.bytes_per_tuple), variation(element)
    busy_s, cpu_s, stalled_s = (own.tolist() for own in (stage.busy_s, stage.cpu_s, stage.stalled_s))
    waiting_s, jvm_cpu_s = stage.waiting_s.tolist(), stage.jvm_cpu_s.tolist()
    found = []
    for replica in range(number):
        come, gone = tuples[replica], emitted[replica]
        inputs = tuple(PortObservation(name, come, come * size) for name in element.inputs[:1])
        inputs += tuple(PortObservation(name, 0, 0) for name in element.inputs[1:])
        found.append(
            ReplicaObservation(
                replica, come, gone, busy_s[replica], cpu_s[replica], 0, inputs=inputs,
                outputs=(PortObservation(element.name, gone, gone * size),), service_variance_s2=variance,
                waiting_s=waiting_s[replica], jvm_cpu_s=jvm_cpu_s[replica] if element.jvm_s else None,
                stalled_s=stalled_s[replica],
            )
        )  # fmt: skip
    return tuple(found)


def _whole(values: Any) -> list[int]:
    """Whole numbers with the same sum, but for rounding it."""
    found: list[int] = np.diff(np.floor(np.concatenate([[0.0], np.cumsum(values)]) + 0.5)).astype(np.int64).tolist()
    return found
