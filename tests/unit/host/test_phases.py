"""Phases of a start: named, timed, and told while they last."""

from __future__ import annotations

import pytest

from penstock.host.phases import Phase, Phases, listening, phases_text


def test_phases_are_timed_in_order_and_told_when_they_begin() -> None:
    told: list[str] = []
    phases = Phases(clock=iter([0.0, 2.0, 2.0, 2.5]).__next__)
    with listening(told.append):
        with phases.phase("Spark"):
            assert told == ["Spark"]
        with phases.phase("warm-up"):
            pass
    assert phases.ended == [Phase("Spark", 2.0), Phase("warm-up", 0.5)]
    assert phases_text(phases.ended) == "Spark 2.0 s, warm-up 0.5 s"


def test_a_phase_that_fails_has_ended_and_nobody_is_told_outside() -> None:
    told: list[str] = []
    phases = Phases()
    with listening(told.append), pytest.raises(ValueError, match="broken"), phases.phase("Spark"):
        raise ValueError("broken")
    with phases.phase("later"):
        pass
    assert told == ["Spark"]
    assert [phase.name for phase in phases.ended] == ["Spark", "later"]
