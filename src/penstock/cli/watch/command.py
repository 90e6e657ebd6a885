"""`penstock watch`: the dashboard of a run in a process of its own, or the same facts in a terminal."""

from __future__ import annotations

import contextlib
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.watch.metrics import serve_metrics
from penstock.errors import InputError
from penstock.host.extras import require


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What the user asked for; `with_pid`: the dashboard was started by a run of that process."""

    checkpoint: Path
    host: str = "127.0.0.1"
    port: int = 0
    token_file: Path | None = None
    terminal: bool = False
    as_json: bool = False
    metrics: str | None = None
    with_pid: int | None = None


def watch_command(request: WatchRequest) -> None:
    """Opens the journal and shows it until Ctrl-C."""
    from penstock.watch.recorded.run_reader import RunReader, journal_of

    if request.terminal and request.as_json:
        raise InputError("--terminal and --json are two ways to show the same; give one of them")
    if not (request.terminal or request.as_json):
        require("penstock watch", "dashboard")
    reader = RunReader(journal_of(request.checkpoint))
    with _held(reader.journal.parent), contextlib.suppress(KeyboardInterrupt), _ends_at_sigterm():
        reader.open()
        served = None if request.metrics is None else serve_metrics(request.metrics, reader.journal)
        if request.terminal or request.as_json:
            from penstock.watch.terminal.run_view import watch_in_terminal

            watch_in_terminal(reader, as_json=request.as_json, metrics=served)
            return
        from penstock.watch.page.serving import Address, serve

        def say(line: str) -> None:
            print(line, flush=True)
            if served is not None:
                print(f"metrics: {served}", flush=True)

        address = Address(request.host, request.port, request.token_file, request.with_pid)
        serve(reader, address, replayed, say)


def replayed(journal: Path, policy: str) -> dict[str, Any]:
    """What another policy would have done in a run."""
    from penstock.cli.options.control_options import ControlOptions
    from penstock.cli.replay import ReplayRequest, replayed_run

    return replayed_run(ReplayRequest(journal, ControlOptions(policy=policy)))[1]


@contextlib.contextmanager
def _ends_at_sigterm() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, so that it gives back what it holds."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _held(checkpoint: Path) -> Iterator[None]:
    """A scratch checkpoint keeps its journal while somebody looks; who looks last removes it."""
    from penstock.host.directories import temporary_directory
    from penstock.host.owned_folder import OwnedFolder

    if not (checkpoint / "lock").is_file() or Path(temporary_directory()) not in checkpoint.resolve().parents:
        yield
        return
    folder = OwnedFolder(str(checkpoint))
    try:
        yield
    finally:
        if not folder.is_shared:
            shutil.rmtree(checkpoint, ignore_errors=True)
        folder.release()
