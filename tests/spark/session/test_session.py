"""The session: its settings, a quiet terminal, one sentence per mistake, nothing left running."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.errors import InputError
from penstock.host.owned_folder import OwnedFolder
from penstock.spark.executors.pinning import cores_by_host, pinned
from penstock.spark.session.session import (
    LocalFolder,
    Master,
    close_session,
    import_paths,
    log_of,
    make_local_folder,
    master_of,
    require_answer,
    spark_session,
    start_settings,
)
from penstock.spark.worker_daemon import leave_archives

_QUIET_PROGRAM = """
import sys
from penstock.spark.session.session import close_session, spark_session
session = spark_session("local[1]")
def fail(frame, batch):
    if batch == 1:
        raise ValueError("on purpose")
    frame.count()
query = (session.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
         .writeStream.foreachBatch(fail).option("checkpointLocation", sys.argv[1]).start())
try:
    query.awaitTermination(120)
except Exception as error:
    print("failed" if "on purpose" in str(error) else error)
close_session(session)
print("done")
"""


def _read_all(terminal: int) -> bytes:
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side of the terminal is closed
            return seen
        if not piece:
            return seen
        seen += piece


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("local", "local[6,4]"),
        ("local[*]", "local[6,4]"),
        ("local[8]", "local[8,4]"),
        ("local[2, 1]", "local[6,1]"),
        ("yarn", "yarn"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
    ],
)
def test_a_local_master_has_a_slot_for_every_replica_and_retries(text: str, url: str) -> None:
    assert master_of(text, task_slots=6, cores=2).url == url


@pytest.mark.parametrize("text", ["locl[2]", "local[0]", "spark://", "spark://host", "http://a:1", ""])
def test_a_wrong_master_is_named_before_anything_starts(text: str) -> None:
    with pytest.raises(InputError, match="is not one that Spark knows; give local"):
        spark_session(text)


def test_a_master_that_nobody_listens_at_is_told_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(InputError, match=rf"does not answer \(127\.0\.0\.1:{port}: Connection refused\)"):
            require_answer(Master(f"spark://127.0.0.1:{port}", (("127.0.0.1", port),)))


def test_a_host_that_does_not_exist_is_told() -> None:
    with pytest.raises(InputError, match=r"does not answer \(no-such-host\.invalid:7077"):
        require_answer(master_of("spark://no-such-host.invalid:7077", None, cores=1))


def test_shuffle_files_are_in_memory_where_there_is_room_and_old_ones_are_swept(tmp_path: Path) -> None:
    old = tmp_path / f"penstock-{os.getuid()}-0123456789ab"
    old.mkdir()
    (old / "lock").touch()
    folder = make_local_folder(str(tmp_path), needed_mb=0)
    other = make_local_folder(str(tmp_path), needed_mb=0)
    assert Path(folder.path).parent == tmp_path
    assert Path(folder.path).is_dir()
    assert not old.exists()
    folder.remove()
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_sockets_are_in_a_folder_whose_path_is_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    folder = make_local_folder(str(deep), needed_mb=0)
    settings = start_settings(Master("local[2,4]"), folder)
    assert settings["spark.local.dir"] == folder.path
    assert len(settings["spark.python.unix.domain.socket.dir"]) < 60
    assert settings["spark.python.unix.domain.socket.enabled"] == "true"
    folder.remove()
    assert not Path(folder.socket_path).exists()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    settings = start_settings(Master("local[2,4]"), make_local_folder(str(deep), needed_mb=0))
    assert settings["spark.python.unix.domain.socket.enabled"] == "false"


def test_without_room_in_memory_the_disk_serves_and_the_reason_is_kept(tmp_path: Path) -> None:
    folder = make_local_folder(str(tmp_path), needed_mb=1 << 40)
    assert Path(folder.path).parent != tmp_path
    assert "but 1099511627776 MB are wanted" in folder.because
    folder.remove()


def test_a_cluster_is_given_no_setting_that_holds_for_one_machine_only(tmp_path: Path) -> None:
    cluster = start_settings(Master("spark://a:7077"), None)
    local = start_settings(Master("local[2,4]"), LocalFolder(OwnedFolder(str(tmp_path)), ""))
    only_local = set(local) - set(cluster)
    assert {"spark.local.dir", "spark.driver.host", "spark.shuffle.compress", "spark.pyspark.python"} <= only_local


def test_workers_import_from_where_the_driver_does() -> None:
    assert Path(import_paths()[0], "penstock", "spark", "session", "session.py").is_file()
    assert not any(path.startswith(sys.prefix) for path in import_paths()[1:])


def test_the_settings_are_in_force(session: SparkSession) -> None:
    conf = session.sparkContext.getConf()
    assert session.sparkContext.master == "local[4,4]"
    assert session.conf.get("spark.sql.adaptive.enabled") == "false"
    assert conf.get("spark.python.daemon.module") == "penstock.spark.worker_daemon"
    assert log_of(session) is not None


def test_workers_are_forked_warm_and_from_a_single_thread(session: SparkSession) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc

        for _ in batches:
            yield pa.record_batch({"frozen": [gc.get_freeze_count()], "daemon": [os.getppid()]})

    frame = session.range(2, numPartitions=2).mapInArrow(look, "frozen long, daemon long")
    rows = frame.collect()
    assert all(row.frozen > 10_000 for row in rows)
    assert len({row.daemon for row in rows}) == 1
    assert "threads before the first fork" not in Path(str(log_of(session))).read_text()


def test_an_open_session_is_shared_and_only_its_owner_closes_it(session: SparkSession) -> None:
    beside = spark_session()
    assert beside.sparkContext is session.sparkContext
    assert beside.conf.get("spark.sql.adaptive.enabled") == "false"
    close_session(beside)
    assert session.range(3).count() == 3


def test_another_master_than_the_open_one_is_refused(session: SparkSession) -> None:
    with pytest.raises(InputError, match=r"a Spark session on 'local\[4,4\]' is open in this process already"):
        spark_session("spark://127.0.0.1:7077")


def test_the_terminal_shows_only_what_the_program_printed(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", _QUIET_PROGRAM, str(tmp_path / "checkpoint")]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as program:
        os.close(theirs)
        shown: list[bytes] = []
        reader = threading.Thread(target=lambda: shown.append(_read_all(ours)))
        reader.start()
        assert program.wait(timeout=240) == 0
        reader.join(timeout=30)
    os.close(ours)
    assert shown[0].decode().split() == ["failed", "done"]


def test_a_jvm_that_cannot_start_and_one_that_never_registers_are_told_and_leave_nothing(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        ran = subprocess.run(
            [sys.executable, "-c", _FAILING_PROGRAM, str(silent.getsockname()[1]), str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert ran.stderr == ""
    first, second, left = ran.stdout.splitlines()
    assert first.startswith("Spark's JVM did not start with the Java in ")
    assert "Too small maximum heap" in first
    assert (
        f"listens, but took no application within 4 s; check that it is a Spark {pyspark.__version__} master;" in second
    )
    assert left == "children: []"


_FAILING_PROGRAM = """
import subprocess, sys, os
from penstock.errors import InputError
from penstock.spark.session import session
session._REGISTRATION_TIMEOUT_S = 4.0
log = sys.argv[2] + "/spark.log"
for master, conf in (("local[1]", {"spark.driver.memory": "1"}), (f"spark://127.0.0.1:{sys.argv[1]}", {})):
    try:
        session.spark_session(master, conf=conf, log_file=log)
    except InputError as error:
        print(error)
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    print("children:", file.read().split())
"""


def test_on_a_local_master_pinning_costs_nothing(session: SparkSession) -> None:
    frame = session.range(4)
    assert pinned(frame, ["anywhere"]) is frame
    assert list(cores_by_host(session)) == ["127.0.0.1"]


def test_warm_workers_leave_an_archive_only_for_the_installed_package_around_it(tmp_path: Path) -> None:
    library = tmp_path / "site" / "pyspark" / "python" / "lib"
    library.mkdir(parents=True)
    inside, foreign = str(library / "pyspark.zip"), str(tmp_path / "spark" / "pyspark.zip")
    assert leave_archives([inside, foreign, str(tmp_path / "site")]) == [foreign, str(tmp_path / "site")]
    assert leave_archives([inside, foreign]) == [inside, foreign]
