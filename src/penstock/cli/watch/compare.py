"""`penstock compare`: two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from penstock.cli.screen import console
from penstock.errors import InputError
from penstock.watch.figures import count_text
from penstock.watch.recorded.run_reader import RunReader, journal_of
from penstock.watch.recorded.run_sentence import goal_text
from penstock.watch.recorded.saso import saso_figures

Value = float | int | str | None


def compare_command(one: Path, other: Path, *, as_json: bool) -> None:
    """Prints the figures of both."""
    bodies = [run_figures_of(path) for path in (one, other)]
    if as_json:
        print(json.dumps({"a": bodies[0], "b": bodies[1]}))
        return
    table = Table(title="two runs side by side")
    for name in ("", "A", "B"):
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    table.add_row("checkpoint", escape(str(one)), escape(str(other)))
    for label, name, shown in _ROWS:
        table.add_row(label, *(escape(_shown(body[name], shown)) for body in bodies))
    console().print(table)


def run_figures_of(path: Path) -> dict[str, Value]:
    """What a run did and took, from its journal alone."""
    reader = RunReader(journal_of(path))
    reader.open()
    state, whole = reader.state, reader.state.series.whole()
    if whole is None:
        raise InputError(f"the journal of '{path}' has no micro-batch yet; run the application for longer")
    saso = saso_figures(state)
    names = [name for name in whole.ranges if name.startswith("replicas:")]
    replicas = max((whole.ranges[name][1] for name in names), default=0.0)
    core_hours = (whole.replica_s or replicas * whole.span_s) / 3600  # older journals have no sum
    price = None if state.start.price is None else state.start.price.core_hour
    ranges: Any = whole.ranges
    return {
        "application": state.application, "status": reader.status, "goal": goal_text(state.goal) or None,
        "policy": state.decisions[-1].decision.policy if state.decisions else state.start.policy,
        "seconds": whole.span_s, "micro_batches": whole.batches, "tuples_in": whole.tuples_in,
        "tuples_out": whole.tuples_out, "tuples_s": whole.tuples_in / whole.span_s if whole.span_s > 0 else 0.0,
        "p50_ms": ranges["p50"][1] if "p50" in ranges else None,
        "p95_ms": ranges["p95"][1] if "p95" in ranges else None,
        "p95_highest_ms": ranges["p95"][2] if "p95" in ranges else None,
        "backlog_highest": ranges["backlog"][2] if "backlog" in ranges else None,
        "cores_used": ranges["cores"][1] if "cores" in ranges else None, "replicas_mean": replicas,
        "core_hours": core_hours, "cost": None if price is None else core_hours * price,
        "changes": saso["changes"], "settling_s": saso["settling_s"], "overshoot": saso["overshoot"],
        "steps": whole.steps, "violations": whole.broken_steps, "dead_letters": whole.dead_letters,
    }  # fmt: skip


def _plain(value: Any) -> str:
    """Three digits, and whole numbers above 1,000: 5,600 instead of 5.6e+03."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.3g}"


def _or_none(value: Any) -> str:
    return "none" if value is None else str(value)


_ROWS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("application", "application", str), ("status", "status", str), ("goal", "goal", _or_none),
    ("policy", "policy", _or_none),
    ("seconds", "seconds", lambda v: f"{v:,.1f}"), ("micro-batches", "micro_batches", count_text),
    ("tuples in", "tuples_in", count_text), ("tuples out", "tuples_out", count_text),
    ("tuples/s", "tuples_s", count_text), ("p50, mean (ms)", "p50_ms", _plain), ("p95, mean (ms)", "p95_ms", _plain),
    ("p95, highest (ms)", "p95_highest_ms", _plain), ("backlog, highest", "backlog_highest", count_text),
    ("CPU (cores)", "cores_used", _plain), ("replicas, mean", "replicas_mean", _plain),
    ("core-hours of replicas", "core_hours", _plain), ("cost", "cost", _plain), ("changes of replicas", "changes", str),
    ("settled within (s)", "settling_s", _plain), ("overshoot (replicas)", "overshoot", str),
    ("control steps", "steps", str), ("steps that broke the goal", "violations", str),
    ("dead letters", "dead_letters", count_text),
)  # fmt: skip


def _shown(value: Value, shown: Callable[[Any], str]) -> str:
    return "not measured" if value is None and shown is not _or_none else shown(value)
