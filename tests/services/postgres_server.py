"""A PostgreSQL server of its own on a free port of this machine, with a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

WITHIN_S = 120.0


def postgres_binaries() -> Path | None:
    """The folder with initdb and postgres: that of Debian's newest version, or one on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else None if on_path is None else Path(on_path).parent


def free_ports(number: int) -> list[int]:
    """Different ports: each is held until all are found, or the system may give the same one twice."""
    with ExitStack() as held:
        taken = [held.enter_context(socket.socket()) for _ in range(number)]
        for own in taken:
            own.bind(("127.0.0.1", 0))
        return [own.getsockname()[1] for own in taken]


class PostgresServer:
    """Runs until `stop`; `kill` ends it as a crash does, `start` brings it back with what it had committed."""

    def __init__(self) -> None:
        binaries = postgres_binaries()
        assert binaries is not None
        self._bin, self.port = binaries, free_ports(1)[0]
        self._folder = tempfile.mkdtemp(prefix="penstock-postgres-")
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        self._data = f"{self._folder}/data"
        self._run("initdb", "-D", self._data, "-U", "penstock", "-A", "trust", "--no-sync")
        self.start()

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=penstock dbname=postgres password=very-secret"

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self._folder} -c fsync=off"
        log = f"{self._folder}/log"
        self._run("pg_ctl", "-D", self._data, "-w", "-t", str(int(WITHIN_S)), "-l", log, "-o", options, "start")

    def kill(self) -> None:
        """Ends the server and all its processes at once, without a word."""
        pid = int(Path(self._data, "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        for own in (pid, *map(int, children)):
            os.kill(own, signal.SIGKILL)
        deadline = time.monotonic() + WITHIN_S
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)

    def query(self, text: str) -> list[list[str]]:
        """What psql gives: another client than the sink's."""
        command = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "penstock", "-d", "postgres", "-AtF", "|", "-c", text]
        return [line.split("|") for line in self._run("psql", *command).splitlines()]

    def _run(self, program: str, *arguments: str) -> str:
        command, lives_on = [str(self._bin / program), *arguments], program == "pg_ctl"
        done = subprocess.run(  # a server that lives on must not hold our end of a pipe
            command, user=self._user, cwd="/", check=False, text=True,
            stdout=subprocess.DEVNULL if lives_on else subprocess.PIPE, stderr=None if lives_on else subprocess.PIPE,
        )  # fmt: skip
        assert done.returncode == 0, f"{program} {arguments}: {done.stderr}"
        return done.stdout or ""
