"""Figures of each element and its operators over the last few micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.measure.observation import Observation, ReplicaObservation
from penstock.watch.timeline import committed_at_s

RECENT_S = 2.0


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """An operator lately; `cpu_ratio` is its part of the element's, None where it was not timed."""

    name: str
    in_tuples_s: float
    out_tuples_s: float
    cpu_ratio: float | None


@dataclass(frozen=True, slots=True)
class ElementRow:
    """An element lately: rates, the share of their time that its replicas worked, the newest tuples of each replica."""

    name: str
    in_tuples_s: float
    out_tuples_s: float
    busy_ratio: float
    cpu_ratio: float
    tuples_by_replica: tuple[int, ...]
    operators: tuple[OperatorRow, ...] = ()
    threads: str = ""


def recent(observations: Sequence[Observation], within_s: float = RECENT_S) -> tuple[Sequence[Observation], float]:
    """The newest micro-batches, enough to cover `within_s` seconds if there are, and the seconds that they cover."""
    if not observations:
        return (), 0.0
    end_s, first = committed_at_s(observations[-1]), len(observations) - 1
    while first > 0 and end_s - committed_at_s(observations[first - 1]) < within_s:
        first -= 1
    begin_s = committed_at_s(observations[first - 1]) if first else observations[0].started_at_s
    return observations[first:], max(end_s - begin_s, 1e-6)


def element_rows(observations: Sequence[Observation]) -> list[ElementRow]:
    """One row per element of the newest micro-batch, in the order in which they run."""
    newest, span_s = recent(observations)
    if not newest:
        return []
    return [_row(name, newest, span_s) for name in newest[-1].replicas_by_element]


def _row(name: str, newest: Sequence[Observation], span_s: float) -> ElementRow:
    shares = [r for o in newest for r in o.replicas_by_element.get(name, ())]
    # Replicas may have changed in between: what they could have worked is counted batch by batch.
    replicas_s = max(sum(len(o.replicas_by_element.get(name, ())) for o in newest) / len(newest) * span_s, 1e-6)
    return ElementRow(
        name,
        sum(r.tuples_in for r in shares) / span_s,
        sum(_tuples_out(r) for r in shares) / span_s,
        sum(r.busy_s for r in shares) / replicas_s,
        sum(r.cpu_s for r in shares) / replicas_s,
        _tuples_by_replica(newest[-1].replicas_by_element[name]),
        _operators(shares, span_s, replicas_s),
        levels_text(newest[-1].replicas_by_element[name]),
    )


def levels_text(replicas: Sequence[ReplicaObservation]) -> str:
    """Threads of each replica now, with dots while some are being tried out; nothing where tasks go without."""
    levels = [r.threads.level for r in replicas if r.threads is not None]
    if not levels:
        return ""
    span = str(levels[0]) if min(levels) == max(levels) else f"{min(levels)}-{max(levels)}"
    return span if all(r.settled for r in replicas) else f"{span} ..."


def _operators(shares: Sequence[ReplicaObservation], span_s: float, replicas_s: float) -> tuple[OperatorRow, ...]:
    """The operators that were measured, in the order in which they run."""
    names = dict.fromkeys(operator.name for share in shares for operator in share.operators)
    rows = []
    for name in names:
        own = [operator for share in shares for operator in share.operators if operator.name == name]
        timed_s = [operator.cpu_s for operator in own if operator.cpu_s is not None]
        rows.append(
            OperatorRow(
                name,
                sum(operator.tuples_in for operator in own) / span_s,
                sum(operator.tuples_out for operator in own) / span_s,
                sum(timed_s) / replicas_s if timed_s else None,
            )
        )
    return tuple(rows)


def _tuples_out(replica: ReplicaObservation) -> int:
    """Tuples that left by any stream, as far as streams were counted."""
    return sum(port.tuples for port in replica.outputs) if replica.outputs else replica.tuples_out


def _tuples_by_replica(replicas: Sequence[ReplicaObservation]) -> tuple[int, ...]:
    return tuple(r.tuples_in for r in sorted(replicas, key=lambda r: r.replica))
