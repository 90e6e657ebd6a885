"""Several applications in one session: each has its own state, code, results, journal and dead letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset
from pyspark.sql import SparkSession

import penstock as ps

TOTAL = 6_000


def application(factor: int, count: int) -> ps.Application:
    """All have the same names, and differ in their code and in the length of their windows."""
    app = ps.Application("same")
    trades = app.source("trades", ps.sources.trace("unbounded", total=TOTAL, keys=7, seed=11))

    def scaled(trade: dict[str, Any]) -> dict[str, Any]:
        if trade["seq"] % (1000 * factor) == 0:
            raise ValueError(f"factor {factor}")
        return {"ticker": trade["ticker"], "price": trade["price"] * factor}

    own = trades.map("scaled", scaled, per_tuple=True, schema={"ticker": "string", "price": "float64"})
    best = own.aggregate(
        "window", by="ticker", window=ps.sliding(count=count, per_group=True),
        emit={"ticker": "any(ticker)", "high": "max(price)"},
    )  # fmt: skip
    best.sink("out", ps.sinks.memory())
    return app


def test_applications_that_share_a_session_and_all_names_do_not_meet(session: SparkSession, tmp_path: Path) -> None:
    apps = [application(factor, count) for factor, count in ((1, 2), (2, 5), (3, 9))]
    wanted = [ps.evaluate(app) for app in apps]
    checkpoints = (tmp_path / "a", None, None)
    handles = [
        ps.start(app, session=session, checkpoint=checkpoint, dead_letters=tmp_path / f"letters-{i}")
        for i, (app, checkpoint) in enumerate(zip(apps, checkpoints, strict=True))
    ]
    assert len({handle.run_id for handle in handles}) == len(handles)
    handles[1].apply(handles[1].configuration.with_replicas("window", 1))
    results = []
    for handle in handles:
        assert handle.wait(300)
        results.append(handle.stop())
    for i, (result, engine) in enumerate(zip(results, wanted, strict=True)):
        assert result.tables["out"].combine_chunks().equals(engine["out"].combine_chunks())
        assert sorted(set(result.dead_letters["reason"].to_pylist())) == sorted(
            set(engine.dead_letters["reason"].to_pylist())
        )
        assert f"ValueError: factor {i + 1} " in result.dead_letters["reason"][0].as_py()
        assert result.dead_letter_count == engine.dead_letters.num_rows
        assert sum(seen.tuples_in for seen in result.observations) == TOTAL
        written = pyarrow.dataset.dataset(tmp_path / f"letters-{i}", format="parquet", ignore_prefixes=[".", "_"])
        assert written.count_rows() == result.dead_letter_count
