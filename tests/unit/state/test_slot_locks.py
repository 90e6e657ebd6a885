"""Who holds slots is told by marks in shared memory, which killed processes leave behind."""

from __future__ import annotations

import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from penstock.host.process import Process, this_process
from penstock.state.memory.header import Header
from penstock.state.memory.locks import SlotLocks
from penstock.state.token import Token

SLOTS = 8


def hold(folder: str, says: Connection) -> None:
    """Holds slot 5 as an older attempt; a dead process with the same number has left its mark at slot 1 and at 5."""
    locks, header = SlotLocks(f"{folder}/locks"), Header(f"{folder}/header", SLOTS)
    own, dead = np.array([5]), np.array([1, 6])
    locks.take(own, header, Token(1, 3, 7))
    header.mark_held(own, this_process(), Token(1, 3, 7))
    header.mark_held(dead, Process(os.getpid(), 12345), Token(1, 9, 9))
    says.send("held")
    time.sleep(60)


def test_a_mark_that_a_dead_process_of_the_same_number_left_saves_nobody(tmp_path: Path) -> None:
    header = Header(str(tmp_path / "header"), SLOTS)
    context = multiprocessing.get_context("fork")
    hears, says = context.Pipe()
    holder = context.Process(target=hold, args=(str(tmp_path), says))
    holder.start()
    try:
        assert hears.recv() == "held"
        SlotLocks(str(tmp_path / "locks"), patience_s=10.0).take(np.array([5, 6]), header, Token(1, 3, 9))
        holder.join(10.0)
        assert holder.exitcode == -9, "the older attempt is ended"
    finally:
        holder.kill()
        holder.join()
