"""penstock demo: a day of load on local Spark under a latency goal, and the application tunes itself."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from penstock import sinks
from penstock.app.application import Application
from penstock.cli.demo.check import Counted, counted_in_process
from penstock.cli.demo.limit_prices import ComputedPrices
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.report import Outcome, check_line, draw, show_summary
from penstock.cli.demo.scratch_checkpoint import scratch_checkpoint
from penstock.cli.demo.trading import market, trading
from penstock.cli.screen import console, progress_bar, rate, starting
from penstock.connectors.source_kinds import ReplayableSource
from penstock.control.goals.goal import Goal, latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.journal import read_journal
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.plan.configuration import Configuration
from penstock.watch.control_lines import control_lines
from penstock.watch.figures import clock_text
from penstock.watch.terminal.live_console import LiveConsole

if TYPE_CHECKING:
    from penstock.spark.driver.handle import Handle

Session = Any  # a SparkSession: only the room spark names pyspark
GOAL_P95_MS = 1000.0
RATE_QUOTES_S = 6_000.0
MOST_REPLICAS = 8
SYMBOLS = 400
SERVICE_MS = 5.0
_DAY_S = 86_400.0
_WARM_UP_QUOTES, _WARM_UP_BATCHES = 24_000, 12
_JOURNAL = "journal.jsonl"
_PATIENCE_S = 300.0  # beyond its own length, after which a machine that is too slow is given up


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """What the user asked for: a day of load within so many seconds, at a mean rate."""

    seconds: float
    output: Path
    master: str
    rate_tuples_s: float | None = None


def demo_command(request: DemoRequest) -> None:
    """Warms up, streams under a goal, compares, sums up, draws."""
    require("penstock demo", "spark", "plot")
    _check(request)
    screen = console()
    session = _opened(request.master, screen)
    with price_service(SERVICE_MS) as port, scratch_checkpoint() as checkpoint:
        with starting(screen, "warming up"):
            _warmed_up(session, port)
        source = day_of(request)
        _introduce(screen, source, request)
        outcome = _streamed(trading(source, service=port, sink=sinks.discard()), request, session, checkpoint, screen)
    expected = _expected(source, outcome.tuples_in) if outcome.complete else None
    show_summary(screen, outcome)
    screen.print(check_line(outcome, expected), markup=False, soft_wrap=True)
    pictures = draw(outcome, expected, request.output)
    for path in (*pictures, request.output / _JOURNAL):
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)
    if expected is not None and expected != outcome.counted:
        raise InputError(
            "the demonstration's results are not those of the in-process engine; report it with what this run printed"
        )


def _check(request: DemoRequest) -> None:
    problems = []
    if not request.seconds >= 5:
        problems.append(f"--seconds is at least 5; got {request.seconds:g}")
    if request.rate_tuples_s is not None and not request.rate_tuples_s >= 100:
        problems.append(f"--rate is at least 100 tuples a second; got {request.rate_tuples_s:g}")
    if request.output.exists() and not request.output.is_dir():
        problems.append(f"--output is a directory; got {request.output}, which is a file")
    if problems:
        raise InputError("\n".join(problems))


def _opened(master: str, screen: Console) -> Session:
    with starting(screen, f"starting Spark on {master}"):
        from penstock.spark.session.session import spark_session

        return spark_session(master, task_slots=2 * MOST_REPLICAS)


def _warmed_up(session: Session, port: int) -> None:
    """The same application over a few tuples: kernels and the JVM's compiler get warm, and so does each worker.

    Spark takes its workers in turn: batches of as many replicas as there may be come to all of them.
    """
    from penstock.spark.driver.start import run

    source = market("unbounded", None, symbols=SYMBOLS, total=_WARM_UP_QUOTES)
    app = trading(source, service=port, sink=sinks.discard())
    configuration = Configuration.of(app, replicas=MOST_REPLICAS)
    configuration = replace(configuration, micro_batch_tuples=_WARM_UP_QUOTES // _WARM_UP_BATCHES)
    with scratch_checkpoint() as checkpoint:
        run(app, session=session, checkpoint=checkpoint, configuration=configuration)


def day_of(request: DemoRequest) -> ReplayableSource:
    """A day of load, from midnight to midnight, within the seconds of the demonstration."""
    mean = request.rate_tuples_s or RATE_QUOTES_S
    day = partial(market, "diurnal", mean, speed_up=_DAY_S / request.seconds, symbols=SYMBOLS)
    arrivals = day().open().arrivals
    assert arrivals is not None
    return day(total=arrivals.arrived_by(request.seconds))


def _introduce(screen: Console, source: ReplayableSource, request: DemoRequest) -> None:
    arrivals = source.open().arrivals
    assert arrivals is not None
    rates = [arrivals.rate_tuples_s(request.seconds * part / 100) for part in range(100)]
    lowest, highest = (rate(round(own), 1) for own in (min(rates), max(rates)))
    screen.print(
        f"{request.seconds:g} s bring a day of quotes: {lowest} at night, {highest} in the evening.\n"
        f"each window asks a service that takes {SERVICE_MS:g} ms\n"
        f"goal: results within {GOAL_P95_MS:g} ms (p95), on as few replicas as that takes, {MOST_REPLICAS} at most",
        soft_wrap=True,
    )


def goal() -> Goal:
    return latency(p95_ms=GOAL_P95_MS)


def _streamed(app: Application, request: DemoRequest, session: Session, checkpoint: Path, screen: Console) -> Outcome:
    """Runs the application under the goal with the live console, and keeps the journal."""
    from penstock.spark.driver.start import start

    title = f"{app.name} on {request.master}: a day of load in {request.seconds:g} s, goal p95 {GOAL_P95_MS:g} ms"
    handle = start(app, session=session, checkpoint=checkpoint, goal=goal(), limits=Limits(max_replicas=MOST_REPLICAS))
    observations = handle.result.observations
    shown = LiveConsole(
        screen,
        title,
        handle,
        lambda: observations,
        expected_s=request.seconds,
        duration_s=request.seconds + _PATIENCE_S,
        control=lambda: _control_lines(handle),
    )
    try:
        ending = shown.watch(_Decisions(handle, shown).tell)
        if ending == "interrupted":
            screen.print("stopping ...")
    finally:
        result = handle.stop()
    recorded = read_journal(_saved_journal(handle.checkpoint.directory, request.output))
    return Outcome(
        title,
        handle.fixed.started_at_s,
        recorded.observations,
        tuple(line.configuration for line in recorded.lines),
        tuple(own.decision for own in judged_decisions(recorded)),
        Counted(*result.discarded.get("out", (0, 0))),
        ending == "done",
        GOAL_P95_MS,
    )


def _control_lines(handle: Handle) -> list[tuple[str, str]]:
    assert handle.controller is not None
    decisions = handle.controller.decisions
    return control_lines(decisions[-1] if decisions else None, handle.controller.advice)


class _Decisions:
    """Tells each change of replicas with its reason, once."""

    def __init__(self, handle: Handle, shown: LiveConsole) -> None:
        self._handle, self._shown, self._printed = handle, shown, 0

    def tell(self, elapsed_s: float) -> None:
        assert self._handle.controller is not None
        decisions = tuple(self._handle.controller.decisions)
        for decision in decisions[self._printed :]:
            if decision.decided.replicas != decision.setting.replicas:
                self._shown.tell(f"{clock_text(elapsed_s)}  {decision.text}")
        self._printed = len(decisions)


def _expected(source: ReplayableSource, tuples: int) -> Counted:
    app = trading(source, service=ComputedPrices(), sink=sinks.discard())
    with progress_bar("comparing with the in-process engine") as advance:
        return counted_in_process(app, tuples, advance)


def _saved_journal(checkpoint: Path, output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(checkpoint / _JOURNAL, output / _JOURNAL))
    except OSError as error:
        raise InputError(f"cannot write into {output}: {error.strerror or error}") from error
