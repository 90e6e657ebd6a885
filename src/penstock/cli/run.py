"""`penstock run`: an application on Spark, with a live console."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.application import load_application
from penstock.cli.dead_letters import ON_ERROR, show_dead_letters
from penstock.cli.screen import console
from penstock.errors import InputError

if TYPE_CHECKING:
    from penstock.control.configuration import Configuration
    from penstock.measure.observation import Observation
    from penstock.spark.query import Handle


@dataclass(frozen=True, slots=True)
class RunWish:
    """What the user asked for."""

    application: str
    master: str
    checkpoint: Path | None
    duration_s: float | None
    settings: tuple[str, ...]
    dead_letters: Path | None = None
    on_error: str = "dead_letter"


def run_command(wish: RunWish) -> None:
    """Starts the application, shows it while it runs, and ends it cleanly."""
    from penstock.spark.query import start

    app = load_application(wish.application)
    if wish.on_error not in ON_ERROR:
        raise InputError(f"--on-error is {' or '.join(ON_ERROR)}; got '{wish.on_error}'")
    settings = _settings(wish.settings)
    screen = console()
    screen.print(f"starting {app.name} on {wish.master} ...")
    handle = start(
        app, master=wish.master, checkpoint=wish.checkpoint, dead_letters=wish.dead_letters, on_error=wish.on_error
    )
    try:
        handle.apply(_changed(handle.configuration, settings))
        _watch(handle, wish.duration_s, screen)
    except KeyboardInterrupt:
        screen.print("stopping after the micro-batch at hand ...")
    finally:
        result = handle.stop()
    _summary(screen, handle, result.observations)
    for name, (count, checksum) in result.discarded.items():
        screen.print(f"sink {name}: {count:,} tuples, checksum {checksum:016x}")
    for name, table in result.tables.items():
        screen.print(f"sink {name}: {table.num_rows:,} tuples")
    show_dead_letters(screen, result.dead_letters, result.dead_letter_count)


def _settings(texts: Sequence[str]) -> list[tuple[str, str, int]]:
    """element.replicas=2, block_rows=8192, micro_batch_tuples=1000000."""
    problems, found = [], []
    for text in texts:
        name, separator, value = text.partition("=")
        element, _, field = name.rpartition(".")
        if not separator or not value.isdigit() or field not in ("replicas", "block_rows", "micro_batch_tuples"):
            problems.append(f"--set takes ELEMENT.replicas=N, block_rows=N or micro_batch_tuples=N; got {text!r}")
        else:
            found.append((element, field, int(value)))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _changed(configuration: Configuration, settings: Sequence[tuple[str, str, int]]) -> Configuration:
    for element, field, value in settings:
        if field == "replicas":
            configuration = configuration.with_replicas(element, value)
        elif field == "block_rows":
            configuration = replace(configuration, block_rows=value)
        else:
            configuration = replace(configuration, micro_batch_tuples=value)
    return configuration


def _watch(handle: Handle, duration_s: float | None, screen: Console) -> None:
    """Shows the newest observation until the application ends or the time is over."""
    deadline = None if duration_s is None else time.monotonic() + duration_s
    with Live(console=screen, refresh_per_second=4, transient=True) as live:
        while deadline is None or time.monotonic() < deadline:
            rest_s = 0.25 if deadline is None else min(0.25, max(deadline - time.monotonic(), 0.01))
            ended = handle.wait(rest_s)
            observation = handle.observe()
            if observation is not None and screen.is_terminal:
                live.update(_picture(observation, handle.configuration))
            if ended:
                return


def _picture(observation: Observation, configuration: Configuration) -> Group:
    table = Table(title=f"micro-batch {observation.batch}: {observation.micro_batch_s * 1000:.0f} ms")
    for name in ("element", "replicas", "in, tuples/s", "out, tuples/s", "busy ratio", "CPU ratio"):
        table.add_column(name, justify="left" if name == "element" else "right")
    for name, replicas in observation.replicas_by_element.items():
        seconds = max(observation.micro_batch_s, 1e-9)
        table.add_row(
            name,
            str(len(replicas)),
            f"{sum(r.tuples_in for r in replicas) / seconds:,.0f}",
            f"{sum(r.tuples_out for r in replicas) / seconds:,.0f}",
            f"{sum(r.busy_s for r in replicas) / seconds / len(replicas):.2f}",
            f"{sum(r.cpu_s for r in replicas) / seconds / len(replicas):.2f}",
        )
    return Group(table, Text(_line(observation)), Text(_configuration_line(configuration)))


def _line(observation: Observation) -> str:
    parts = [f"{observation.rate_tuples_s:,.0f} tuples/s"]
    if observation.latency is not None:
        own = observation.latency
        parts.append(f"latency p50 {own.p50_ms:,.0f} ms, p95 {own.p95_ms:,.0f} ms, p99 {own.p99_ms:,.0f} ms")
    if observation.backlog_tuples is not None:
        parts.append(f"backlog {observation.backlog_tuples:,} tuples")
    if observation.dead_letters:
        parts.append(f"{observation.dead_letters:,} dead letters")
    return "; ".join(parts)


def _configuration_line(configuration: Configuration) -> str:
    replicas = ", ".join(f"{e.name} {e.replicas}" for e in configuration.elements)
    sizes = f"blocks of {configuration.block_rows:,}; at most {configuration.micro_batch_tuples:,} a micro-batch"
    return f"replicas: {replicas}; {sizes}"


def _summary(screen: Console, handle: Handle, observations: Sequence[Observation]) -> None:
    total = sum(o.tuples_in for o in observations)
    screen.print(
        f"{len(observations):,} micro-batches, {total:,} tuples in, {sum(o.tuples_out for o in observations):,} out"
    )
    if len(observations) > 1:
        span_s = observations[-1].started_at_s + observations[-1].micro_batch_s - observations[0].started_at_s
        screen.print(f"{total / span_s:,.0f} tuples/s over {span_s:.1f} s; {_line(observations[-1])}")
    screen.print(f"checkpoint: {handle.checkpoint.directory} (run again with --checkpoint to go on from here)")
