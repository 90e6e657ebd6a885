"""`reset_state`: named operators start empty, whatever their parameters are now, and the others go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps

KEYS = 4
WINDOW = 50


class Total:
    """Counts a key's tuples in steps of a parameter."""

    def __init__(self, step: int) -> None:
        self.step = step

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, Any], state: list[int]) -> dict[str, Any]:
        state[0] += self.step
        return {"total": state[0]}


def application(step: int) -> ps.Application:
    app = ps.Application("totals")
    quotes = app.source("quotes", ps.sources.trace("constant", 2_000.0, keys=KEYS))
    quotes.operator("totals", Total(step), schema={"total": "int64"}, by="ticker").sink("out", ps.sinks.memory())
    window = ps.sliding(count=WINDOW, per_group=True)
    quotes.aggregate("window", by="ticker", window=window, emit={"n": "count()"}).sink("held", ps.sinks.memory())
    return app


def ran(app: ps.Application, session: SparkSession, checkpoint: Path, **settings: Any) -> dict[str, pa.Table]:
    """The results of a few micro-batches with at least a window's tuples of each key."""
    handle = ps.start(app, session=session, checkpoint=checkpoint, **settings)
    until_s = time.time() + 60
    while sum(o.tuples_in for o in handle.result.observations) < 4 * KEYS * WINDOW and time.time() < until_s:
        handle.wait(0.1)
        handle.observe()
    return handle.stop().tables


def test_a_reset_operator_starts_empty_and_the_others_go_on(session: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    assert min(ran(application(1), session, checkpoint)["out"].column("total").to_pylist()) == 1
    assert min(ran(application(1), session, checkpoint)["out"].column("total").to_pylist()) > WINDOW
    with pytest.raises(
        ps.errors.InputError, match="'totals' changed; start changed operators empty with --reset-state"
    ):
        ps.start(application(7), session=session, checkpoint=checkpoint)
    tables = ran(application(7), session, checkpoint, reset_state="totals")
    totals = tables["out"].column("total").to_pylist()
    assert sorted(totals)[: KEYS + 1] == [7] * KEYS + [14]
    assert set(tables["held"].column("n").to_pylist()) == {WINDOW}
