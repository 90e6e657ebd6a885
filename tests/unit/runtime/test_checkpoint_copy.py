"""Copies of checkpoints have an id and sinks of their own; a plain copy is refused, a move is not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.recorded import RecordedSource
from penstock.errors import InputError, StateError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.driver import checkpoint_copy
from penstock.runtime.driver.checkpoint_copy import copy_checkpoint
from penstock.runtime.driver.recording import recorded
from penstock.runtime.driver.recovery import SparkLog, recover
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.token import Token

DONE = 4  # the newest batch that Spark has noted as done; the next one is under way


def application(folder: Path) -> ps.Application:
    app = ps.Application("copied")
    source = app.source("ticks", ps.sources.csv(str(folder / "ticks.csv")), {"k": "int64"})
    source.sink("out", ps.sinks.parquet(str(folder / "out")))
    source.sink("text", ps.sinks.csv(str(folder / "text")))
    source.sink("called", ps.sinks.callback(print))
    return app


def entries(batch: int) -> Entries:
    found = np.zeros(1, ENTRY)
    found["slot"], found["length"], found["epoch"], found["batch"] = batch % 3, 8, 2, batch
    return found


def started(folder: Path, directory: Path) -> Fixed:
    """What a start does to a checkpoint before Spark: the lease, then what is fixed."""

    def prepare(graph: Graph, checkpoint_id: str) -> Graph:
        tables = {"ticks": pa.table({"k": [1, 2]})}
        return recorded(graph, tables, str(directory / "tables"), DeadLetters())

    lease = Lease(str(directory))
    try:
        return Checkpoint(directory).fix(
            application(folder).graph, slots=8, now_s=1.0, dumps=dumps_for_workers, prepare=prepare
        )
    finally:
        lease.release()


def made(folder: Path) -> tuple[Checkpoint, list[Ledger]]:
    """A checkpoint with some batches, the last of which is under way, and the ledgers after each."""
    checkpoint, ledger, ledgers = Checkpoint(folder / "a"), Ledger.empty(3), []
    fixed = started(folder, checkpoint.directory)
    configuration = default_configuration(pipeline_of(fixed.graph), 1, 8)
    manifests, logs, spark = Manifests(checkpoint.manifests), Logs(checkpoint.logs("w")), Path(checkpoint.spark)
    for name in ("offsets", "commits", "sources/0"):
        (spark / name).mkdir(parents=True)
    (spark / "metadata").write_text('{"id":"production"}')
    (spark / "sources" / "0" / "0").write_text("v1")
    for batch in range(DONE + 2):
        previous = batch - 1 if batch else None
        (spark / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"ticks":{batch + 1}}}')
        (spark / "offsets" / f".{batch}.crc").write_text("crc")
        checkpoint.write_plan(BatchPlan(batch, 2, previous, configuration))
        with logs.writer(Token(2, batch, 0)) as writer:
            writer.write(np.array([batch]))
        ledger = manifests.publish(batch, 2, {"w": ledger}, {"w": entries(batch)}, previous=previous)["w"]
        ledgers.append(ledger)
        if batch <= DONE:
            (spark / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    (checkpoint.directory / "journal.jsonl").write_text("{}\n")
    return checkpoint, ledgers


def test_a_copy_goes_on_after_the_newest_batch_that_is_done(tmp_path: Path) -> None:
    original, ledgers = made(tmp_path)
    copied = copy_checkpoint(original.directory, tmp_path / "b")
    assert copied.batch == DONE
    copy = Checkpoint(tmp_path / "b")
    assert Manifests(copy.manifests).batches() == [DONE]
    found = Manifests(copy.manifests).ledgers(DONE)["w"]
    assert np.array_equal(found.entries, ledgers[DONE].entries)
    assert np.array_equal(found.heads, ledgers[DONE].heads)
    for token in (Token(2, batch, 0) for batch in range(DONE + 1)):
        log = Path(Logs(copy.logs("w")).path(token))
        assert log.read_bytes() == Path(Logs(original.logs("w")).path(token)).read_bytes()
    assert [SparkLog(copy, name).batches()[-1] for name in ("offsets", "commits")] == [DONE, DONE]
    assert (Path(copy.spark) / "offsets" / f".{DONE}.crc").is_file()
    assert (Path(copy.spark) / "sources" / "0" / "0").is_file()
    assert copy.newest_configuration() == original.newest_configuration()
    assert recover(copy) == []
    assert Lease(str(copy.directory), copy.highest_epoch).epoch == 3, "after those of the logs"
    assert not (copy.directory / "journal.jsonl").exists()


def test_a_copy_has_an_id_and_sinks_of_its_own(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    copied = copy_checkpoint(original.directory, tmp_path / "b", sinks={"out": tmp_path / "staging"})
    fixed = started(tmp_path, tmp_path / "b")
    assert fixed.checkpoint_id == copied.run_id != original.fixed().checkpoint_id
    folders = {sink.name: getattr(sink.connector, "path", None) for sink in fixed.graph.sinks}
    assert folders == {"out": str(tmp_path / "staging"), "text": str(tmp_path / "b-sinks" / "text"), "called": None}
    assert {name: folders[name] for name in ("out", "text")} == dict(copied.sinks)
    connector = fixed.graph.sources[0].connector
    assert connector == RecordedSource(str(tmp_path / "b" / "tables" / "ticks.arrow")), "its tables are its own"
    metadata = json.loads((tmp_path / "b" / "spark" / "metadata").read_text())
    assert metadata["id"] != "production"
    again = started(tmp_path, tmp_path / "b")
    assert again.checkpoint_id == copied.run_id
    assert again.graph.sinks[0].connector == fixed.graph.sinks[0].connector
    assert started(tmp_path, original.directory).checkpoint_id == original.fixed().checkpoint_id


def test_a_copy_of_a_copy_is_one_more(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    first = copy_checkpoint(original.directory, tmp_path / "b")
    second = copy_checkpoint(tmp_path / "b", tmp_path / "c")
    assert len({original.fixed().checkpoint_id, first.run_id, second.run_id}) == 3
    assert second.sinks["out"] == str(tmp_path / "c-sinks" / "out")


def test_a_plain_copy_is_refused_and_the_sentence_names_the_command(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    shutil.copytree(original.directory, tmp_path / "b")
    sentence = r"'.*/b' is a plain copy of '.*/a', .* copy it with: penstock checkpoint copy .*/a NEW, or delete"
    with pytest.raises(InputError, match=sentence):
        started(tmp_path, tmp_path / "b")
    assert started(tmp_path, original.directory).checkpoint_id == original.fixed().checkpoint_id
    copy_checkpoint(tmp_path / "b", tmp_path / "c")  # it may be copied further, though
    started(tmp_path, tmp_path / "c")


def moved(original: Path, target: Path) -> Path:
    return original.rename(target)


def copied_and_deleted(original: Path, target: Path) -> Path:
    shutil.copytree(original, target)
    shutil.rmtree(original)
    return target


def linked(original: Path, target: Path) -> Path:
    target.symlink_to(original)
    return target


@pytest.mark.parametrize("move", [moved, copied_and_deleted, linked])
def test_a_checkpoint_that_was_moved_goes_on(tmp_path: Path, move: Callable[[Path, Path], Path]) -> None:
    original, _ = made(tmp_path)
    checkpoint_id = original.fixed().checkpoint_id
    place = move(original.directory, tmp_path / "b")
    fixed = started(tmp_path, place)
    assert fixed.checkpoint_id == checkpoint_id
    table = getattr(fixed.graph.sources[0].connector, "path", None)
    assert table == str(place / "tables" / "ticks.arrow")
    assert Path(table).is_file()


def test_another_checkpoint_at_the_old_place_does_not_matter(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    original.directory.rename(tmp_path / "b")
    started(tmp_path, original.directory)
    started(tmp_path, tmp_path / "b")


def test_a_checkpoint_that_moves_on_meanwhile_is_copied_at_a_later_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, _ = made(tmp_path)
    real, calls = checkpoint_copy._copy_state, []

    def collected(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 1:
            (Path(original.spark) / "commits" / str(DONE + 1)).write_text("v1\n{}")
            raise FileNotFoundError("a log that the garbage collector has taken")
        real(*given)

    monkeypatch.setattr(checkpoint_copy, "_copy_state", collected)
    assert copy_checkpoint(original.directory, tmp_path / "b").batch == DONE + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"], "no draft stays"


def test_what_cannot_be_copied_consistently_is_refused(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    Path(Manifests(original.manifests).path(DONE)).write_bytes(b"torn")
    with pytest.raises(StateError, match=r"cannot be copied: files of it are torn, or vanish faster .* start it once"):
        copy_checkpoint(original.directory, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_copy_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    original, _ = made(tmp_path)
    with pytest.raises(InputError, match=r"has no sink 'oot' that writes files; it has: out, text; did you mean 'out'"):
        copy_checkpoint(original.directory, tmp_path / "b", sinks={"oot": "x"})
    with pytest.raises(
        InputError, match=r"'text' of the copy would write to '.*/out', where the original's sink 'out'"
    ):
        copy_checkpoint(original.directory, tmp_path / "b", sinks={"text": tmp_path / "out"})
    with pytest.raises(InputError, match=r"the copy goes to a new directory; got '.*/a', which is there"):
        copy_checkpoint(original.directory, original.directory)
    with pytest.raises(InputError, match=r"'.*/nothing' has no checkpoint to copy"):
        copy_checkpoint(tmp_path / "nothing", tmp_path / "b")


def test_a_checkpoint_before_its_first_batch_is_copied_too(tmp_path: Path) -> None:
    started(tmp_path, tmp_path / "a")
    assert copy_checkpoint(tmp_path / "a", tmp_path / "b").batch is None
    assert started(tmp_path, tmp_path / "b").slots == 8
