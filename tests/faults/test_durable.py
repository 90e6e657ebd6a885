"""`durable=True` syncs all that a restart needs: what survives the machine's death, not only the process's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.host.atomic_file import write_whole
from penstock.spark.session.offset_log import sync_spark_log
from tests.faults import syncs
from tests.faults.conftest import Attack


def test_a_durable_run_syncs_offsets_plans_logs_manifests_results_and_their_names(
    attack: Attack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(syncs.VARIABLE, str(tmp_path / "notes"))
    run = attack(total=10_000, durable=True)
    run.start()
    said = run.finish()
    run.check(said)
    found, batches = syncs.synced(tmp_path / "notes", run.folder), range(said["batches"])
    for batch in batches:
        name = f"{batch:012d}"
        assert found[f"checkpoint/spark/offsets/{batch}"] == 1
        assert found[f"checkpoint/plans/{name}"] == 1
        assert found[f"checkpoint/manifests/{name}"] == 1
        assert len([path for path in found if path.startswith(f"checkpoint/logs/window/{name}-")]) == 2
        assert len([path for path in found if path.startswith(f"out/.penstock/batch-{name}-")]) == 2
    assert found["checkpoint/application"] == 1
    assert found["out/_penstock"] == 1
    assert found["checkpoint/logs"] >= 1
    assert [found[f"checkpoint/spark/commits/{batch}"] for batch in batches[:-1]] == [1] * (len(batches) - 1)
    for folder in ("spark/offsets", "plans", "manifests", "logs/window"):
        assert found[f"checkpoint/{folder}"] >= len(batches)
    assert found["out"] >= len(batches)


def test_nothing_is_synced_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[int] = []
    monkeypatch.setattr("os.fsync", calls.append)
    write_whole("writing", str(tmp_path / "file"), b"x")
    assert calls == []
    write_whole("writing", str(tmp_path / "file"), b"y", durable=True)
    assert len(calls) == 2


def test_spark_s_log_is_synced_as_far_as_the_batch_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("offsets/3", "offsets/4", "commits/3", "sources/0/0", "sources/0/4", "metadata"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.setenv(syncs.VARIABLE, str(tmp_path / "notes"))
    monkeypatch.setattr("os.fsync", os.fsync)
    syncs.note_syncs()
    sync_spark_log(str(tmp_path), 4)
    files = {"offsets/4", "commits/3", "sources/0/4", "metadata"}
    folders = {"offsets", "commits", "sources/0", "sources", "."}
    assert set(syncs.synced(tmp_path / "notes", tmp_path)) == files | folders
