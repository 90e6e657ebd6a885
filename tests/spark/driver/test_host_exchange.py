"""On a local master large payloads go through a folder of the session, which is gone after each micro-batch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.executors.exchange_folder import _homes


def counts(app: ps.Application) -> ps.Application:
    trades = app.source("trades", ps.sources.trace("unbounded", keys=50, total=300_000))
    window = ps.sliding(count=10, per_group=True)
    sums = trades.aggregate("sums", by="ticker", window=window, emit={"ticker": "any(ticker)", "s": "sum(volume)"})
    sums.sink("out", ps.sinks.memory())
    return app


def test_results_are_those_of_sparks_own_exchange(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(session.sparkContext.getConf().get("spark.local.dir") or "")
    seen: list[int] = []
    clean = shutil.rmtree

    def counted(path: Path, **options: bool) -> None:
        if Path(path).name.startswith("exchange-"):
            seen.append(sum(file.stat().st_size for file in Path(path).glob("*")))
        clean(path, **options)

    monkeypatch.setattr(shutil, "rmtree", counted)
    own = ps.run(counts(ps.Application("own")), session=session, checkpoint=tmp_path / "a", duration_s=120)
    assert sum(seen) > 1_000_000, "nothing went through files"
    assert not list(home.glob("exchange-*"))
    monkeypatch.setitem(_homes, session.sparkContext, None)
    seen.clear()
    other = ps.run(counts(ps.Application("other")), session=session, checkpoint=tmp_path / "b", duration_s=120)
    assert not seen
    assert own.tables["out"].equals(other.tables["out"])
    assert own.tables["out"].num_rows == 300_000
