"""Changed checkpoints on Spark itself, its own offsets and commits included; few, since each takes seconds."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import penstock as ps
from benchmarks.fuzz.checkpoints import damage
from benchmarks.fuzz.kind import Body, WrongResult

_TUPLES, _BATCH_TUPLES = 6_000, 500
_ACTIONS = ("bytes", "bytes", "bytes", "remove", "empty", "cut", "swap")


def application(out: Path) -> ps.Application:
    app = ps.Application("prices")
    trades = app.source("trades", ps.sources.trace("unbounded", keys=20, seed=5, total=_TUPLES, ticker="string"))
    trades.aggregate(
        "sums", by="ticker", window=ps.sliding(count=4, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "sum": "sum(price)"},
    ).sink("out", ps.sinks.parquet(out))  # fmt: skip
    return app


class SparkCheckpoints:
    """A run on Spark that was stopped half-way; each input changes a file of its checkpoint and goes on."""

    starts_spark = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._expected = _rows(ps.evaluate(application(folder / "whole"))["out"])
        app = application(folder / "out")
        self._session = ps.spark_session("local[2]")
        configuration = replace(ps.Configuration.of(app, replicas=2), micro_batch_tuples=_BATCH_TUPLES)
        handle = ps.start(app, session=self._session, checkpoint=folder / "checkpoint", configuration=configuration)
        while sum(o.tuples_in for o in handle.result.observations) < _TUPLES // 3 and not handle.wait(0.0):
            time.sleep(0.01)
        handle.stop()

    def make(self, rng: random.Random) -> Body:
        base = self._folder / "checkpoint"
        files = [str(path.relative_to(base)) for path in sorted(base.rglob("*")) if path.is_file()]
        tops = sorted({file.rpartition("/")[0] for file in files})
        own = [file for file in files if file.rpartition("/")[0] == rng.choice(tops)] or files
        change = {"file": rng.choice(own), "other": rng.choice(files), "action": rng.choice(_ACTIONS)}
        return {"changes": [change | {"seed": rng.randrange(2**32)}]}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        checkpoint, out = self._folder / "checkpoint", self._folder / "out"
        saved = [(path, folder / path.name) for path in (checkpoint, out)]
        for path, copy in saved:
            shutil.copytree(path, copy)
        try:
            for change in body["changes"]:
                damage(checkpoint, change)
            ps.run(application(out), session=self._session, checkpoint=checkpoint)
            got = _rows(pa.concat_tables([pq.read_table(file) for file in sorted(out.glob("*.parquet"))]))
            if got != self._expected:
                raise WrongResult(f"{len(got)} rows, and {len(self._expected)} of an uninterrupted run")
        finally:
            for path, copy in saved:
                shutil.rmtree(path)
                copy.rename(path)


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())
