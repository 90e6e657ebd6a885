"""A real run on local Spark in a process of its own, its dashboard, and Debian's Chromium through playwright."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from penstock.watch.page.access import Access
from penstock.watch.page.server import Dashboard
from penstock.watch.page.serving import Address, listening
from penstock.watch.recorded.run_reader import RunReader
from tests.reference.made_run import write_run

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
PATIENCE_S = 240.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = None
    if os.environ.get("PENSTOCK_BROWSER") != "1":
        reason = "tests in a browser take minutes; run them with: make browser"
    elif CHROMIUM is None:
        reason = "there is no Chromium on this machine; install it with: apt-get install chromium"
    for item in items:
        if reason is not None and here in Path(item.path).parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclass
class Run:
    """The driver, which writes what `handle.observe()` says, and its dashboard."""

    folder: Path
    driver: subprocess.Popen[bytes]
    url: str = ""
    token: str = ""
    watch: subprocess.Popen[str] | None = None
    seen: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def observed(self) -> dict[int, dict[str, Any]]:
        """By micro-batch, what the handle has said of it so far."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self.folder / "observed.jsonl").read_text().splitlines()
            self.seen = {own["batch"]: own for own in map(json.loads, lines[:-1])}
        return self.seen

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


@contextlib.contextmanager
def watching(checkpoint: Path, port: int = 0) -> Iterator[str]:
    """The link of `penstock watch`, as long as it is needed."""
    command = [sys.executable, "-m", "penstock", "watch", str(checkpoint), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("dashboard: ").strip()
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("run")
    with (folder / "driver.log").open("wb") as log:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.driver", str(folder)], stdout=log, stderr=log, start_new_session=True
        )
    own = Run(folder, driver)
    try:
        wait_until(lambda: len(own.observed()) > 8 or driver.poll() is not None, "no micro-batch came")
        assert driver.poll() is None, (folder / "driver.log").read_text()
        own.watch = subprocess.Popen(
            [sys.executable, "-m", "penstock", "watch", str(own.checkpoint), "--token-file", str(folder / "token")],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert own.watch.stdout is not None
        first = own.watch.stdout.readline()
        assert first.startswith("dashboard: http://127.0.0.1:")
        own.url = first.removeprefix("dashboard: ").strip()
        wait_until((folder / "token").exists, "no token was written")
        own.token = (folder / "token").read_text().strip()
        yield own
    finally:
        own.kill()
        if own.watch is not None:
            own.watch.terminate()
            own.watch.wait(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield own
        own.close()


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Callable[[Path], Any]]:
    """Shows one journal after the other in a page, without a run; what a script of the page finds wrong is `wrong`."""
    reader = RunReader(write_run(tmp_path / "first"))
    reader.open()
    with listening(Address()) as own, browser.new_context() as context:
        url = f"http://127.0.0.1:{own.getsockname()[1]}/"
        dashboard = Dashboard(reader, Access("127.0.0.1", own.getsockname()[1], "token"), lambda journal, policy: {})
        server = uvicorn.Server(uvicorn.Config(dashboard.application(), log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[own])), daemon=True)
        thread.start()
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)

        def show(journal: Path) -> Any:
            dashboard.reader = RunReader(journal)
            dashboard.reader.open()
            page.goto(url)
            page.wait_for_selector("#status[data-status]")
            return page

        yield show
        server.should_exit = True
        thread.join(60)


@pytest.fixture
def page(browser: Any, run: Run) -> Iterator[Any]:
    """The page of the run; an error or a refused load in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    own = context.new_page()
    own.set_default_timeout(60_000)
    wrong: list[str] = []
    own.on("pageerror", lambda error: wrong.append(str(error)))
    own.on("dialog", lambda dialog: wrong.append(f"a dialog of the data's: {dialog.message}"))
    own.goto(run.url)
    own.wait_for_selector("#status[data-status]")
    yield own
    context.close()
    assert wrong == []
