"""A run's figures for Prometheus, read from its journal when somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.watch.element_rows import element_rows
from penstock.watch.recorded.run_reader import RunReader

NAMES = (
    "penstock_tuples_in_total",
    "penstock_tuples_out_total",
    "penstock_backlog_tuples",
    "penstock_latency_seconds",
    "penstock_micro_batch_seconds",
    "penstock_replicas",
    "penstock_busy_ratio",
    "penstock_state_bytes",
    "penstock_dead_letters_total",
    "penstock_goal_broken_steps_total",
    "penstock_decisions_total",
)


class RunMetrics(Collector):
    """Counters are over the whole run, gauges of the newest micro-batch."""

    def __init__(self, reader: RunReader) -> None:
        self._reader, self._lock = reader, threading.Lock()

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            self._reader.poll()
            return [*self._counters(), *self._gauges()]

    def _counters(self) -> list[Metric]:
        state = self._reader.state
        total = state.series.total()
        counts = {
            "tuples_in": ("tuples taken from sources", 0 if total is None else total.tuples_in),
            "tuples_out": ("tuples given to sinks", 0 if total is None else total.tuples_out),
            "dead_letters": ("tuples that could not be used", 0 if total is None else total.dead_letters),
            "goal_broken_steps": ("control steps that broke the goal", 0 if total is None else total.broken_steps),
        }
        found: list[Metric] = [
            CounterMetricFamily(f"penstock_{name}", text, value=value) for name, (text, value) in counts.items()
        ]
        decisions = CounterMetricFamily("penstock_decisions", "decisions of the policy by kind", labels=["kind"])
        for kind, number in state.kinds.items():
            decisions.add_metric([kind], number)
        return [*found, decisions]

    def _gauges(self) -> list[Metric]:
        state = self._reader.state
        newest, rows = state.newest, element_rows(list(state.recent))
        if newest is None:
            return []
        found: list[Metric] = [
            GaugeMetricFamily("penstock_micro_batch_seconds", "the newest micro-batch", value=newest.micro_batch_s)
        ]
        if newest.backlog_tuples is not None:
            found.append(GaugeMetricFamily("penstock_backlog_tuples", "tuples that wait", value=newest.backlog_tuples))
        latency = GaugeMetricFamily("penstock_latency_seconds", "latency of results", labels=["quantile"])
        if newest.latency is not None:
            own = newest.latency
            for quantile, ms in (("0.5", own.p50_ms), ("0.95", own.p95_ms), ("0.99", own.p99_ms)):
                latency.add_metric([quantile], ms / 1000)
        replicas = GaugeMetricFamily("penstock_replicas", "replicas in force", labels=["element"])
        for element in () if state.configuration is None else state.configuration.elements:
            replicas.add_metric([element.name], element.replicas)
        busy = GaugeMetricFamily("penstock_busy_ratio", "share of time that replicas worked", labels=["element"])
        for row in rows:
            busy.add_metric([row.name], row.busy_ratio)
        held = GaugeMetricFamily("penstock_state_bytes", "keyed state", labels=["operator"])
        for name, operator in newest.operators.items():
            held.add_metric([name], operator.state_bytes)
        return [*found, latency, replicas, busy, held]


def start_metrics(reader: RunReader, host: str, port: int) -> int:
    """Serves `/metrics` in a thread of its own; gives the port."""
    registry = CollectorRegistry()
    registry.register(RunMetrics(reader))
    server, _ = start_http_server(port, host, registry=registry)
    return int(server.server_port)
