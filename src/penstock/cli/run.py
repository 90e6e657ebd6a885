"""`penstock run`: an application on Spark, with a live console."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from penstock.cli.application import load_application
from penstock.cli.dead_letters import ON_ERROR, show_dead_letters
from penstock.cli.options.control_options import ControlOptions, control_arguments
from penstock.cli.screen import console, rate, starting
from penstock.cli.watch.metrics import metrics_address, serve_metrics
from penstock.connectors.files.paths import paths_of
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.host.phases import phases_text
from penstock.measure.html_table import amount

if TYPE_CHECKING:
    from penstock.app.graph import Graph
    from penstock.cli.options.settings import RequestedConfiguration
    from penstock.control.goals.goal import Goal
    from penstock.spark.driver.handle import Handle
    from penstock.watch.run_result import RunResult
    from penstock.watch.terminal.live_console import Ending, LiveConsole

DEFAULT_MASTER = "local[*]"
_AT_END = ("hold", "fire")
_JOURNAL_MB = 512


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the user asked for."""

    application: str
    master: str
    checkpoint: Path | None
    duration_s: float | None
    settings: tuple[str, ...]
    dead_letters: Path | None = None
    on_error: str = "dead_letter"
    control: ControlOptions = field(default_factory=ControlOptions)
    reset_state: tuple[str, ...] = ()
    durable: bool = False
    state_directory: Path | None = None
    at_end: str = "hold"
    dashboard: bool = False
    journal_mb: int = _JOURNAL_MB
    dead_letter_samples: bool = True
    metrics: str | None = None


def run_command(request: RunRequest) -> None:
    """Starts the application, shows it while it runs, ends it cleanly, and says where to go on."""
    extras = [*(["dashboard"] if request.dashboard else []), *(["metrics"] if request.metrics is not None else [])]
    require("penstock run", "spark", *extras)
    from penstock.cli.options.settings import changed
    from penstock.control.journal.history import JournalSettings
    from penstock.runtime.driver.finished import is_finished
    from penstock.spark.driver.start import start
    from penstock.state.checkpoint.checkpoint import Checkpoint
    from penstock.watch.terminal.live_console import LiveConsole

    app = load_application(request.application)
    settings, control = _checked(request, app.graph)
    screen = console()
    fires = request.at_end == "fire"
    if request.checkpoint is not None and is_finished(
        app.graph, Checkpoint(request.checkpoint), request.reset_state, fires_at_end=fires
    ):
        _say(screen, ending_lines("done", ran=False, request=request, checkpoint=request.checkpoint))
        return
    with starting(screen, f"starting {app.name} on {request.master}"):
        handle = start(
            app,
            master=request.master,
            checkpoint=request.checkpoint or Path(tempfile.mkdtemp(prefix="penstock-")),  # kept, to go on with
            dead_letters=request.dead_letters,
            on_error=request.on_error,
            reset_state=request.reset_state,
            durable=request.durable,
            state_directory=request.state_directory,
            at_end=request.at_end,  # type: ignore[arg-type]
            journal=JournalSettings(request.journal_mb, request.dead_letter_samples),
            **control,
        )
    phases = handle.phases.ended
    screen.print(f"ready after {sum(phase.seconds for phase in phases):.1f} s: {phases_text(phases)}", markup=False)
    try:
        if request.dashboard:
            handle.dashboard()
        if request.metrics is not None:
            _say(screen, [f"metrics: {serve_metrics(request.metrics, handle.checkpoint.directory)}"])
        if request.settings:
            handle.apply(changed(handle.configuration, settings, app.graph))
        shown = LiveConsole(
            screen,
            f"{app.name} on {request.master}",
            handle,
            lambda: handle.result.observations,
            duration_s=request.duration_s,
            control=partial(_control_lines, handle),
        )
        ending = shown.watch(_Decisions(handle, shown).tell)
        if ending == "interrupted":
            screen.print("stopping ...")
    finally:
        result = handle.stop()
    _summary(screen, result, control["goal"])
    sinks = handle.fixed.graph.sinks
    _say(screen, [f"sink {sink.name}: files in {path}" for sink in sinks for path in paths_of(sink.connector)])
    show_dead_letters(screen, result.dead_letters, result.dead_letter_count)
    place = request.checkpoint or handle.checkpoint.directory
    if handle.is_stopped_by_command:
        ending = "command"
    _say(screen, ending_lines(ending, bool(result.observations), request, place))


def _checked(request: RunRequest, graph: Graph) -> tuple[RequestedConfiguration, dict[str, Any]]:
    """The requested configuration, and what is asked of control; all problems are reported together."""
    from penstock.cli.options.settings import settings_of
    from penstock.cli.options.settings_within_limits import as_highest_cap, limit_problems
    from penstock.control.goals.limits import Limits

    problems: list[str] = []
    settings: RequestedConfiguration | None = None
    control: dict[str, Any] | None = None
    try:
        settings = settings_of(request.settings, graph)
    except InputError as error:
        problems.append(str(error))
    try:
        control = control_arguments(request.control)
    except InputError as error:
        problems.append(str(error))
    if settings is not None and control is not None and control["goal"] is not None and not control["passive"]:
        problems += limit_problems(settings, control["limits"] or Limits(), graph)
        settings, control["limits"] = as_highest_cap(settings, control["limits"])
    if request.on_error not in ON_ERROR:
        problems.append(f"--on-error is {' or '.join(ON_ERROR)}; got '{request.on_error}'")
    if request.at_end not in _AT_END:
        problems.append(f"--at-end is {' or '.join(_AT_END)}; got '{request.at_end}'")
    if request.metrics is not None:
        try:
            metrics_address(request.metrics)
        except InputError as error:
            problems.append(str(error))
    if request.journal_mb < 1:
        problems.append(f"--journal-mb is at least 1; got {request.journal_mb}")
    if request.duration_s is not None and not request.duration_s > 0:
        problems.append(f"--duration is more than 0 seconds; got {request.duration_s:g}")
    if problems or settings is None or control is None:
        raise InputError("\n".join(problems))
    return settings, control


def _control_lines(handle: Handle) -> list[tuple[str, str]]:
    from penstock.watch.control_lines import control_lines

    if handle.controller is None:
        return []
    decisions = handle.controller.decisions
    return control_lines(decisions[-1] if decisions else None, handle.controller.advice)


class _Decisions:
    """Tells every change that control makes or recommends, and what else it has to say."""

    def __init__(self, handle: Handle, shown: LiveConsole) -> None:
        self._controller, self._shown, self._last_step = handle.controller, shown, 0
        if self._controller is not None:
            self._controller.tell = shown.tell

    def tell(self, elapsed_s: float) -> None:
        if self._controller is None or self._controller.is_passive:  # which tells recommendations itself
            return
        new = [d for d in list(self._controller.decisions) if d.step > self._last_step]
        for decision in new:
            self._last_step = decision.step
            if decision.requested:
                self._shown.tell(decision.text)


def ending_lines(ending: Ending, ran: bool, request: RunRequest, checkpoint: Path) -> list[str]:
    """How the run ended, and the exact command that goes on with it if anything is left."""
    if ending == "done":
        if ran:
            return [f"finished: every source is exhausted; the checkpoint is {checkpoint}"]
        return [f"the checkpoint {checkpoint} is finished: every source was exhausted before; there is nothing to do"]
    words = {"interrupted": "stopped by Ctrl-C", "command": "stopped by a command"}
    text = words.get(ending) or f"stopped after {request.duration_s:g} s"
    return [f"{text}; to go on from here:", f"  {resume_command(request, checkpoint)}"]


def _say(screen: Console, lines: Iterable[str]) -> None:
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)


def resume_command(request: RunRequest, checkpoint: Path) -> str:
    """The command line that goes on with a run.

    >>> resume_command(RunRequest("app.py", "local[*]", None, 5.0, ("window.replicas=2",)), Path("my checkpoint"))
    "penstock run app.py --checkpoint 'my checkpoint' --set window.replicas=2"
    """
    master = [] if request.master == DEFAULT_MASTER else ["--master", request.master]
    settings = [word for setting in request.settings for word in ("--set", setting)]
    letters = [] if request.dead_letters is None else ["--dead-letters", str(request.dead_letters)]
    durable = ["--durable"] if request.durable else []
    state = [] if request.state_directory is None else ["--state-directory", str(request.state_directory)]
    errors = [] if request.on_error == ON_ERROR[0] else ["--on-error", request.on_error]
    at_end = [] if request.at_end == "hold" else ["--at-end", request.at_end]
    watched = ["--dashboard"] if request.dashboard else []
    watched += [] if request.journal_mb == _JOURNAL_MB else ["--journal-mb", str(request.journal_mb)]
    watched += [] if request.dead_letter_samples else ["--no-dead-letter-samples"]
    watched += [] if request.metrics is None else ["--metrics", request.metrics]
    options = [*master, "--checkpoint", str(checkpoint), *settings, *letters, *errors, *durable, *state, *at_end]
    options += [*request.control.arguments, *watched]
    return shlex.join(["penstock", "run", request.application, *options])


def _summary(screen: Console, result: RunResult, goal: Goal | None) -> None:
    from penstock.watch.figures import time_text
    from penstock.watch.gauges import latency_text
    from penstock.watch.goal_verdict import verdict_of
    from penstock.watch.summary import summary_of

    summary = summary_of(result.observations, result.earlier)
    if summary is None:
        return
    screen.print(
        f"{summary.micro_batches:,} micro-batches, {amount(summary.tuples_in, 'tuple')} in, "
        f"{summary.tuples_out:,} out, {rate(summary.tuples_in, summary.seconds)} over {summary.seconds:.1f} s"
    )
    if summary.latency is not None:
        counted = latency_text(summary.latency, result.observations[-1].latency_from)
        screen.print(f"latency {counted}; gaps between results {time_text(summary.median_gap_s)} "
                     f"(median), {time_text(summary.longest_gap_s)} (longest)")  # fmt: skip
    verdict = verdict_of(result.observations, goal)
    if verdict is not None:
        screen.print(verdict.text, markup=False)
    for name, (count, checksum) in result.discarded.items():
        screen.print(f"sink {name}: {amount(count, 'tuple')}, checksum {checksum:016x}", markup=False)
    for name, table in result.tables.items():
        screen.print(f"sink {name}: {amount(table.num_rows, 'tuple')}", markup=False)
