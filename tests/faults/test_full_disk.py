"""A full disk: one clear sentence, and once there is room a restart goes on exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import Attack, Mount
from tests.faults.runs import Run, fill, thorough


def fail_for_want_of_room(run: Run, folder: Path) -> str:
    """Fills the disk of a running application, and gives what the user is told once it has failed."""
    run.start()
    run.wait_for_batches(run.random.randint(2, 5))
    with run.frozen():  # else it may have taken all of its input before the disk is full, on a busy machine
        ballast = fill(folder)
    code, error = run.failure()
    ballast.unlink()
    assert code == 2, error
    assert len(error.strip().splitlines()) == 1, error
    return error


@thorough
def test_a_full_checkpoint_is_told_in_one_sentence_and_a_restart_goes_on(attack: Attack, small_disk: Mount) -> None:
    run = attack(faulty=False, total=30_000, master="local[2]")
    small_disk(run.folder / "checkpoint")
    assert "no space left on device" in fail_for_want_of_room(run, run.folder / "checkpoint")
    run.start()
    run.check(run.finish())


@thorough
@pytest.mark.parametrize("folder", ["checkpoint", "out"])
def test_disks_that_fill_up_again_and_again(attack: Attack, small_disk: Mount, folder: str) -> None:
    run = attack(faulty=False, total=100_000, master="local[2]", micro_batch_tuples=500)
    small_disk(run.folder / folder)
    for _ in range(4):
        assert "no space left on device" in fail_for_want_of_room(run, run.folder / folder)
    run.start()
    run.check(run.finish())
