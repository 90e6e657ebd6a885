"""A standalone Spark cluster on loopback addresses: every worker is a host of its own, with its own local disk."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyspark
import pytest

from penstock.spark.java import java_home

needs_cluster = pytest.mark.skipif(
    "PENSTOCK_CLUSTER" not in os.environ, reason="starts a cluster of three JVMs; run it with `make cluster`"
)
_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: the master's URL, the workers' hosts, and the folder with logs and the workers' files."""

    url: str
    hosts: tuple[str, ...]
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...] = ()

    def local_directory(self, host: str) -> Path:
        """What executors on this host have as their local disk."""
        return self.folder / host / "local"

    def end_workers(self) -> None:
        """Ends all workers, and with them every executor; the master stays."""
        for worker in self.workers:
            _end(worker)


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, cores: int = 2, memory_mb: int = 1024) -> Iterator[Cluster]:
    """A master on 127.0.0.1 and workers on 127.0.0.2, 127.0.0.3, ...; all processes are ended whatever happens."""
    hosts = tuple(f"127.0.0.{number + 2}" for number in range(workers))
    port = _free_port("127.0.0.1")
    with ExitStack() as processes:
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        processes.enter_context(_daemon(folder / "master", "master.Master", arguments, "127.0.0.1"))
        _wait_for(lambda: _listens("127.0.0.1", port), "the master", folder / "master")
        url = f"spark://127.0.0.1:{port}"
        daemons = []
        for host in hosts:
            arguments = ["--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", f"{memory_mb}m"]
            arguments += ["--work-dir", str(folder / host / "work"), url]
            daemons.append(processes.enter_context(_daemon(folder / host, "worker.Worker", arguments, host)))
        for host in hosts:
            _wait_for(partial(_has_registered, folder / host / "log"), f"the worker on {host}", folder / host)
        yield Cluster(url, hosts, folder, tuple(daemons))


@contextmanager
def _daemon(folder: Path, name: str, arguments: Sequence[str], host: str) -> Iterator[subprocess.Popen[bytes]]:
    local = folder / "local"
    local.mkdir(parents=True)
    (folder / "log4j2.properties").write_text(_LOGGING)
    environment = os.environ | {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(local),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
    }
    with (folder / "log").open("wb") as log:
        command = [str(_SPARK_CLASS), f"org.apache.spark.deploy.{name}", *arguments]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a daemon of ours; a worker takes its executors along when it ends gently."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(happened: Callable[[], bool], what: str, folder: Path, timeout_s: float = 90.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not start; its log ends with: {(folder / 'log').read_text()[-1500:]}")
        time.sleep(0.1)


def _has_registered(log: Path) -> bool:
    return "Successfully registered" in log.read_text()


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


_LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""
