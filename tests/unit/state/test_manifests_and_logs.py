"""Logs, ledgers, manifests, leases and what is thrown away of them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import CorruptStateError, InputError, StateError, StateFileError
from penstock.state.checkpoint.checksum import checksum, checksums
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.garbage import collect_garbage
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import FULL_EVERY_BATCHES, Manifests
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.token import Token


def entries(batch: int, slots: list[int], whole: bool = False, epoch: int = 1, attempt: int = 0) -> Entries:
    found = np.zeros(len(slots), ENTRY)
    found["slot"], found["whole"], found["length"] = slots, whole, 100
    found["epoch"], found["batch"], found["attempt"] = epoch, batch, attempt
    return found


def test_a_ledger_keeps_what_rebuilds_each_slot() -> None:
    ledger = Ledger.empty(4).after(entries(0, [0, 1])).after(entries(1, [1, 3])).after(entries(2, [1], whole=True))
    ledger = ledger.after(entries(3, [1, 0]))
    assert [(e["slot"], e["batch"]) for e in ledger.entries] == [(0, 0), (0, 3), (1, 2), (1, 3), (3, 1)]
    assert [e["batch"] for e in ledger.history(np.array([1]))] == [2, 3]
    assert ledger.heads["pieces"].tolist() == [2, 2, 0, 1]
    assert ledger.heads["bytes"].tolist() == [200, 200, 0, 100]
    assert ledger.heads["oldest_batch"].tolist() == [0, 2, 0, 1]
    assert ledger.heads["epoch"].tolist() == [1, 1, 0, 1]


def test_a_long_ledger_folds_its_parts_and_stays_the_same() -> None:
    ledger = Ledger.empty(2)
    for batch in range(150):
        ledger = ledger.after(entries(batch, [0, 1] if batch % 3 else [1], whole=batch % 40 == 0))
    assert len(ledger.parts) < 64
    assert [e["batch"] for e in ledger.history(np.array([1]))] == list(range(120, 150))


def test_a_ledger_refuses_what_cannot_be() -> None:
    ledger = Ledger.empty(2).after(entries(5, [0]))
    with pytest.raises(StateError, match="slot 1 was written by 2 tasks of one batch"):
        ledger.after(entries(6, [1, 1]))
    with pytest.raises(StateError, match="an operator of 2 slots has entries for slots 0 to 2"):
        ledger.after(entries(6, [0, 2]))
    with pytest.raises(StateError, match="entries of batch 5 came after the batch had been counted"):
        ledger.after(entries(5, [0]))


def publish_all(manifests: Manifests, batches: int) -> list[Ledger]:
    ledger, ledgers, previous = Ledger.empty(3), [], None
    for batch in range(batches):
        added = {"window": entries(batch, [batch % 3], whole=batch % 7 == 0)}
        ledger = manifests.publish(batch, 1, {"window": ledger}, added, previous=previous)["window"]
        ledgers.append(ledger)
        previous = batch
    return ledgers


def test_ledgers_are_read_back_as_of_any_batch(tmp_path: Path) -> None:
    manifests = Manifests(str(tmp_path))
    ledgers = publish_all(manifests, FULL_EVERY_BATCHES + 10)
    for batch in (0, 1, 5, FULL_EVERY_BATCHES - 1, FULL_EVERY_BATCHES, FULL_EVERY_BATCHES + 9):
        found = manifests.ledgers(batch)["window"]
        assert np.array_equal(found.entries, ledgers[batch].entries)
        assert np.array_equal(found.heads, ledgers[batch].heads)
    assert manifests.read(5).previous == 4
    assert np.array_equal(manifests.read(5).pages["window"].entries, entries(5, [2]))


def test_a_task_reads_what_was_before_its_batch(tmp_path: Path) -> None:
    ledgers = publish_all(Manifests(str(tmp_path)), 5)
    before = StateBefore(str(tmp_path), 3, "window", 3)
    assert np.array_equal(before.heads(), ledgers[3].heads)
    assert np.array_equal(before.history(np.array([0])), ledgers[3].history(np.array([0])))
    for nothing in (StateBefore(str(tmp_path), None, "window", 3), StateBefore(str(tmp_path), 3, "added later", 3)):
        assert not nothing.heads()["epoch"].any()
        assert len(nothing.history(np.array([0]))) == 0


def test_a_batch_that_runs_again_replaces_its_manifest(tmp_path: Path) -> None:
    manifests = Manifests(str(tmp_path))
    first = manifests.publish(0, 1, {"w": Ledger.empty(2)}, {"w": entries(0, [0])}, previous=None, durable=True)
    assert first["w"].heads["attempt"].tolist() == [0, 0]
    again = {"w": entries(0, [1], epoch=2, attempt=3)}
    manifests.publish(0, 2, {"w": Ledger.empty(2)}, again, previous=None)
    assert manifests.ledgers(0)["w"].heads["epoch"].tolist() == [0, 2]
    assert manifests.batches() == [0]


def test_a_damaged_or_missing_manifest_is_said(tmp_path: Path) -> None:
    manifests = Manifests(str(tmp_path))
    publish_all(manifests, 2)
    path = Path(manifests.path(1))
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptStateError, match=r"manifest' is not what was written: its checksum differs"):
        manifests.read(1)
    with pytest.raises(StateFileError, match=r"reading the manifest .* failed: no such file or directory"):
        manifests.read(9)


def test_garbage_is_what_no_replay_can_need(tmp_path: Path) -> None:
    manifests, logs = Manifests(str(tmp_path / "manifests")), Logs(str(tmp_path / "logs"))
    ledgers = publish_all(manifests, 80)
    for batch in range(80):
        for token in (Token(1, batch, 0), Token(1, batch, 7)):  # the second is of an attempt that never counted
            with logs.writer(token) as writer:
                writer.write(np.zeros(1, np.int64))
    assert collect_garbage(manifests, {"window": logs}, {"window": ledgers[75]}, 75) > 0
    assert manifests.batches() == list(range(64, 80))
    kept = {Path(path).name for batch, path in logs.names() if batch <= 75}
    assert kept == {f"{int(e['batch']):012d}-1-0.log" for e in ledgers[75].entries}
    assert sum(batch > 75 for batch, _ in logs.names()) == 8
    assert np.array_equal(manifests.ledgers(75)["window"].entries, ledgers[75].entries)
    assert collect_garbage(manifests, {"window": logs}, {"window": ledgers[75]}, 75) == 0


def test_a_log_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, pieces: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    logs = Logs(str(tmp_path))
    monkeypatch.setattr(os, "writev", full)
    hint = "no space left on device; free some space or use another directory"
    with (
        pytest.raises(StateFileError, match=f"writing the state log .* failed: {hint}"),
        logs.writer(Token(1, 0, 0)) as w,
    ):
        w.write(np.zeros(1, np.int64))
    assert logs.names() == []


def test_an_attempt_writes_its_log_once(tmp_path: Path) -> None:
    logs = Logs(str(tmp_path), durable=True)
    with logs.writer(Token(1, 0, 0)) as writer:
        assert writer.write(np.zeros(1, np.int64)) == 32
    with pytest.raises(StateFileError, match="exists: one attempt cannot write its slots twice"):
        logs.writer(Token(1, 0, 0))


def test_checksums_see_every_change() -> None:
    words = np.arange(100, dtype=np.int64)
    ranges = np.array([0, 0, 5, 50]), np.array([100, 99, 5, 61])
    before = checksums(words, *ranges)
    assert len(set(before.tolist())) == 4
    words[[3, 4]] = words[[4, 3]]
    assert (checksums(words, *ranges) != before).tolist() == [True, True, False, False]
    assert checksum(b"ab") != checksum(b"ab\0")


def test_a_token_is_checked() -> None:
    with pytest.raises(InputError, match="a token needs an epoch from 1"):
        Token(0, 1, 1)


def test_a_checkpoint_has_one_driver_and_each_a_higher_epoch(tmp_path: Path) -> None:
    lease = Lease(str(tmp_path))
    with pytest.raises(
        StateError, match=rf"is in use by process {os.getpid()} on .*; stop it or take another checkpoint"
    ):
        Lease(str(tmp_path))
    lease.release()
    program = f"from penstock.state.checkpoint.lease import Lease; print(Lease({str(tmp_path)!r}).epoch)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (lease.epoch, found.stdout.strip(), Lease(str(tmp_path)).epoch) == (1, "2", 3)
