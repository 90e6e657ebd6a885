"""What a session of ours is set to, where leaving it out costs time and breaks nothing."""

from __future__ import annotations

from penstock.spark.session.session import runtime_settings


def test_envelopes_reach_workers_in_parts_that_stay_within_malloc_arenas() -> None:
    assert runtime_settings()["spark.sql.execution.arrow.maxBytesPerBatch"] == "12m"
