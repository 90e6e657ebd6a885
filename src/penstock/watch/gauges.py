"""The main figures of a running application, each with its last minute."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.measure.observation import Latency, Observation
from penstock.watch.element_rows import recent
from penstock.watch.figures import count_text, size_text, time_text
from penstock.watch.timeline import Step, highest_by_bin, rates_by_bin, timeline_of

HISTORY_S = 60.0
_MEDIAN_OF_BATCHES = 50
_NEAR_S = 10 * 365 * 86_400.0  # event times further off are no times of day


@dataclass(frozen=True, slots=True)
class Gauge:
    """A figure now, and one value per bin of the last minute (None: nothing was measured then)."""

    label: str
    figure: str
    history: list[float | None]


def gauges(observations: Sequence[Observation], bins: int) -> list[Gauge]:
    """Latency, throughput, micro-batch time and backlog, as far as they were measured; `bins` may be 0.

    Latency is that of the newest results, the newest tuple's first: behind a backlog it says how far catching up is.
    """
    if not observations:
        return []
    steps = timeline_of(recent(observations, HISTORY_S)[0])
    edges_s = np.linspace(steps[-1].committed_s - HISTORY_S, steps[-1].committed_s, bins + 1).tolist()

    def highest(value: Callable[[Step], float | None]) -> list[float | None]:
        return highest_by_bin(steps, edges_s, value)

    last = steps[-1]
    found = []
    newest = next((own for own in reversed(observations) if own.latency is not None), None)
    if newest is not None and newest.latency is not None:
        text = newest_text(newest.latency) + latency_text(newest.latency, newest.latency_from)
        found.append(Gauge("latency", text, highest(_p95_ms)))
    found.append(Gauge("throughput", _throughput(observations), rates_by_bin(steps, edges_s)))
    found.append(Gauge("micro-batch", _micro_batch(steps), highest(lambda s: s.micro_batch_s)))
    if last.backlog_tuples is not None:
        found.append(Gauge("backlog", _backlog(observations[-1]), highest(lambda s: s.backlog_tuples)))
    return found


def cpu_text(observations: Sequence[Observation]) -> str | None:
    """Cores in use lately and by whom; None where it was not measured."""
    newest, span_s = recent(observations)
    used = [observation.cpu for observation in newest if observation.cpu is not None]
    total_s = sum(cpu.total_s for cpu in used)
    if not total_s:
        return None
    shares_s = {
        "operators": sum(cpu.operators_s for cpu in used),
        "around them": sum(cpu.element_s for cpu in used),
        "Spark's workers": sum(cpu.worker_loop_s for cpu in used),
        "driver": sum(cpu.driver_s for cpu in used),
        "JVM": sum(cpu.jvm_s or 0.0 for cpu in used),
    }
    text = ", ".join(f"{name} {share_s / total_s:.0%}" for name, share_s in shares_s.items())
    measuring = sum(cpu.measuring_s for cpu in used) / total_s
    return f"{total_s / span_s:.2f} cores: {text}; measuring {measuring:.1%}"


def state_text(observations: Sequence[Observation]) -> str | None:
    """Memory of what operators hold, all replicas together; None where none holds anything."""
    held = {name: own.state_bytes for name, own in observations[-1].operators.items() if own.state_bytes}
    return ", ".join(f"{name} {size_text(count)}" for name, count in held.items()) or None


def watermark_text(observation: Observation) -> str | None:
    """The watermark, as a time of day with its lag where event times are about now, else in seconds; None: no such."""
    if observation.watermark_s is None:
        return None
    lag_s = observation.event_time_lag_s
    if lag_s is None or abs(lag_s) > _NEAR_S:
        return f"{observation.watermark_s:,.3f} s"
    moment = dt.datetime.fromtimestamp(observation.watermark_s, dt.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {time_text(max(lag_s, 0.0))} behind the clock"


def newest_text(latency: Latency) -> str:
    """How late the tuple came out that had waited least, which is the newest of its micro-batch.

    >>> newest_text(Latency(10.0, 20.0, 30.0, 40.0))
    ''
    """
    return "" if latency.sketch is None else f"newest {time_text(latency.sketch.quantile(0.0) / 1000)}, "


def latency_text(latency: Latency, latency_from: str | None = None) -> str:
    """The percentiles, and what they count from where that is not the schedule of a trace."""
    figures = (("p50", latency.p50_ms), ("p95", latency.p95_ms), ("p99", latency.p99_ms))
    text = ", ".join(f"{name} {time_text(ms / 1000)}" for name, ms in figures)
    return text if latency_from in (None, "schedule") else f"{text} (from: {latency_from})"


def _p95_ms(step: Step) -> float | None:
    return None if step.latency is None else step.latency.p95_ms


def _throughput(observations: Sequence[Observation]) -> str:
    newest, span_s = recent(observations)
    tuples_in, tuples_out = sum(o.tuples_in for o in newest), sum(o.tuples_out for o in newest)
    return f"{count_text(tuples_in / span_s)} tuples/s in, {count_text(tuples_out / span_s)} out"


def _micro_batch(steps: Sequence[Step]) -> str:
    median_s = statistics.median(step.micro_batch_s for step in steps[-_MEDIAN_OF_BATCHES:])
    return f"last {time_text(steps[-1].micro_batch_s)}, median {time_text(median_s)}"


def _backlog(observation: Observation) -> str:
    """In tuples, and how long the oldest of them has waited where that is known."""
    waiting, age_s = observation.backlog_tuples or 0, observation.backlog_age_s
    return f"{count_text(waiting)} tuples" + (f", the oldest {time_text(age_s)}" if waiting and age_s else "")
