"""What the page, the terminal and the report say of a run: one sentence, its figures, its parts, as plain values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.control.goals.goal import Goal
from penstock.control.journal.plain_values import to_plain
from penstock.control.journal.point import Point
from penstock.measure.observation import Observation
from penstock.watch.element_rows import ElementRow, element_rows
from penstock.watch.recorded.run_reader import RunReader
from penstock.watch.recorded.run_sentence import goal_text, sentence_of
from penstock.watch.recorded.run_state import RunState
from penstock.watch.recorded.saso import saso_figures
from penstock.watch.timeline import committed_at_s


def figures_of(seen: Observation | None) -> dict[str, float | int | None]:
    """The four figures on top: those of `Handle.observe()` of the same micro-batch."""
    if seen is None:
        return {"Arrivals": None, "Served": None, "Backlog": None, "p95 latency": None}
    return {
        "Arrivals": None if seen.arrivals is None else seen.arrivals.rate_tuples_s,
        "Served": seen.rate_tuples_s,
        "Backlog": seen.backlog_tuples,
        "p95 latency": None if seen.latency is None else seen.latency.p95_ms,
    }


def run_body(reader: RunReader) -> dict[str, Any]:
    """All of a run but its series: what `/api/run` gives."""
    state, status = reader.state, reader.status
    newest = state.newest
    rows = element_rows(list(state.recent))
    total = state.series.total()
    sentence = sentence_of(state, status, time.time())
    return {
        "application": state.application,
        "checkpoint": str(reader.journal.parent),
        "status": status,
        "detail": None if state.end is None else state.end.get("detail"),
        "summary": sentence.text,
        "tone": sentence.tone,
        "batch": None if newest is None else newest.batch,
        "at_s": None if newest is None else committed_at_s(newest),
        "begin_s": None if total is None else total.begin_s,
        "starts": state.starts,
        "figures": figures_of(newest),
        "goal": goal_text(state.goal),
        "goal_ms": None if state.goal is None else _goal_ms(state.goal),
        "policy": state.decisions[-1].decision.policy if state.decisions else state.start.policy,
        "passive": state.passive,
        "paused": state.paused,
        "limits": to_plain(state.limits),
        "price": None if state.start.price is None else {
            "core_hour": state.start.price.core_hour, "kwh": state.start.price.kwh
        },
        "cores": state.start.cores,
        "executors": state.start.executors if state.executors is None else state.executors,
        "static_replicas": state.static_replicas,
        "cost": cost_body(state, total),
        "graph": graph_body(state, rows),
        "replicas": replica_rows(state),
        "moving": moving_body(state),
        "failures": [{"at_s": n.at_s, "kind": n.kind, "text": n.text, "batch": n.batch} for n in state.notes],
        "commands": [dict(command) for command in list(state.commands)[-20:]],
        "saso": saso_figures(state),
        "checkpoint_bytes": state.checkpoint_bytes,
        "state_bytes": {} if newest is None else {n: o.state_bytes for n, o in newest.operators.items()},
        "tuples_in": None if total is None else total.tuples_in,
        "tuples_out": None if total is None else total.tuples_out,
        "dead_letters": 0 if total is None else total.dead_letters,
        "advice": [] if newest is None else list(newest.advice),
        "unreadable_lines": state.unreadable,
    }  # fmt: skip


def cost_body(state: RunState, total: Point | None) -> dict[str, float | None] | None:
    """Core-hours so far, of the replicas that were held and of static provisioning, and what they cost at the price.

    None where the journal does not tell: it is of an earlier version, or has no micro-batch.
    """
    most = state.static_replicas
    if total is None or not total.run_s:
        return None
    held, static = total.replica_s / 3600, None if most is None else total.run_s * most / 3600
    price = None if state.start.price is None else state.start.price.core_hour
    return {
        "core_hours": held, "static_core_hours": static, "cost": None if price is None else held * price,
        "static_cost": None if price is None or static is None else static * price,
    }  # fmt: skip


def _goal_ms(goal: Goal) -> dict[str, float | None]:
    bounds = {"p95": goal.p95_s, "mean": goal.mean_s}
    return {name: None if bound_s is None else bound_s * 1000 for name, bound_s in bounds.items()}


def graph_body(state: RunState, rows: Sequence[ElementRow]) -> dict[str, Any]:
    """Operators with their elements and rates; elements with replicas and how busy they are."""
    if state.graph is None:
        return {"operators": [], "elements": []}
    by_element = {row.name: row for row in rows}
    by_operator = {operator.name: operator for row in rows for operator in row.operators}
    measured = {} if state.newest is None else state.newest.operators
    queued = _queued(state)
    operators = []
    for shown in state.graph.operators[:500]:
        own, seen = by_operator.get(shown.name), measured.get(shown.name)
        operators.append({
            "name": shown.name, "kind": shown.kind, "inputs": list(shown.inputs[:50]), "element": shown.element,
            "in_tuples_s": None if own is None else own.in_tuples_s,
            "out_tuples_s": None if own is None else own.out_tuples_s,
            "cpu_ratio": None if own is None else own.cpu_ratio,
            "state_bytes": None if seen is None else seen.state_bytes,
            "queued": shown.name in queued,
        })  # fmt: skip
    configured = {} if state.configuration is None else {e.name: e for e in state.configuration.elements}
    elements = []
    for element in state.graph.elements[:500]:
        row, how = by_element.get(element.name), configured.get(element.name)
        elements.append({
            "name": element.name, "scope": element.scope, "replicas": None if how is None else how.replicas,
            "busy_ratio": None if row is None else row.busy_ratio, "cpu_ratio": None if row is None else row.cpu_ratio,
            "threads": "" if row is None else row.threads,
            "in_tuples_s": None if row is None else row.in_tuples_s,
        })  # fmt: skip
    return {"operators": operators, "elements": elements}


def _queued(state: RunState) -> set[str]:
    if state.newest is None:
        return set()
    replicas = [r for own in state.newest.replicas_by_element.values() for r in own]
    return {name for r in replicas if r.threads is not None for name in r.threads.queued}


def replica_rows(state: RunState) -> list[dict[str, Any]]:
    """Who holds what: each replica's slots, tuples and hottest slot, at the newest micro-batch."""
    newest, configuration = state.newest, state.configuration
    if newest is None or configuration is None:
        return []
    hosts = state.moving.get("hosts")
    found = []
    for element in configuration.elements:
        slots = newest.slot_tuples_by_element.get(element.name, ())
        for own in newest.replicas_by_element.get(element.name, ())[:64]:
            held = [slot for slot, replica in enumerate(element.route) if replica == own.replica]
            loads = [(slots[slot], slot) for slot in held if slot < len(slots)]
            hottest = max(loads, default=(0, None))
            total = sum(slots)
            found.append({
                "element": element.name, "replica": own.replica, "slots": len(held), "tuples": own.tuples_in,
                "busy_ratio": own.busy_s / newest.micro_batch_s if newest.micro_batch_s > 0 else None,
                "threads": None if own.threads is None else own.threads.level,
                "queues": [] if own.threads is None else list(own.threads.queued),
                "host": _host(hosts, element.name, own.replica),
                "hottest_slot": hottest[1] if hottest[0] else None,
                "hottest_ratio": hottest[0] / total if total and hottest[0] else None,
                "settled": own.settled,
            })  # fmt: skip
    return found[:256]


def _host(hosts: object, element: str, replica: int) -> str | None:
    own = hosts.get(element) if isinstance(hosts, Mapping) else None
    return str(own[replica]) if isinstance(own, list) and 0 <= replica < len(own) else None


def moving_body(state: RunState) -> list[dict[str, Any]]:
    """What is on its way to another host: slots and bytes left, by element."""
    left = state.moving.get("left")
    if not isinstance(left, Mapping):
        return []
    return [{"element": name, **{k: v for k, v in own.items() if k in ("slots", "bytes")}}
            for name, own in left.items() if isinstance(own, Mapping)]  # fmt: skip
