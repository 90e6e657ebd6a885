"""A run that is told what to do by command files, and what its journal keeps of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.control.journal.history import events_path
from penstock.control.journal.journal import read_journal
from penstock.watch.recorded.commands import write_command
from penstock.watch.recorded.facts import figures_of, run_body
from penstock.watch.recorded.run_reader import RunReader


def application() -> ps.Application:
    app = ps.Application("watched")
    trades = app.source("trades", ps.sources.trace("constant", 2_000, keys=20, seed=7))
    best = trades.aggregate(
        "window", by="ticker", window=ps.sliding(count=4, per_group=True),
        emit={"ticker": "any(ticker)", "high": "max(price)"},
    )  # fmt: skip
    best.sink("out", ps.sinks.discard())
    return app


def events(checkpoint: Path, kind: str) -> list[dict[str, Any]]:
    lines = events_path(checkpoint / "journal.jsonl").read_text().splitlines()
    return [own[kind] for own in map(json.loads, lines) if kind in own]


def wait_for(handle: ps.Handle, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180
    while not happened():
        assert time.monotonic() < deadline
        handle.wait(0.2)


def test_a_dashboard_starts_with_the_run_and_keeps_a_scratch_journal_while_it_is_open(
    session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    handle = ps.start(application(), session=session, dashboard=True)
    page, folder = handle.dashboard(), handle.checkpoint.directory
    try:
        told = capsys.readouterr()
        assert told.out.splitlines()[0] == f"dashboard: {page.url}"
        assert told.err.strip() == f"token: {page.token}"
        assert "waiting for the first micro-batch" in handle._repr_html_() or "micro-batch</th>" in handle._repr_html_()
        wait_for(handle, lambda: handle.observe() is not None)
        assert f'<a href="{page.url}"' in handle._repr_html_()
        assert "micro-batch</th>" in handle._repr_html_()
        assert fetched(page.url, "healthz")["run"] == "running"
        last = handle.stop().observations[-1]
        body = fetched(page.url, "api/run")
        assert (body["status"], body["batch"], body["application"]) == ("stopped", last.batch, "watched")
        assert sum(fetched(page.url, "api/series")["series"]["served"]["mean"]) > 0
        assert not (folder / "spark").exists()
    finally:
        handle.stop()
        page.close()
    assert page.process.returncode == 0
    assert not folder.exists()


def fetched(url: str, path: str) -> dict[str, Any]:
    return dict(httpx.get(f"{url}{path}", timeout=120).json())


def test_a_run_whose_dashboard_does_not_start_is_stopped(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ps.errors.InputError, match="the dashboard did not start"):
        ps.start(application(), session=session, checkpoint=tmp_path / "c", dashboard=True)
    assert events(tmp_path / "c", "end") == [{"reason": "stopped"}]


def test_commands_are_taken_and_the_journal_keeps_them(session: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c"
    handle = ps.start(
        application(), session=session, checkpoint=checkpoint, goal=ps.latency(p95_ms=5000),
        limits=ps.Limits(max_replicas=2),
    )  # fmt: skip
    controller = handle.controller
    assert controller is not None
    wait_for(handle, lambda: len(controller.decisions) > 0)
    write_command(checkpoint, {"passive": True, "goal": "latency p95_ms=900"})
    wait_for(handle, lambda: controller.is_passive)
    assert controller.goal == ps.latency(p95_ms=900)
    write_command(checkpoint, {"limits": {"min_replicas": 99}})
    write_command(checkpoint, {"paused": True, "configuration": {"replicas": {"window": 1}}})
    wait_for(handle, lambda: len(events(checkpoint, "command")) == 3)
    assert controller.is_paused
    assert handle.configuration.element("window").replicas == 1
    handle.control(passive=False, paused=False, goal=ps.latency(p95_ms=700))
    assert (controller.is_paused, controller.is_passive) == (False, False)
    with pytest.raises(ps.errors.InputError, match=r"passive.*True or False.*got 1"):
        handle.control(passive=1)  # type: ignore[arg-type]
    reader = RunReader(checkpoint / "journal.jsonl")
    reader.open()
    assert reader.status == "running"
    assert (reader.state.paused, reader.state.goal) == (False, ps.latency(p95_ms=700))
    write_command(checkpoint, {"stop": True})
    wait_for(handle, lambda: handle.is_stopped_by_command)
    assert handle.wait(60)
    result = handle.stop()
    outcomes = [(own["outcome"], own.get("because", "")) for own in events(checkpoint, "command")]
    assert [outcome for outcome, _ in outcomes] == ["done", "refused", "done", "done"]
    assert "max_replicas of the limits is at least min_replicas, 99; got 2" in outcomes[1][1]
    reader.poll()
    body = run_body(reader)
    assert body["status"] == "stopped"
    assert [own["name"] for own in body["graph"]["operators"]] == ["trades", "window", "out"]
    last = result.observations[-1]
    assert reader.state.newest is not None
    assert reader.state.newest.batch == last.batch
    for label, value in figures_of(last).items():
        assert figures_of(reader.state.newest)[label] == (None if value is None else pytest.approx(value, rel=1e-6))
    assert len(read_journal(checkpoint / "journal.jsonl").lines) == len(result.observations)
