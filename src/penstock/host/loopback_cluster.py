"""A standalone Spark cluster on loopback addresses: each worker is a host with a local directory of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from penstock.arguments import PATH, check_arguments, whole
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.host.java import java_home

_MASTER_HOST = "127.0.0.1"
_START_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: the master's URL, the workers' hosts, and the folder with logs and the workers' files.

    >>> Cluster("spark://127.0.0.1:7077", ("127.0.0.2",), Path("logs"), ()).local_directory("127.0.0.2").as_posix()
    'logs/127.0.0.2/local'
    """

    url: str
    hosts: tuple[str, ...]
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    def local_directory(self, host: str) -> Path:
        """What executors on this host have as their local disk."""
        return self.folder / host / "local"

    def end_workers(self) -> None:
        """Ends all workers, and with them every executor; the master stays."""
        for worker in self.workers:
            _end(worker)


@contextmanager
def loopback_cluster(folder: str | Path, workers: int = 2, cores: int = 2, memory_mb: int = 1024) -> Iterator[Cluster]:
    """A master and workers that have registered with it; all processes are ended whatever happens.

    Each worker has so many cores, so much memory, and an address of its own, so that Spark takes it for a host.

    >>> with loopback_cluster("cluster") as cluster:  # doctest: +SKIP
    ...     session = ps.spark_session(cluster.url, conf={"spark.executor.memory": "512m"})
    """
    check_arguments(
        "ps.testing.loopback_cluster", folder=(folder, PATH), workers=(workers, whole(1)), cores=(cores, whole(1)),
        memory_mb=(memory_mb, whole(1)),
    )  # fmt: skip
    require("ps.testing.loopback_cluster", "spark")
    folder, port = Path(folder), _free_port()
    hosts = tuple(f"127.0.0.{number + 2}" for number in range(workers))
    with ExitStack() as processes:
        options = ["--host", _MASTER_HOST, "--port", str(port), "--webui-port", "0"]
        processes.enter_context(_daemon(folder / "master", "master.Master", options, _MASTER_HOST))
        _await(lambda: _listens(port), "the master", folder / "master")
        url, daemons = f"spark://{_MASTER_HOST}:{port}", []
        for host in hosts:
            place = folder / host
            options = ["--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", f"{memory_mb}m"]
            options += ["--work-dir", str(place / "work"), url]
            daemons.append(processes.enter_context(_daemon(place, "worker.Worker", options, host)))
        for host in hosts:
            _await(partial(_registered, folder / host), f"the worker on {host}", folder / host)
        yield Cluster(url, hosts, folder, tuple(daemons))


@contextmanager
def _daemon(folder: Path, name: str, options: Sequence[str], host: str) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "local").mkdir(parents=True)
    logging = folder / "log4j2.properties"
    logging.write_text(_LOGGING)
    variables = {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile={logging}",
    }
    command = [str(_spark_class()), f"org.apache.spark.deploy.{name}", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """A worker that is asked to end takes its executors along."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _spark_class() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "spark-class"


def _await(happened: Callable[[], bool], what: str, folder: Path) -> None:
    deadline_s = time.monotonic() + _START_LIMIT_S
    while not happened():
        if time.monotonic() > deadline_s:
            raise InputError(f"{what} did not start within {_START_LIMIT_S:.0f} s; its log is '{folder / 'log'}'")
        time.sleep(0.1)


def _registered(folder: Path) -> bool:
    return "Successfully registered" in (folder / "log").read_text(errors="replace")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_MASTER_HOST, port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_MASTER_HOST, 0))
        return int(probe.getsockname()[1])


# The log must say "Successfully registered", whatever logging a user has set up.
_LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""
