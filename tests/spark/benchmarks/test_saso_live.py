"""`python -m benchmarks saso` on Spark in small: a service-bound load under MPC, measured and checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.saso.live import run as live_run
from benchmarks.saso.live.loads import write_trace
from benchmarks.saso.live.run import SYMBOLS, run_controlled
from benchmarks.saso.loads import Load
from penstock import sinks
from penstock.block.block import block_of
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.trading import market, trading
from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.goals.goal import throughput
from penstock.element.evaluation import evaluate
from penstock.kernels.keys.row_checksum import checksum_of

LEAD_S, SECONDS, RATE = 2.0, 12, 5000


@pytest.mark.long
def test_a_policy_drives_the_application_and_the_results_stay_exact(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_run, "LEAD_S", LEAD_S)
    arrivals = counted_arrivals(np.arange(SECONDS + 1.0), np.full(SECONDS, RATE))
    load, goal = Load("even", arrivals, float(SECONDS), 1.0), throughput()
    with price_service(2.0) as port:
        # Kernels are compiled here, where that takes none of the stream's few seconds.
        source = market(write_trace(load, tmp_path / "again.csv", LEAD_S), None, speed_up=1.0, symbols=SYMBOLS)
        table = source.table()
        wanted = evaluate(trading(service=port, sink=sinks.memory()), {"quotes": table})["out"]
        run = run_controlled(
            session, "service-bound", load, goal, "mpc", "",
            highest=4, capacity=20_000.0, service=port, folder=tmp_path, first=2,
        )  # fmt: skip
    assert table.num_rows == (LEAD_S + SECONDS) * RATE
    assert run.fingerprint == (wanted.num_rows, checksum_of(block_of(wanted, wanted.schema)))
    assert run.dead_letters == 0
    assert run.records
    assert 1 <= run.saso.mean_replicas <= 4
    assert run.saso.watts_estimated > 0
