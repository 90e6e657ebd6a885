"""A dashboard in its process with clients in theirs, and what its process takes."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from penstock.watch.dashboard_process import DashboardProcess, start_dashboard

_TICKS = os.sysconf("SC_CLK_TCK")


class Watched:
    """The dashboard and its clients, which can be stopped for a while: then they take nothing."""

    def __init__(self, page: DashboardProcess, clients: subprocess.Popen[bytes]) -> None:
        self.page, self._clients = page, clients

    def go_on(self, *, goes: bool = True) -> None:
        for process in (self.page.process, self._clients):
            process.send_signal(signal.SIGCONT if goes else signal.SIGSTOP)

    @property
    def cpu_s(self) -> float:
        """CPU of the dashboard so far, without that of the clients."""
        return cpu_s(self.page)

    @property
    def memory_mb(self) -> float:
        """Resident memory of the dashboard."""
        pages = int(Path(f"/proc/{self.page.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_s(page: DashboardProcess) -> float:
    fields = Path(f"/proc/{page.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def answered(page: DashboardProcess, path: str) -> bytes:
    """What it answers to a request."""
    with urllib.request.urlopen(f"{page.url}{path}", timeout=60) as answer:
        return bytes(answer.read())


@contextmanager
def watched(checkpoint: Path, clients: int) -> Iterator[Watched]:
    """A dashboard with clients that read its events, until the end of the block."""
    page = start_dashboard(checkpoint)
    command = [sys.executable, "-m", "benchmarks.dashboard.watched", page.url, str(clients)]
    readers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    own = Watched(page, readers)
    try:
        assert readers.stdout is not None
        readers.stdout.readline()  # all of them have had an answer
        yield own
    finally:
        own.go_on()
        page.close()
        readers.kill()
        readers.wait()


def read_events(url: str, connected: threading.Semaphore) -> None:
    """Takes what comes until the dashboard ends."""
    parts = urlsplit(url)
    with suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=60)
        connection.request("GET", "/api/events")
        answer = connection.getresponse()
        connected.release()
        while answer.readline():
            pass


def main(arguments: Sequence[str]) -> None:
    url, number = arguments[0], int(arguments[1])
    connected = threading.Semaphore(0)
    for _ in range(number):
        threading.Thread(target=read_events, args=(url, connected), daemon=True).start()
    for _ in range(number):
        connected.acquire()
    print("connected", flush=True)
    sys.stdin.read()  # until whoever started this has gone


if __name__ == "__main__":
    main(sys.argv[1:])
