"""Where a host keeps state: where it was asked to, in memory or on disk, and for as long as somebody uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.host.directories import scratch_folder, sweep_scratch
from penstock.host.owned_folder import OwnedFolder, sweep
from penstock.state.memory import host_directory as host_state
from penstock.state.memory.host_directory import LEAST_BYTES, check_state_directory, host_directory, sweep_state


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SPARK_EXECUTOR_DIRS", "{0}/a:{0}/b"), ("LOCAL_DIRS", "{0}/a,{0}/b"), ("LOCAL_DIRS", "{0}/a")],
)
def test_an_executor_s_first_directory_is_its_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value.format(tmp_path))
    assert host_directory("c", "window").path.startswith(f"{tmp_path}/a/")


def test_without_a_cluster_it_is_not_a_directory_of_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_EXECUTOR_DIRS", raising=False)
    monkeypatch.setenv("LOCAL_DIRS", "")
    assert host_directory("c", "window").path.startswith(("/dev/shm/", tempfile.gettempdir()))


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """A state directory and one for temporary files that count as different file systems."""
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    memory.mkdir()
    disk.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    monkeypatch.setattr(host_state, "is_other_disk", lambda one, other: one != other)
    return memory, disk


def limit(monkeypatch: pytest.MonkeyPatch, folder: Path, free: int) -> None:
    """So many bytes are free in a folder, and a lot elsewhere."""
    monkeypatch.setattr(host_state, "free_bytes", lambda path: free if path.startswith(str(folder)) else 1 << 40)


def test_state_is_in_the_directory_that_was_asked_for(places: tuple[Path, Path]) -> None:
    assert host_directory("c", "window", str(places[0])).path.startswith(f"{places[0]}/")


def test_the_environment_names_the_state_directory(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_STATE_DIRECTORY", str(places[0]))
    assert host_directory("c", "window").path.startswith(f"{places[0]}/")
    assert check_state_directory(None) == str(places[0])


def test_state_begins_on_disk_where_memory_has_too_little_space(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, places[0], LEAST_BYTES)
    directory = host_directory("c", "window", str(places[0]))
    assert directory.path.startswith(f"{places[1]}/")
    assert directory.warning == (
        f"'{places[0]}' has too little space: state by key is in '{places[1]}/penstock-{os.getuid()}' instead, which "
        "may be slower; free some space, or give another directory as state_directory (PENSTOCK_STATE_DIRECTORY)"
    )


def test_all_operators_of_a_checkpoint_leave_a_full_directory_and_others_stay(places: tuple[Path, Path]) -> None:
    memory, disk = map(str, places)
    window, join, other = (host_directory(*own, memory) for own in [("c", "window"), ("c", "join"), ("d", "window")])
    assert window.warning is None
    assert window.leave()
    assert not window.leave()
    assert [own.path.startswith(disk) for own in (window, join, other)] == [True, True, False]
    assert host_directory("c", "late", memory).path.startswith(disk)


def test_a_state_directory_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"the state directory '.*/file' cannot be written to: file exists; name ano"):
        check_state_directory(str(tmp_path / "file"))


ID, OTHER = "0123456789abcdef", "fedcba9876543210"
HOLDS = """
import sys, time
from penstock.state.memory.host_directory import HostState, host_directory
who, checkpoint, root = sys.argv[1:]
held = HostState(checkpoint, root) if who == "driver" else host_directory(checkpoint, "window", root)
print("held", flush=True)
time.sleep(60)
"""


def _swept(root: Path) -> list[str]:
    """Without what other tests have left among the temporary files, which is swept, too."""
    return [path for path in sweep_state(str(root)) if path.startswith(str(root))]


@pytest.mark.parametrize("who", ["driver", "worker"])
def test_state_of_a_killed_process_is_swept_and_that_of_a_living_one_stays(tmp_path: Path, who: str) -> None:
    folders = [tmp_path / f"penstock-{os.getuid()}" / checkpoint for checkpoint in (ID, OTHER)]
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLDS, who, name, str(tmp_path)], stdout=subprocess.PIPE)
        for name in (ID, OTHER)
    ]
    try:
        for process, folder in zip(processes, folders, strict=True):
            assert process.stdout is not None
            process.stdout.readline()
            (folder / "boot" / "window").mkdir(parents=True)
        assert _swept(tmp_path) == []
        processes[0].kill()
        processes[0].wait()
        assert _swept(tmp_path) == [str(folders[0])]
        assert [folder.exists() for folder in folders] == [False, True]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_sweep_leaves_links_and_what_is_no_checkpoint_s(tmp_path: Path) -> None:
    own, elsewhere = tmp_path / f"penstock-{os.getuid()}", tmp_path / "elsewhere"
    for folder in (own / "kernels", own / ID, elsewhere):
        folder.mkdir(parents=True)
        (folder / "lock").touch()
    (own / OTHER).symlink_to(elsewhere)
    assert sweep_state(str(tmp_path)) == [str(own / ID)]
    assert (own / "kernels").is_dir()
    assert elsewhere.is_dir()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_sweep_leaves_what_is_another_user_s(tmp_path: Path) -> None:
    folder = tmp_path / f"penstock-{os.getuid()}" / ID
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    os.chown(folder, 12345, 12345)
    assert sweep_state(str(tmp_path)) == []
    assert folder.is_dir()


def test_a_folder_without_a_lock_is_swept_when_it_is_a_day_old(tmp_path: Path) -> None:
    folder = tmp_path / ID
    folder.mkdir()
    assert sweep(str(tmp_path), ID) == []
    os.utime(folder, (0, 0))
    assert sweep(str(tmp_path), ID) == [str(folder)]


def test_whoever_comes_while_a_folder_is_swept_makes_it_anew(tmp_path: Path) -> None:
    path, stop = str(tmp_path / ID), threading.Event()

    def sweeps() -> None:
        while not stop.is_set():
            sweep(str(tmp_path), "[0-9a-f]{16}")

    sweeper = threading.Thread(target=sweeps)
    sweeper.start()
    try:
        for _ in range(300):
            folder = OwnedFolder(path)
            Path(path, "state").touch()
            assert folder.is_there()
            folder.release()
    finally:
        stop.set()
        sweeper.join()


def test_a_scratch_folder_of_a_killed_process_is_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = "import os; from penstock.host.directories import scratch_folder as new; print(new().path); os.abort()"
    own = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-uc", program], stdout=subprocess.PIPE, env=own, check=False)
    left, own = killed.stdout.decode().strip(), scratch_folder()
    assert Path(left).is_dir()
    assert sweep_scratch() == [left]
    assert Path(own.path).is_dir()
