"""A full disk: one clear sentence, and once there is room a restart goes on exactly."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Attack
from tests.faults.runs import Run, thorough

Mount = Callable[[Path], None]


@pytest.fixture
def small_disk() -> Iterator[Mount]:
    """Mounts a file system of its own, in memory and small, on a folder; skips where that is not allowed."""
    mounted: list[Path] = []

    def mount(folder: Path) -> None:
        folder.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount a file system here")
        mounted.append(folder)

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Takes all the room there is, to the last byte."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return ballast


def fail_for_want_of_room(run: Run, folder: Path) -> str:
    """Fills the disk of a running application, and gives what the user is told once it has failed."""
    run.start()
    run.wait_for_batches(run.random.randint(2, 5))
    ballast = fill(folder)
    code, error = run.failure()
    ballast.unlink()
    assert code == 2, error
    assert len(error.strip().splitlines()) == 1, error
    return error


def test_a_full_checkpoint_is_told_in_one_sentence_and_a_restart_goes_on(attack: Attack, small_disk: Mount) -> None:
    run = attack(faulty=False, total=30_000)
    small_disk(run.folder / "checkpoint")
    assert "no space left on device" in fail_for_want_of_room(run, run.folder / "checkpoint")
    run.start()
    run.check(run.finish())


@thorough
@pytest.mark.parametrize("folder", ["checkpoint", "out"])
def test_disks_that_fill_up_again_and_again(attack: Attack, small_disk: Mount, folder: str) -> None:
    run = attack(faulty=False, total=150_000)
    small_disk(run.folder / folder)
    for _ in range(5):
        assert "no space left on device" in fail_for_want_of_room(run, run.folder / folder)
    run.start()
    run.check(run.finish())
