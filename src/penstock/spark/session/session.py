"""The Spark session: opened quietly with the settings that mattered, closed with nothing left running."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from penstock.arguments import FLAG, PATH, TEXT, check_arguments, checked_call, dict_of, or_none, whole
from penstock.errors import InputError
from penstock.host.allocator import malloc_settings
from penstock.host.cores import own_cores
from penstock.host.directories import scratch_folder
from penstock.host.java import java_home
from penstock.host.owned_folder import OwnedFolder, new_folder, sweep
from penstock.runtime.replica.source_rows import BLOCK_ROWS
from penstock.spark.session.class_archive import ClassArchive, class_archive, spark_jars
from penstock.spark.session.log_redirect import environment, launch_jvm, one_sentence, open_log, redirect_python_logs
from penstock.spark.session.unknown_user import log_in, with_home
from penstock.state.memory.host_directory import MEMORY, check_state_directory

_log = logging.getLogger(__name__)

Session: TypeAlias = SparkSession  # for modules that must not import pyspark
DEFAULT_MASTER = "local[*]"
_SHUFFLE_MB = 2048
_SOCKET_FOLDER_LENGTH = 60  # Linux has 107 characters for a socket's path, and Spark's names have 42 to 47 of them
_ANSWER_TIMEOUT_S = 5.0
_REGISTRATION_TIMEOUT_S = 60.0
_SCHEDULER_TIMEOUT_S = 300.0
_SHUTDOWN_TIMEOUT_S = 30.0
_starting = threading.Lock()


@dataclass(frozen=True, slots=True)
class Master:
    """Where Spark runs: its URL for Spark, and the addresses that must answer before a JVM is started.

    `parallelism` is how many tasks a local one is asked to run at once; it may have more task slots.
    """

    url: str
    addresses: tuple[tuple[str, int], ...] = ()
    parallelism: int | None = None

    @property
    def is_local(self) -> bool:
        return self.url.startswith("local[")

    @property
    def start_timeout_s(self) -> float:
        """How long a context may take: schedulers that queue applications (YARN, Kubernetes) are given longer."""
        return _REGISTRATION_TIMEOUT_S if self.is_local or self.url.startswith("spark:") else _SCHEDULER_TIMEOUT_S


def master_of(text: str, task_slots: int | None, cores: int) -> Master:
    """The master that a user's text means; local ones get `task_slots` slots at least, and retry a failed task.

    >>> master_of("local[*]", 6, cores=2).url
    'local[6,4]'
    """
    local = re.fullmatch(r"local(?:\[(\*|[1-9]\d*)(?:\s*,\s*([1-9]\d*))?\])?", text)
    if local:
        asked = cores if local[1] == "*" else int(local[1] or 1)
        return Master(f"local[{max(asked, task_slots or 1)},{local[2] or 4}]", parallelism=asked)
    if text == "yarn":
        return Master(text)
    remote = re.fullmatch(r"(spark://|k8s://(?:https?://)?)([^/,:\s]+:\d+(?:,[^/,:\s]+:\d+)*)", text)
    if not remote:
        raise InputError(f"master '{text}' is not one that Spark knows; give local[*], local[N], spark://host:port, "
                         "k8s://https://host:port or yarn")  # fmt: skip
    pairs = [address.rsplit(":", 1) for address in remote[2].split(",")]
    return Master(text, tuple((host, int(port)) for host, port in pairs))


def require_answer(master: Master) -> None:
    """One clear sentence where no address of the master takes a connection; Spark itself would try for minutes."""
    reasons = []
    for host, port in master.addresses:
        try:
            socket.create_connection((host, port), timeout=_ANSWER_TIMEOUT_S).close()
            return
        except (OSError, OverflowError) as error:
            reasons.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
    if reasons:
        raise InputError(f"master '{master.url}' does not answer ({'; '.join(reasons)}); start it, or give the address "
                         "of one that runs")  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """Spark's local directory on this machine, and why it is there; held, so that a sweep tells it from old ones."""

    folder: OwnedFolder
    because: str
    sockets: OwnedFolder | None = None  # of another folder for sockets, whose paths have to be short

    @property
    def path(self) -> str:
        return self.folder.path

    @property
    def socket_path(self) -> str:
        return (self.sockets or self.folder).path

    def remove(self) -> None:
        self.folder.remove()
        if self.sockets is not None:
            self.sockets.remove()


def make_local_folder(memory_folder: str = MEMORY, needed_mb: int = _SHUFFLE_MB) -> LocalFolder:
    """A new directory for shuffle files, in memory where there is room; those of drivers that died are removed."""
    disk, prefix = tempfile.gettempdir(), f"penstock-{os.getuid()}-"
    for place in (memory_folder, disk):  # first: what was left there may be what takes the room
        sweep(place, f"{prefix}[0-9a-f]{{12}}")
    parent, because = disk, f"'{memory_folder}' is not there"
    if os.path.isdir(memory_folder):
        free_mb = min(shutil.disk_usage(memory_folder).free >> 20, _available_memory_mb() // 2)
        has_space = free_mb >= needed_mb and os.access(memory_folder, os.W_OK)
        parent = memory_folder if has_space else parent
        because = (
            f"'{memory_folder}' has space for {free_mb} MB, {'and' if has_space else 'but'} {needed_mb} MB are wanted"
        )
    folder = new_folder(parent, prefix)
    return LocalFolder(folder, because, None if len(folder.path) <= _SOCKET_FOLDER_LENGTH else scratch_folder())


def _available_memory_mb() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def runtime_settings() -> dict[str, str]:
    """Settings that a session takes at any time; set on the user's own session too when that one is used."""
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BLOCK_ROWS),  # rows that Spark reads become blocks
        # A task's envelopes reach its worker in parts: buffers above 32 MB leave malloc's arenas, and are mapped and
        # touched anew in each micro-batch (80 ms of CPU for 35 MB, where 23 MB take 32; docs/design/0062-costs.md).
        "spark.sql.execution.arrow.maxBytesPerBatch": "12m",
        # Tables of `foreach_batch` above this stay Arrow until tasks read them; below, the driver makes all rows.
        "spark.sql.execution.arrow.localRelationThreshold": "64KB",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }


@contextlib.contextmanager
def with_runtime_settings(session: SparkSession) -> Iterator[None]:
    """Our settings in a session of the user's while a query starts, which keeps them; then the user's own again.

    One start after the other: what a second one found meanwhile would not be the user's own.
    """
    with _starting:
        before = {key: session.conf.get(key, None) for key in runtime_settings()}
        try:
            for key, value in runtime_settings().items():
                session.conf.set(key, value)
            yield
        finally:
            for key, old in before.items():
                session.conf.unset(key) if old is None else session.conf.set(key, old)


def start_settings(master: Master, folder: LocalFolder | None) -> dict[str, str]:
    """Settings that must be there before the JVM starts; what each buys is in docs/design/0010-micro-batch-cost.md."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark keeps figures of jobs, stages and queries for its pages, even where nobody can open them.
        **dict.fromkeys(("spark.ui.retainedJobs", "spark.ui.retainedStages"), "200"),
        "spark.ui.retainedTasks": "2000",
        "spark.sql.ui.retainedExecutions": "50",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "penstock.spark.worker_daemon",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(import_paths()),
        "spark.shuffle.reduceLocality.enabled": "false",  # it would draw replicas towards the largest map outputs
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
        **runtime_settings(),
    }
    if master.parallelism is not None:
        settings["spark.default.parallelism"] = str(master.parallelism)
    if master.is_local:
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": f"{_driver_memory_mb()}m",
            "spark.pyspark.python": sys.executable,
            "spark.shuffle.compress": "false",
            "spark.shuffle.spill.compress": "false",
        }
    else:
        # A replica that finds its host busy waits longer than Spark's 3 s: elsewhere it would rebuild its slots.
        settings["spark.locality.wait.node"] = "30s"
        settings["spark.decommission.enabled"] = "true"  # executors that are given back end after their tasks
        settings |= {f"spark.executorEnv.{name}": value for name, value in malloc_settings(os.environ).items()}
    if folder is not None:
        settings |= {"spark.local.dir": folder.path, "spark.python.unix.domain.socket.dir": folder.socket_path}
        if len(folder.socket_path) > _SOCKET_FOLDER_LENGTH:
            settings["spark.python.unix.domain.socket.enabled"] = "false"
    return settings


def local_url(path: str) -> str:
    """An absolute path as Spark takes it, whatever Hadoop's default file system is.

    Hadoop's Path takes the text behind the scheme as it is, and quotes what a URI must quote: no %20 here.

    >>> local_url("/data/two words")
    'file:/data/two words'
    """
    return f"file:{path}"


def import_paths() -> tuple[str, ...]:
    """Where workers find Penstock and the user's own modules: the driver's paths but for the interpreter's own."""
    penstock = str(Path(__file__).resolve().parents[3])
    own = (sys.prefix, sys.base_prefix)
    others = [path for path in sys.path if path and Path(path).is_dir() and not path.startswith(own)]
    return tuple(dict.fromkeys([penstock, *others]))


def _driver_memory_mb() -> int:
    total_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(1024, min(4096, total_mb // 4))


@dataclass(slots=True, eq=False)
class _Launch:
    """What one `spark_session` started and `close_session` must end."""

    master: Master
    log: Path
    folder: LocalFolder | None
    archive: ClassArchive | None = None
    gateway: Any = None

    def end(self) -> None:
        """Stops Spark, then its JVM: gently, else by force; the second time, nothing."""
        atexit.unregister(self.end)
        if self.gateway is not None:
            gateway, self.gateway = self.gateway, None
            _end_jvm(gateway)
            if self.archive is not None:
                self.archive.make()
        if self.folder is not None:
            self.folder.remove()
            self.folder = None


def _end_jvm(gateway: Any) -> None:
    # `shutdown` may block for ever: py4j closes a connection from which one of its own threads still reads.
    gently = threading.Thread(target=_shut_down, args=(gateway,), name="penstock-shutdown", daemon=True)
    try:
        gently.start()
        gently.join(_SHUTDOWN_TIMEOUT_S)
    except RuntimeError:  # an interpreter that ends starts no thread
        _shut_down(gateway)
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    if gateway.proc is None:  # spark-submit started it, and ends it
        return
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(timeout=10)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _shut_down(gateway: Any) -> None:
    context = SparkContext._active_spark_context
    with contextlib.suppress(Exception):  # whatever a dead JVM answers, its process is ended afterwards
        if context is not None:
            context.stop()
        gateway.shutdown()


_launches: WeakKeyDictionary[SparkSession, _Launch] = WeakKeyDictionary()


@checked_call("ps.spark_session")
def spark_session(
    master: str = DEFAULT_MASTER,
    task_slots: int | None = None,
    conf: Mapping[str, str] | None = None,
    log_file: str | Path | None = None,
    *,
    name: str = "penstock",
    verbose: bool = False,
    state_directory: str | Path | None = None,
) -> SparkSession:
    """A Spark session with the settings that `ps.run` opens one with: `ps.run(app, session=session)` uses it.

    `master`: local[*], local[N], spark://host:port, k8s://https://host:port or yarn.  A local master gets at least
    `task_slots` task slots, and stores its shuffle files in `state_directory` (by default $PENSTOCK_STATE_DIRECTORY,
    then /dev/shm) if there are 2 GB free, otherwise in the directory for temporary files.  `conf`: Spark settings,
    which override ours.  `name`: the name of the application in Spark.  Spark's output goes to `log_file` (by default a
    temporary one) unless `verbose` is set.

    Java maps Spark's classes from an archive in the user's cache directory, which makes starts faster.  A process of
    lowest priority writes it after the first session; $PENSTOCK_CLASS_ARCHIVE=off turns it off.

    If this process already has a Spark context, the session is a second one in it, and settings that need a new context
    have no effect.  The session ends with the process, or with `session.stop()`.

    >>> session = spark_session("local[2]", conf={"spark.sql.session.timeZone": "UTC"})  # doctest: +SKIP
    >>> session.range(3).count()  # doctest: +SKIP
    3
    """
    check_arguments(
        "ps.spark_session", master=(master, TEXT), task_slots=(task_slots, or_none(whole(1))),
        conf=(conf, or_none(dict_of("a dict of texts", str))), log_file=(log_file, or_none(PATH)), name=(name, TEXT),
        verbose=(verbose, FLAG), state_directory=(state_directory, or_none(PATH)),
    )  # fmt: skip
    wanted = master_of(master, task_slots, own_cores())
    context = SparkContext._active_spark_context
    if context is not None:
        return _session_in(context, wanted, master)
    require_answer(wanted)
    home, log = java_home(), open_log(log_file)
    given = dict(conf or {})
    memory = check_state_directory(None if state_directory is None else str(state_directory)) or MEMORY
    folder = make_local_folder(memory) if wanted.is_local and "spark.local.dir" not in given else None
    archive = class_archive(home, spark_jars(), given, os.environ) if wanted.is_local else None
    launch = _Launch(wanted, log, folder, archive)
    settings = with_home(start_settings(wanted, folder) | given) | {"spark.master": wanted.url, "spark.app.name": name}
    try:
        session = _start(launch, settings, home, verbose)
    except BaseException:
        launch.end()
        raise
    atexit.register(launch.end)
    _launches[session] = launch
    return session


def close_session(session: SparkSession) -> None:
    """Ends a session that `spark_session` started, its JVM and its files; one next to the user's own is left alone."""
    launch = _launches.pop(session, None)
    if launch is not None:
        launch.end()


def log_of(session: SparkSession) -> Path | None:
    """The file with Spark's output, for error sentences; None for a session that the user started."""
    launch = _launches.get(session)
    return None if launch is None else launch.log


def _session_in(context: SparkContext, wanted: Master, asked: str) -> SparkSession:
    both_local = wanted.is_local and str(context.master).startswith("local")
    if asked != DEFAULT_MASTER and not both_local and context.master != wanted.url:
        raise InputError(f"a Spark session on '{context.master}' is open in this process already; stop it before one "
                         f"on '{asked}' is opened")  # fmt: skip
    session = SparkSession.builder.getOrCreate().newSession()
    for key, value in runtime_settings().items():
        session.conf.set(key, value)
    return session


def _start(launch: _Launch, settings: Mapping[str, str], home: Path, verbose: bool) -> SparkSession:
    conf = SparkConf()
    conf.setAll(list(settings.items()))
    with environment(_variables(launch.master, home)), _interrupts_unchanged():
        launch.gateway = _launched(launch, conf, home, verbose)
        log_in(launch.gateway)
        context = _start_context(conf, launch)
        # Its thread prints a traceback where the JVM ends first.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    if not verbose:
        redirect_python_logs(launch.log)
    if launch.folder is not None:
        _log.info("Spark's local directory is '%s': %s", launch.folder.path, launch.folder.because)
    return SparkSession(context)


def _launched(launch: _Launch, conf: SparkConf, home: Path, verbose: bool) -> Any:
    """The gateway of a JVM with an archive of classes, if there is one; without, should it not start with it."""
    archive = launch.archive
    if archive is None:
        return launch_jvm(conf, launch.log, home, verbose=verbose)
    try:
        with environment(archive.variables(os.environ)):
            gateway = launch_jvm(conf, launch.log, home, verbose=verbose)
    except InputError:
        if not archive.file.exists():
            raise
        archive.discard()
        return launch_jvm(conf, launch.log, home, verbose=verbose)
    archive.class_path = str(gateway.jvm.java.lang.System.getProperty("java.class.path"))
    return gateway


def _start_context(conf: SparkConf, launch: _Launch) -> SparkContext:
    timeout_s, expired = launch.master.start_timeout_s, threading.Event()
    watchdog = threading.Timer(timeout_s, _expire, (expired, launch.gateway.proc))
    watchdog.daemon = True
    watchdog.start()
    try:
        return SparkContext(conf=conf, gateway=launch.gateway)
    except Exception as error:
        if expired.is_set():
            raise InputError(f"master '{launch.master.url}' listens, but took no application within {timeout_s:.0f} s; "
                             f"check that it is a Spark {pyspark.__version__} master; Spark's log is '{launch.log}'"
                             ) from error  # fmt: skip
        reason = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
        raise InputError(f"Spark did not start on master '{launch.master.url}': {one_sentence(reason)}; its log is "
                         f"'{launch.log}'") from error  # fmt: skip
    finally:
        watchdog.cancel()


def _variables(master: Master, home: Path) -> dict[str, str]:
    """The environment of the JVM and its workers; on a cluster the user's own choice of Python goes first."""
    python = sys.executable if master.is_local else os.environ.get("PYSPARK_PYTHON", sys.executable)
    variables = {"JAVA_HOME": str(home), "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    local = {"SPARK_LOCAL_IP": "127.0.0.1", **malloc_settings(os.environ)}
    return variables | (local if master.is_local else {})


def _expire(expired: threading.Event, process: subprocess.Popen[bytes] | None) -> None:
    expired.set()
    if process is not None:
        process.kill()


@contextlib.contextmanager
def _interrupts_unchanged() -> Iterator[None]:
    """Ctrl-C stays what it was: a Spark context would have it cancel all jobs, whoever is about to stop a query."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
