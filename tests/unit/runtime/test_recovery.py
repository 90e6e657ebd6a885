"""Torn files of a checkpoint: a start does without them and gives the same results, or says what is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.errors import CorruptStateError, PenstockError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.driver.finished import newest_batch, progress_of
from penstock.runtime.driver.recovery import SparkLog, recover
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.manifests import Manifests

NEWEST = 5
STAGES = ("offsets", "planned", "published", "committed")  # how far the newest batch has come
TUPLES = 100  # of each batch
APP = ps.Application("torn")
APP.source("ticks", ps.sources.trace("unbounded", total=10_000)).sink("out", ps.sinks.discard())
CONFIGURATION = default_configuration(pipeline_of(APP.graph), 1, 8)


def entries(batch: int) -> Entries:
    found = np.zeros(1, ENTRY)
    found["slot"], found["length"], found["epoch"], found["batch"] = batch % 3, 100, 1, batch
    return found


def made(folder: Path, stage: str) -> tuple[Checkpoint, list[Ledger]]:
    """A checkpoint that was left at a stage of its newest batch, and the ledgers after each batch."""
    checkpoint, ledger, ledgers = Checkpoint(folder), Ledger.empty(3), []
    manifests, spark = Manifests(checkpoint.manifests), Path(checkpoint.spark)
    for name in ("offsets", "commits"):
        (spark / name).mkdir(parents=True)
    for batch in range(NEWEST + 1):
        reached = len(STAGES) if batch < NEWEST else STAGES.index(stage) + 1
        previous = batch - 1 if batch else None
        offsets = json.dumps({"ticks": (batch + 1) * TUPLES, "#beat": 7})
        (spark / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offsets}\n-')
        if reached > 1:
            checkpoint.write_plan(BatchPlan(batch, 1, previous, CONFIGURATION))
        if reached > 2:
            ledger = manifests.publish(batch, 1, {"w": ledger}, {"w": entries(batch)}, previous=previous)["w"]
            ledgers.append(ledger)
        if reached > 3:
            (spark / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
            (spark / "commits" / f".{batch}.crc").write_text("crc")
    return checkpoint, ledgers


def damages(data: bytes) -> Iterator[bytes]:
    """What the death of a machine, or a bad disk, makes of a file."""
    yield b""
    yield bytes(len(data))
    for part in (0.1, 0.5, 0.9):
        yield data[: int(len(data) * part)]
        yield data[: int(len(data) * part)] + bytes(len(data) - int(len(data) * part))
    yield data[:-1]
    for place in range(0, len(data), max(1, len(data) // 10)):
        yield data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :]


def check_goes_on(checkpoint: Checkpoint, ledgers: list[Ledger], *, was_out: bool) -> None:
    """Spark's next batch begins from the state right before it, and runs as it did where its results may be out."""
    offsets, commits = (SparkLog(checkpoint, name).batches() for name in ("offsets", "commits"))
    following = offsets[-1] + 1 if offsets[-1] in commits else offsets[-1]
    before = max(b for b in Manifests(checkpoint.manifests).batches() if b < following)
    assert before == following - 1, "no batch is left out"
    found = Manifests(checkpoint.manifests).ledgers(before)["w"]
    assert np.array_equal(found.entries, ledgers[before].entries)
    if following == NEWEST and was_out:
        plan = checkpoint.plan(NEWEST)
        assert plan is not None
        assert plan.configuration == CONFIGURATION
    newest = newest_batch(checkpoint)
    assert newest is not None
    assert progress_of(checkpoint, APP.graph, newest).tuples == (newest + 1) * TUPLES


def files_of(folder: Path) -> list[str]:
    kinds = ("plans/*", "manifests/*", "spark/offsets/*", "spark/commits/[0-9]*")
    return [str(path.relative_to(folder)) for kind in kinds for path in sorted(folder.glob(kind))]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.slow
def test_a_torn_file_gives_the_same_results_or_one_sentence(tmp_path: Path, stage: str) -> None:
    _, ledgers = made(tmp_path / "whole", stage)
    going_on, refusals = 0, []
    for name in files_of(tmp_path / "whole"):
        original = (tmp_path / "whole" / name).read_bytes()
        for damaged in damages(original):
            folder = tmp_path / "damaged"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(tmp_path / "whole", folder)
            checkpoint = Checkpoint(folder)
            (folder / name).write_bytes(damaged)
            try:
                recover(checkpoint)
            except PenstockError as error:
                refusals.append(str(error))
                continue
            if name.startswith("spark/offsets") and damaged[:2] == b"v1":
                continue  # Spark has a checksum of its own beside it
            check_goes_on(checkpoint, ledgers, was_out=stage in ("published", "committed"))
            going_on += 1
    assert going_on > 0
    assert refusals
    assert all("from a backup" in sentence and "\n" not in sentence for sentence in refusals)


def test_a_torn_plan_of_a_batch_that_never_counted_is_planned_anew(tmp_path: Path) -> None:
    checkpoint, _ = made(tmp_path, "planned")
    (tmp_path / "plans" / f"{NEWEST:012d}").write_bytes(b"")
    (told,) = recover(checkpoint)
    assert told.endswith(f"the plan of micro-batch {NEWEST} was torn; the next one goes by an older plan")
    assert checkpoint.plan(NEWEST) is None
    newest = checkpoint.newest_plan()
    assert newest is not None
    assert newest.batch == NEWEST - 1


def test_a_torn_plan_of_a_batch_whose_results_may_be_out_is_refused(tmp_path: Path) -> None:
    checkpoint, _ = made(tmp_path, "published")
    (tmp_path / "plans" / f"{NEWEST:012d}").write_bytes(b'{"epo')
    with pytest.raises(CorruptStateError, match=rf"is torn.*results of micro-batch {NEWEST} may be out: .* delete it"):
        recover(checkpoint)
    assert (tmp_path / "plans" / f"{NEWEST:012d}").exists()


@pytest.mark.parametrize("stage", ["published", "committed"])
@pytest.mark.parametrize("is_missing", [False, True])
def test_a_torn_newest_manifest_has_its_batch_run_again(tmp_path: Path, stage: str, is_missing: bool) -> None:
    checkpoint, ledgers = made(tmp_path, stage)
    manifest = Path(Manifests(checkpoint.manifests).path(NEWEST))
    manifest.unlink() if is_missing else manifest.write_bytes(manifest.read_bytes()[:40])
    told = recover(checkpoint)
    assert newest_batch(checkpoint) == NEWEST - 1
    assert NEWEST not in SparkLog(checkpoint, "commits").batches()
    assert not (tmp_path / "spark" / "commits" / f".{NEWEST}.crc").exists()
    check_goes_on(checkpoint, ledgers, was_out=True)
    if stage == "committed" or not is_missing:
        assert "runs again, from the state before it" in told[0]


def test_a_batch_that_spark_has_begun_after_a_torn_manifest_is_planned_anew(tmp_path: Path) -> None:
    checkpoint, ledgers = made(tmp_path, "committed")
    (tmp_path / "spark" / "offsets" / str(NEWEST + 1)).write_text('v1\n{}\n{"ticks":1000}')
    checkpoint.write_plan(BatchPlan(NEWEST + 1, 1, NEWEST, CONFIGURATION))
    Path(Manifests(checkpoint.manifests).path(NEWEST)).write_bytes(b"")
    recover(checkpoint)
    assert SparkLog(checkpoint, "offsets").batches()[-1] == NEWEST
    assert checkpoint.plan(NEWEST + 1) is None
    check_goes_on(checkpoint, ledgers, was_out=True)


def test_two_torn_manifests_are_more_than_can_run_again(tmp_path: Path) -> None:
    checkpoint, _ = made(tmp_path, "committed")
    for batch in (NEWEST, NEWEST - 1):
        Path(Manifests(checkpoint.manifests).path(batch)).write_bytes(b"")
    before = files_of(tmp_path)
    sentence = rf"the state after micro-batch {NEWEST - 2} is whole, and Spark goes on at micro-batch {NEWEST + 1}"
    with pytest.raises(CorruptStateError, match=sentence):
        recover(checkpoint)
    assert files_of(tmp_path) == before, "nothing is removed that a repair may need"


def test_a_whole_checkpoint_is_left_alone(tmp_path: Path) -> None:
    for stage in STAGES:
        checkpoint, ledgers = made(tmp_path / stage, stage)
        before = files_of(tmp_path / stage)
        assert recover(checkpoint) == []
        assert files_of(tmp_path / stage) == before
        check_goes_on(checkpoint, ledgers, was_out=stage in ("published", "committed"))
    assert recover(Checkpoint(tmp_path / "new")) == []
