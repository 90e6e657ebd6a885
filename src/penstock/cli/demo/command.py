"""penstock demo: a minute of a trading day on local Spark, reconfigured while it runs."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from penstock.app.application import Application
from penstock.cli.demo.check import Counted, counted_in_process
from penstock.cli.demo.report import Outcome, check_line, draw, effect_text, show_summary
from penstock.cli.demo.scratch_checkpoint import scratch_checkpoint
from penstock.cli.demo.stages import FIRST, MOST_REPLICAS, due_stage, most_tuples, staged
from penstock.cli.demo.warm_up import WarmUp, capacity_tuples_s, rate_for
from penstock.cli.screen import console, progress_bar, rate, starting
from penstock.connectors.trace.source import TraceSource
from penstock.control.journal.journal import read_journal
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.watch.changes import effect_at, first_after
from penstock.watch.figures import change_text, clock_text
from penstock.watch.terminal.live_console import LiveConsole

if TYPE_CHECKING:
    from penstock.cli.demo.warm_up import Start
    from penstock.spark.driver.handle import Handle

SEED = 7
SPEED_UP = 100
_JOURNAL = "journal.jsonl"
_PATIENCE_S = 300.0  # beyond its own length, after which a machine that is too slow is given up


@dataclass(frozen=True, slots=True)
class DemoWish:
    """What the user asked for; `rate_tuples_s` is the day's mean, None: what suits the machine."""

    seconds: float
    output: Path
    master: str
    rate_tuples_s: float | None
    warm_up: WarmUp


def demo_command(wish: DemoWish) -> None:
    """Warms up, streams, compares, sums up, draws."""
    require("penstock demo", "spark", "plot")
    _check(wish)
    screen = console()
    start = _opened(wish.master, screen)
    app = _application(wish, start, screen)
    with scratch_checkpoint() as checkpoint:
        outcome = _streamed(app, wish, start(app, checkpoint), screen)
    expected = _expected(app, outcome.tuples_in) if outcome.complete else None
    show_summary(screen, outcome)
    screen.print(check_line(outcome, expected), markup=False, soft_wrap=True)
    pictures = draw(outcome, expected, wish.output)
    for path in (*pictures, wish.output / _JOURNAL):
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)
    if expected is not None and expected != outcome.counted:
        raise InputError("the demonstration's results are not those of the in-process engine; please report this")


def _check(wish: DemoWish) -> None:
    problems = []
    if not wish.seconds >= 5:
        problems.append(f"--seconds is at least 5; got {wish.seconds:g}")
    if wish.rate_tuples_s is not None and not wish.rate_tuples_s >= 100:
        problems.append(f"--rate is at least 100 tuples a second; got {wish.rate_tuples_s:g}")
    if wish.output.exists() and not wish.output.is_dir():
        problems.append(f"--output is a directory; got {wish.output}, which is a file")
    if problems:
        raise InputError("\n".join(problems))


def _opened(master: str, screen: Console) -> Start:
    """Opens Spark; gives the function that starts an application in it."""
    with starting(screen, f"starting Spark on {master}"):
        from penstock.spark.driver.start import start
        from penstock.spark.session.session import spark_session

        session = spark_session(master, task_slots=MOST_REPLICAS)
    return lambda app, checkpoint: start(app, checkpoint=checkpoint, session=session)


def _application(wish: DemoWish, start: Start, screen: Console) -> Application:
    """The application over the first seconds of a day, at a rate that the machine can take."""
    from penstock import sinks, sources
    from penstock.cli.demo.vwap import vwap_per_ticker

    with starting(screen, "warming up"):
        capacity = capacity_tuples_s(start, screen, wish.warm_up)
    mean = wish.rate_tuples_s or rate_for(capacity)
    day = partial(sources.trace, "trading_day", mean, speed_up=SPEED_UP, seed=SEED)
    arrivals = day().open().arrivals
    assert arrivals is not None
    total = arrivals.arrived_by(wish.seconds)
    screen.print(
        f"warm: {rate(round(capacity), 1)}; {wish.seconds:g} s of a trading day at {SPEED_UP} times its speed bring "
        f"{rate(total, wish.seconds)}, {rate(arrivals.arrived_by(1.0), 1)} at the open",
        soft_wrap=True,
    )
    return vwap_per_ticker(source=day(total=total), sink=sinks.discard())


def _streamed(app: Application, wish: DemoWish, handle: Handle, screen: Console) -> Outcome:
    """Runs the application with the live console, going through the stages, and keeps the journal."""
    title = f"{app.name} on {wish.master}: a trading day at {SPEED_UP} times its speed"
    observations = handle.result.observations
    shown = LiveConsole(
        screen, title, handle, lambda: observations, expected_s=wish.seconds, duration_s=wish.seconds + _PATIENCE_S
    )
    try:
        handle.apply(replace(staged(handle.configuration, FIRST), micro_batch_tuples=most_tuples(_total(app))))
        ending = shown.watch(_Stagehand(handle, shown, wish.seconds).act)
        if ending == "interrupted":
            screen.print("stopping ...")
    finally:
        result = handle.stop()
    lines = read_journal(_kept_journal(handle.checkpoint.directory, wish.output)).lines
    return Outcome(
        title,
        handle.fixed.started_at_s,
        tuple(line.observation for line in lines),
        tuple(line.configuration for line in lines),
        Counted(*result.discarded.get("out", (0, 0))),
        ending == "done",
    )


class _Stagehand:
    """Puts each stage's Configuration in force when its time has come, and tells what it did."""

    def __init__(self, handle: Handle, shown: LiveConsole, whole_s: float) -> None:
        self._handle, self._shown, self._whole_s = handle, shown, whole_s
        self._done = self._batches = 0
        self._applied: tuple[float, str] | None = None  # the change whose first micro-batch is not over yet

    def act(self, elapsed_s: float) -> None:
        batches = len(self._handle.result.observations)
        stage = due_stage(elapsed_s, self._whole_s, self._done, batches - self._batches)
        if stage is not None:
            before, after = self._handle.configuration, staged(self._handle.configuration, stage)
            self._handle.apply(after)
            self._applied = (time.time(), change_text(before, after))
            self._done, self._batches = self._done + 1, batches
        elif self._applied is not None:
            self._tell(*self._applied, elapsed_s)

    def _tell(self, applied_at_s: float, text: str, elapsed_s: float) -> None:
        observations = self._handle.result.observations
        first = first_after(observations, applied_at_s)
        effect = None if first is None else effect_at(first, text, observations)
        if effect is not None:
            self._shown.tell(f"{clock_text(elapsed_s)}  {effect_text(effect)}")
            self._applied = None


def _total(app: Application) -> int:
    source = app.graph.sources[0].connector
    assert isinstance(source, TraceSource)
    assert source.total is not None
    return source.total


def _expected(app: Application, tuples: int) -> Counted:
    with progress_bar("comparing with the in-process engine") as advance:
        return counted_in_process(app, tuples, advance)


def _kept_journal(checkpoint: Path, output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(checkpoint / _JOURNAL, output / _JOURNAL))
    except OSError as error:
        raise InputError(f"cannot write into {output}: {error.strerror or error}") from error
