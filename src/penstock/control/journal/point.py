"""A stretch of a run in figures: one micro-batch, a second, a minute or an hour, with the extremes of each figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.plan.configuration import Configuration

Range = tuple[float, float, float]  # lowest, mean over the time, highest


@dataclass(frozen=True, slots=True)
class Point:
    """What happened from `begin_s` (seconds since the epoch) on, for `span_s`; `batch` is the last micro-batch.

    `ranges` has each figure by its name: rates in tuples/s, times in ms, `replicas:ELEMENT` and so on.  Points of
    decisions have no micro-batches.  `run_s`: seconds of micro-batches; `replica_s`: the same times the replicas of the
    widest element, which is what an application pays for; both are 0 in older journals.
    """

    begin_s: float
    span_s: float
    batches: int = 0
    batch: int = -1
    tuples_in: int = 0
    tuples_out: int = 0
    dead_letters: int = 0
    steps: int = 0
    broken_steps: int = 0
    ranges: Mapping[str, Range] = field(default_factory=dict)
    run_s: float = 0.0
    replica_s: float = 0.0


def merged(points: Sequence[Point]) -> Point:
    """Several points as one: means are weighed by time, extremes stay.

    >>> low, high = (Point(t, 1.0, 1, ranges={"p95": (v, v, v)}) for t, v in ((0.0, 10.0), (1.0, 30.0)))
    >>> merged([low, high]).ranges["p95"]
    (10.0, 20.0, 30.0)
    """
    begin_s = min(p.begin_s for p in points)
    names = dict.fromkeys(name for p in points for name in p.ranges)
    return Point(
        begin_s,
        max(max(p.begin_s + p.span_s for p in points) - begin_s, 0.0),
        sum(p.batches for p in points),
        max(p.batch for p in points),
        sum(p.tuples_in for p in points),
        sum(p.tuples_out for p in points),
        sum(p.dead_letters for p in points),
        sum(p.steps for p in points),
        sum(p.broken_steps for p in points),
        {name: _range([(p.ranges[name], p.span_s) for p in points if name in p.ranges]) for name in names},
        sum(p.run_s for p in points),
        sum(p.replica_s for p in points),
    )


def _range(own: Sequence[tuple[Range, float]]) -> Range:
    weight_s = sum(span_s for _, span_s in own)
    if weight_s > 0:
        mean = sum(each[1] * span_s for each, span_s in own) / weight_s
    else:
        mean = sum(each[1] for each, _ in own) / len(own)
    lowest, highest = min(each[0] for each, _ in own), max(each[2] for each, _ in own)
    return lowest, min(max(mean, lowest), highest), highest


def point_of(seen: Observation, configuration: Configuration, executors: int | None = None) -> Point:
    """A micro-batch, from the commit before it to its own; `executors` of a cluster."""
    before_s = seen.times.before_s if seen.times is not None else None
    span_s = max(seen.micro_batch_s + (before_s or 0.0), 1e-6)
    end_s = seen.committed_at_s if seen.committed_at_s is not None else seen.started_at_s + seen.micro_batch_s
    values = {
        "served": seen.tuples_in / span_s,
        "out": seen.tuples_out / span_s,
        "micro_batch_ms": seen.micro_batch_s * 1000,
        "cap": float(configuration.micro_batch_tuples),
        **_optional(seen, configuration, span_s),
    }
    for element in configuration.elements:
        values[f"replicas:{element.name}"] = float(element.replicas)
        values |= _of_replicas(element.name, seen.replicas_by_element.get(element.name, ()), span_s)
    if executors is not None:
        values["executors"] = float(executors)
    for name, operator in seen.operators.items():
        if operator.state_bytes:
            values[f"state:{name}"] = float(operator.state_bytes)
    return Point(
        end_s - span_s, span_s, 1, seen.batch, seen.tuples_in, seen.tuples_out, seen.dead_letters, run_s=span_s,
        replica_s=span_s * max((element.replicas for element in configuration.elements), default=0),
        ranges={name: (value, value, value) for name, value in values.items()},
    )  # fmt: skip


def _optional(seen: Observation, configuration: Configuration, span_s: float) -> dict[str, float]:
    """Figures that only some runs have."""
    values: dict[str, float] = {}
    if seen.arrivals is not None:
        values["arrivals"] = seen.arrivals.rate_tuples_s
    if seen.backlog_tuples is not None:
        values["backlog"] = float(seen.backlog_tuples)
    if seen.latency is not None:
        values |= {"p50": seen.latency.p50_ms, "p95": seen.latency.p95_ms, "p99": seen.latency.p99_ms}
    if seen.cpu is not None:
        values["cores"] = seen.cpu.total_s / span_s
    if configuration.frequency_ghz is not None:
        values["ghz"] = configuration.frequency_ghz
    return values


def _of_replicas(name: str, replicas: Sequence[ReplicaObservation], span_s: float) -> dict[str, float]:
    if not replicas:
        return {}
    values = {f"busy:{name}": sum(r.busy_s for r in replicas) / (span_s * len(replicas))}
    levels = [r.threads.level for r in replicas if r.threads is not None]
    if levels:
        values[f"threads:{name}"] = sum(levels) / len(levels)
    return values


def decision_point(decision: RecordedDecision, at_s: float) -> Point:
    """What a decision adds to the moment it followed: the setting that is wanted, power, whether the goal was kept."""
    values = {"wanted": float(decision.wanted.replicas)}
    watts = decision.seen.watts if decision.seen.watts is not None else decision.seen.watts_estimated
    if watts is not None:
        values["watts" if decision.seen.watts is not None else "watts_estimated"] = watts
    ranges = {name: (value, value, value) for name, value in values.items()}
    return Point(at_s, 0.0, steps=1, broken_steps=int(decision.broken), ranges=ranges)


def by_bucket(points: Iterable[Point], bucket_s: float) -> list[Point]:
    """The points of each stretch of `bucket_s` merged, in the order of time."""
    found: dict[float, list[Point]] = {}
    for point in points:
        found.setdefault(bucket_of(point, bucket_s), []).append(point)
    return [merged(found[begin_s]) for begin_s in sorted(found)]


def ended_at_s(point: Point) -> float:
    """When a stretch is over, in seconds since the epoch."""
    return point.begin_s + point.span_s


def bucket_of(point: Point, bucket_s: float) -> float:
    """The stretch that a point ends in: micro-batches belong to the moment of their commit."""
    return (point.begin_s + point.span_s) // bucket_s
