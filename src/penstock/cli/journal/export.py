"""`penstock journal --export`: a recorded run as Parquet, with the unit of each column, for researchers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.cli.screen import console
from penstock.control.journal.journal import RecordedRun, read_journal
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.errors import InputError
from penstock.measure.html_table import amount
from penstock.watch.recorded.run_reader import journal_of

Rows = Iterable[dict[str, Any]]
_UNITS = (("_s2", "s^2"), ("tuples_s", "tuples/s"), ("_ms", "ms"), ("_s", "s"), ("_bytes", "B"), ("bytes", "B"),
          ("dead_letters", "tuples"), ("tuples", "tuples"), ("_in", "tuples"), ("_out", "tuples"), ("_ratio", "1"),
          ("watts", "W"), ("_ghz", "GHz"))  # fmt: skip


def export_command(path: Path, folder: Path) -> None:
    """Writes a file per kind of row, and says what they have."""
    run = read_journal(journal_of(path))
    if not run.lines:
        raise InputError(f"the journal '{path}' has no micro-batch yet; run the application for longer")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--export is a folder that can be written to; got '{folder}': {error.strerror}") from error
    screen = console()
    for name, table in tables_of(run).items():
        pq.write_table(table, folder / f"{name}.parquet")
        screen.print(f"wrote {folder / name}.parquet: {amount(table.num_rows, 'row')}", markup=False, soft_wrap=True)


def tables_of(run: RecordedRun) -> dict[str, pa.Table]:
    """Micro-batches, replicas, operators and decisions."""
    return {
        "micro_batches": _table(_batches(run)),
        "replicas": _table(_replicas(run)),
        "operators": _table(_operators(run)),
        "decisions": _table(_decisions(run)),
    }


def unit_of(name: str) -> str:
    """
    >>> [unit_of(name) for name in ("p95_ms", "micro_batch_s", "rate_tuples_s", "batch", "busy_ratio")]
    ['ms', 's', 'tuples/s', '', '1']
    """
    return next((unit for end, unit in _UNITS if name.endswith(end)), "")


def _table(rows: Rows) -> pa.Table:
    table = pa.Table.from_pylist(list(rows))
    fields = [own.with_metadata({"unit": unit_of(own.name)}) for own in table.schema]
    return table.cast(pa.schema(fields))


def _batches(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for line in run.lines:
        seen, latency, arrivals, cpu = (
            line.observation, line.observation.latency, line.observation.arrivals, line.observation.cpu
        )  # fmt: skip
        yield {
            "batch": seen.batch, "started_at_s": seen.started_at_s, "committed_at_s": seen.committed_at_s,
            "micro_batch_s": seen.micro_batch_s, "tuples_in": seen.tuples_in, "tuples_out": seen.tuples_out,
            "arrived_tuples": None if arrivals is None else arrivals.tuples,
            "arrivals_tuples_s": None if arrivals is None else arrivals.rate_tuples_s,
            "backlog_tuples": seen.backlog_tuples, "backlog_age_s": seen.backlog_age_s,
            "p50_ms": None if latency is None else latency.p50_ms,
            "p95_ms": None if latency is None else latency.p95_ms,
            "p99_ms": None if latency is None else latency.p99_ms,
            "mean_ms": None if latency is None else latency.mean_ms, "latency_from": seen.latency_from,
            "dead_letters": seen.dead_letters,
            "cpu_s": None if cpu is None else cpu.total_s, "cap_tuples": line.configuration.micro_batch_tuples,
            "frequency_ghz": line.configuration.frequency_ghz,
            "replicas": max((e.replicas for e in line.configuration.elements), default=0),
        }  # fmt: skip


def _replicas(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for line in run.lines:
        for name, replicas in line.observation.replicas_by_element.items():
            for own in replicas:
                yield {
                    "batch": line.observation.batch, "element": name, "replica": own.replica,
                    "tuples_in": own.tuples_in, "tuples_out": own.tuples_out, "busy_s": own.busy_s, "cpu_s": own.cpu_s,
                    "waiting_s": own.waiting_s, "stalled_s": own.stalled_s, "jvm_cpu_s": own.jvm_cpu_s,
                    "service_variance_s2": own.service_variance_s2, "slots_rebuilt": own.slots_rebuilt,
                    "threads": 1 if own.threads is None else own.threads.level, "settled": own.settled,
                }  # fmt: skip


def _operators(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for line in run.lines:
        for own in line.observation.operators.values():
            yield {
                "batch": line.observation.batch, "operator": own.name, "tuples_in": own.tuples_in,
                "tuples_out": own.tuples_out, "cpu_s": own.cpu_s, "state_bytes": own.state_bytes,
            }  # fmt: skip


def _decisions(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for judged in judged_decisions(run):
        own, came = judged.decision, judged.outcome
        yield {
            "step": own.step, "policy": own.policy, "replicas": own.setting.replicas,
            "wanted_replicas": own.wanted.replicas, "decided_replicas": own.decided.replicas, "because": own.because,
            "rules": ", ".join(own.rules), "broken": own.broken, "requested": own.requested, "passive": own.passive,
            "seen_tuples_s": own.seen.rate_tuples_s, "seen_latency_mean_s": own.seen.latency_mean_s,
            "expected_tuples_s": own.expected.rate_tuples_s, "expected_latency_mean_s": own.expected.latency_mean_s,
            "expected_backlog_tuples": own.expected.backlog_tuples,
            "measured_latency_mean_s": None if came is None else came.latency_mean_s,
            "measured_backlog_tuples": None if came is None else came.backlog_tuples,
            "watts": own.seen.watts, "estimated_watts": own.seen.watts_estimated,
        }  # fmt: skip
