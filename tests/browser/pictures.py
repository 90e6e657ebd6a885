"""The pictures of docs/watch.md, of a real run: `python -m tests.browser.pictures FOLDER [SECONDS]`.

Runs a day of load that goes by in so many seconds (`tests/browser/day.py`), and takes pictures of its page in the
evening.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM
from tests.checkout import ROOT

_EVENING = 0.8  # of the day
_WITHOUT_PLACE = "document.getElementById('place').textContent = ''"


def main(folder: Path, seconds: float) -> None:
    command = [sys.executable, "-m", "tests.browser.day", str(seconds)]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        take(link_of(run), folder, _EVENING * seconds)
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(timeout=120)


def link_of(run: subprocess.Popen[str]) -> str:
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("dashboard: "):
            return line.removeprefix("dashboard: ").strip()
    raise AssertionError("the run printed no link")


def take(url: str, folder: Path, seconds: float) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        time.sleep(seconds)
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                context: Any = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                page = context.new_page()
                page.goto(url)
                page.wait_for_selector(".uplot canvas")
                page.wait_for_timeout(1500)
                page.evaluate(_WITHOUT_PLACE)
                page.screenshot(path=folder / f"dashboard-{width}-{scheme}.png", full_page=True)
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 150.0)
