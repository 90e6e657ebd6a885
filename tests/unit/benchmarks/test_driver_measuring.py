"""What the driver spends on a micro-batch's Observation stays within a bound, by the CPU clock of its thread."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measuring.driver_measuring import driver_cost
from penstock.control.journal.journal import read_journal

MOST_US = 1_000  # 0.25 to 0.4 ms on two cores that others use as well


def test_the_drivers_part_of_measuring_stays_small(tmp_path: Path) -> None:
    cost = driver_cost(tmp_path, batches=60)
    assert sum(cost.values()) < MOST_US, cost
    seen = read_journal(tmp_path / "journal.jsonl").observations
    assert len(seen) == 63
    assert all(o.latency is not None and o.latency.sketch is not None for o in seen)
    assert all(o.latency.sketch.results == o.tuples_out > 0 for o in seen if o.latency and o.latency.sketch)
