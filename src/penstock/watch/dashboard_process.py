"""The dashboard as a process of its own: started beside a run, found by the link that it prints."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import InputError
from penstock.host.extras import require

_PATIENCE_S = 60.0
_LINK = "dashboard: "


@dataclass(slots=True)
class DashboardProcess:
    """Its link and token; it ends some time after this process, once nobody looks, or with `close`."""

    url: str
    token: str = field(repr=False)
    process: subprocess.Popen[str] = field(repr=False)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """Ends it at once."""
        self.process.terminate()
        self.process.wait(10)

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">dashboard: {self.url}</a>'


def start_dashboard(checkpoint: Path, *, host: str = "127.0.0.1", port: int = 0) -> DashboardProcess:
    """Starts one, and waits until it listens."""
    require("the dashboard", "dashboard")
    with tempfile.TemporaryDirectory(prefix="penstock-token-") as folder:
        token_file = Path(folder, "token")
        process = subprocess.Popen(
            [
                sys.executable, "-m", "penstock", "watch", str(checkpoint), "--host", host, "--port", str(port),
                "--token-file", str(token_file), "--with-pid", str(os.getpid()),
            ],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        url = _link(process)
        token = token_file.read_text().strip()
    return DashboardProcess(url, token, process)


def _link(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(process.stdout.readline()), daemon=True)  # type: ignore
    reader.start()
    reader.join(_PATIENCE_S)
    line = found[0] if found else ""
    if not line.startswith(_LINK):
        process.terminate()
        reason = process.stderr.read().strip() if found else f"it did not start within {_PATIENCE_S:g} s"
        raise InputError(f"the dashboard did not start: {reason or 'it ended without a word'}")
    threading.Thread(target=process.stderr.read, daemon=True).start()  # nobody may wait for a full pipe
    return line.removeprefix(_LINK).strip()
