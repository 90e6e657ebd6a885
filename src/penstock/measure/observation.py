"""The Observation: everything measured in one micro-batch, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from penstock.measure.html_table import html_table, rounded
from penstock.measure.latency_sketch import LatencySketch, merged
from penstock.measure.replica_threads import ReplicaThreads
from penstock.measure.thread_figures import gil_advice


@dataclass(frozen=True, slots=True)
class PortObservation:
    """What came into or left an element by one stream; a sink is a stream that leaves."""

    stream: str
    tuples: int
    bytes: int


@dataclass(frozen=True, slots=True)
class OperatorObservation:
    """One operator's work; `cpu_s` is scaled up from the blocks that were timed, None where none was.

    `bytes_in` and `bytes_out` are scaled up from the same blocks: what the columns of its tuples take.
    `tuples_by_port` has the tuples of each input, in the order of the program; ticks of a clock are not among them.
    """

    name: str
    tuples_in: int
    tuples_out: int
    blocks: int
    timed_blocks: int
    cpu_s: float | None
    state_bytes: int = 0
    bytes_in: int | None = None
    bytes_out: int | None = None
    tuples_by_port: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaObservation:
    """One replica's share of a micro-batch.

    `busy_s` is the task's time without `waiting_s`, the time in which Spark had nothing for it or could not take more.
    `cpu_s` is CPU of the Python worker during the task, `worker_loop_cpu_s` what Spark's loop around it took since the
    task before, `measuring_cpu_s` the part of `cpu_s` that measuring took, `jvm_cpu_s` CPU of the task's thread in the
    JVM (None: not asked for in this micro-batch).  `service_variance_s2` is the variance of a tuple's service time.
    `stalled_s` is the time in which the task could have run and had no core.
    """

    replica: int
    tuples_in: int
    tuples_out: int
    busy_s: float
    cpu_s: float
    slots_rebuilt: int
    waiting_s: float = 0.0
    inputs: tuple[PortObservation, ...] = ()
    outputs: tuple[PortObservation, ...] = ()
    operators: tuple[OperatorObservation, ...] = ()
    service_variance_s2: float | None = None
    jvm_cpu_s: float | None = None
    worker_loop_cpu_s: float = 0.0
    measuring_cpu_s: float = 0.0
    settled: bool = True
    threads: ReplicaThreads | None = None  # None: the task's own did it all
    stalled_s: float = 0.0

    @property
    def bytes_in(self) -> int:
        return sum(port.bytes for port in self.inputs)

    @property
    def bytes_out(self) -> int:
        return sum(port.bytes for port in self.outputs)

    @property
    def service_s(self) -> float | None:
        """Mean service time of a tuple."""
        return self.busy_s / self.tuples_in if self.tuples_in else None

    @property
    def operators_cpu_s(self) -> float:
        """CPU inside operators, as far as it was timed."""
        return sum(operator.cpu_s or 0.0 for operator in self.operators)


@dataclass(frozen=True, slots=True)
class Latency:
    """Commit of a micro-batch minus the arrival of the tuples that triggered its results, in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    highest_ms: float
    mean_ms: float | None = None
    sketch: LatencySketch | None = None


def latency_of(sketch: LatencySketch) -> Latency | None:
    """The figures of a sketch, None where it has no results."""
    if not sketch.counts:
        return None
    p50, p95, p99 = (sketch.quantile(ratio) for ratio in (0.5, 0.95, 0.99))
    return Latency(p50, p95, p99, sketch.highest_ms, sketch.mean_ms, sketch)


def latency_over(observations: Iterable[Observation]) -> Latency | None:
    """The latency of all results of several micro-batches."""
    own = [o.latency.sketch for o in observations if o.latency is not None]
    return latency_of(merged(sketch for sketch in own if sketch is not None))


@dataclass(frozen=True, slots=True)
class ArrivalObservation:
    """Tuples that arrived at the sources between the commit before and this one, taken up or not.

    The interval is the time between two arrivals; its mean and variance are None where only counts are known.
    `assumed`: a source does not report what arrives, so that it is taken to be what was taken.
    """

    tuples: int
    period_s: float
    interval_mean_s: float | None = None
    interval_variance_s2: float | None = None
    assumed: bool = False

    @property
    def rate_tuples_s(self) -> float:
        return self.tuples / self.period_s if self.period_s > 0 else 0.0

    @property
    def squared_variation(self) -> float | None:
        """The squared coefficient of variation of the interval: Kingman's ca^2."""
        if self.interval_mean_s is None or self.interval_variance_s2 is None or self.interval_mean_s <= 0:
            return None
        return self.interval_variance_s2 / self.interval_mean_s**2


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Where a micro-batch's time went: its plan, Spark's job with all tasks, publishing what they gave.

    `before_s` is the time since the commit before: Spark's own work between two micro-batches, our delivery, and
    waiting for tuples.  `spark_ms_by_phase` is what Spark reports of the trigger of `spark_batch`, an earlier one.
    """

    plan_s: float
    run_s: float
    publish_s: float
    before_s: float | None = None
    spark_batch: int | None = None
    spark_ms_by_phase: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuObservation:
    """CPU seconds since the commit before, by who used them; `measuring_s` is contained in the others.

    `jvm_s` is the whole JVM on a local master, on others the tasks' threads alone; None where neither is known.
    """

    operators_s: float
    element_s: float  # in tasks besides operators: envelopes, dealing, state, sinks
    worker_loop_s: float
    driver_s: float
    jvm_s: float | None
    measuring_s: float

    @property
    def total_s(self) -> float:
        return self.operators_s + self.element_s + self.worker_loop_s + self.driver_s + (self.jvm_s or 0.0)

    @property
    def measuring_ratio(self) -> float:
        return self.measuring_s / self.total_s if self.total_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything measured in one micro-batch: when and how long it ran, the work of each element, latency and backlog.

    `tuples_in` came from the sources, `tuples_out` went into the sinks.  `micro_batch_s` ends with the commit.

    `latency` is None without results.  `latency_from` says when a tuple arrives: at its time in the `schedule`, when
    the source took it up (`append`), when its producer made it (`create`), at the time in a `column`, with its `file`,
    or when its micro-batch was planned (`intake`); with several sources, the least exact.  With `intake`, backlog /
    rate is added; if the backlog is unknown, `latency_excludes_waiting` is set.  `ahead_tuples` carried times in the
    future, and count as arrived when they were read.

    `backlog_tuples` wait at the sources; None if no source reports it.  `backlog_age_s` is the age of the oldest of
    them; None unless arrivals have a schedule.  `waiting_tuples` were read and are deferred until the state of their
    slots has moved to another host; `resumed_tuples` were deferred before and are processed now.

    `slot_tuples_by_element` counts the tuples of each slot of a keyed element; `slot_cpu_us_by_element` is the CPU of
    each slot, if slots run one after the other, as with Python functions.  `watermark_s`: tuples with an earlier event
    time are late; None if no source has `out_of_order_s`, or if one has delivered nothing yet.

    >>> Observation(batch=0, started_at_s=0.0, micro_batch_s=0.5, tuples_in=1000, tuples_out=10).rate_tuples_s
    2000.0
    """

    batch: int
    started_at_s: float
    micro_batch_s: float
    tuples_in: int
    tuples_out: int
    replicas_by_element: Mapping[str, tuple[ReplicaObservation, ...]] = field(default_factory=dict)
    latency: Latency | None = None
    backlog_tuples: int | None = None
    dead_letters: int = 0
    committed_at_s: float | None = None
    backlog_age_s: float | None = None
    arrivals: ArrivalObservation | None = None
    times: BatchTimes | None = None
    cpu: CpuObservation | None = None
    slot_tuples_by_element: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    waiting_tuples: int = 0
    resumed_tuples: int = 0
    watermark_s: float | None = None
    latency_from: str | None = None
    latency_excludes_waiting: bool = False
    ahead_tuples: int = 0
    slot_cpu_us_by_element: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        """The main figures in one line; `repr` has them all."""
        return f"micro-batch {self.batch}: " + ", ".join(f"{label} {figure}" for label, figure in self._rows())

    def _repr_html_(self) -> str:
        """What notebooks show: the main figures, and the replicas of each element."""
        return html_table(f"micro-batch {self.batch}", self._rows())

    def _rows(self) -> list[tuple[str, object]]:
        latency = self.latency
        replicas = ", ".join(f"{name}: {len(own)}" for name, own in self.replicas_by_element.items())
        rows: list[tuple[str, object]] = [
            ("duration", rounded(self.micro_batch_s, "s")),
            ("tuples in", f"{self.tuples_in:,}"),
            ("tuples out", f"{self.tuples_out:,}"),
            ("rate", rounded(self.rate_tuples_s, "tuples/s")),
            ("latency p50", None if latency is None else rounded(latency.p50_ms, "ms")),
            ("latency p95", None if latency is None else rounded(latency.p95_ms, "ms")),
            ("backlog", None if self.backlog_tuples is None else f"{self.backlog_tuples:,} tuples"),
            ("dead letters", f"{self.dead_letters:,}"),
            ("replicas", replicas or None),
        ]
        return [(label, figure) for label, figure in rows if figure is not None]

    @property
    def event_time_lag_s(self) -> float | None:
        """How far the watermark is behind the clock at the commit; None without a watermark."""
        if self.watermark_s is None or self.committed_at_s is None:
            return None
        return self.committed_at_s - self.watermark_s

    @property
    def rate_tuples_s(self) -> float:
        return self.tuples_in / self.micro_batch_s if self.micro_batch_s > 0 else 0.0

    @property
    def slots_rebuilt(self) -> int:
        return sum(r.slots_rebuilt for replicas in self.replicas_by_element.values() for r in replicas)

    @property
    def settled(self) -> bool:
        """Whether the thread policies of all elements have settled."""
        return all(r.settled for replicas in self.replicas_by_element.values() for r in replicas)

    def without_slots(self) -> Observation:
        """The Observation without its counts by slot, which are the most of it."""
        return replace(self, slot_tuples_by_element={}, slot_cpu_us_by_element={})

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence for each operator that threads cannot speed up."""
        threads = [r.threads for own in self.replicas_by_element.values() for r in own if r.threads is not None]
        return gil_advice(name for own in threads for name in own.holds_gil)

    @property
    def machinery_cpu_ratio(self) -> float | None:
        """CPU for measuring / all CPU; None where it was not measured."""
        return None if self.cpu is None else self.cpu.measuring_ratio

    @property
    def operators(self) -> dict[str, OperatorObservation]:
        """Each operator over all replicas of its element."""
        found: dict[str, OperatorObservation] = {}
        for replicas in self.replicas_by_element.values():
            for operator in (o for replica in replicas for o in replica.operators):
                own = found.get(operator.name)
                found[operator.name] = operator if own is None else _added(own, operator)
        return found


def _added(one: OperatorObservation, other: OperatorObservation) -> OperatorObservation:
    timed = [o.cpu_s for o in (one, other) if o.cpu_s is not None]
    return OperatorObservation(
        one.name,
        one.tuples_in + other.tuples_in,
        one.tuples_out + other.tuples_out,
        one.blocks + other.blocks,
        one.timed_blocks + other.timed_blocks,
        sum(timed) if timed else None,
        one.state_bytes + other.state_bytes,
        _of_both(one.bytes_in, other.bytes_in),
        _of_both(one.bytes_out, other.bytes_out),
        tuple(map(sum, zip_longest(one.tuples_by_port, other.tuples_by_port, fillvalue=0))),
    )


def _of_both(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other
