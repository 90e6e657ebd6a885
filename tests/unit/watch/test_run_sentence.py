"""The sentence on top of the page, in each situation that a run may be in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.control.goals.goal import latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.history import History
from penstock.control.journal.journal import Journal
from penstock.control.journal.run_start import RunStart
from penstock.watch.recorded.run_reader import RunReader
from penstock.watch.recorded.run_sentence import sentence_of
from tests.reference.made_run import BEGIN_S, PERIOD_S, START, configured, decided, graph, lease, seen, write_run

BATCHES = 10
NOW_S = BEGIN_S + BATCHES * PERIOD_S


def told(
    folder: Path,
    start: RunStart = START,
    *,
    command: dict[str, Any] | None = None,
    after_s: float = 0.2,
    **decision: Any,
) -> tuple[str, str]:
    """The sentence and its tone at some seconds after the newest micro-batch, whose control step is given."""
    journal = Journal(folder / "journal.jsonl", "prices", graph=graph())
    history = History(folder / "journal.jsonl", lambda fused: graph(), clock=lambda: NOW_S)
    journal.begin(start)
    history.begin(start)
    lease(folder)
    for batch in range(BATCHES):
        journal.write_all([(seen(batch), configured(2))])
    if start.goal is not None:
        journal.decide(BATCHES - 1, replace(decided(1, 2, 2), **decision))
    if command is not None:
        history.event("command", {"id": "1", "command": command, "outcome": "done"})
    reader = RunReader(folder / "journal.jsonl")
    reader.open()
    found = sentence_of(reader.state, reader.status, NOW_S + after_s)
    return found.text, found.tone


def test_a_goal_that_is_met_and_what_may_come(tmp_path: Path) -> None:
    sentence = "Meeting p95 <= 500 ms with 2 of 4 cores. Bottleneck: trades. Next change possible in 1 s."
    assert told(tmp_path) == (sentence, "good")


def test_a_goal_that_is_missed(tmp_path: Path) -> None:
    text, tone = told(tmp_path, broken=True)
    assert text.startswith("Missing p95 <= 500 ms with 2 of 4 cores. Bottleneck: trades. ")
    assert tone == "bad"


@pytest.mark.parametrize(
    ("most", "useful", "sentence"),
    [(2, 4, "More than 2 replicas are not allowed."), (4, 2, "More than 2 replicas would not help."),
     (4, None, "Next change possible in 1 s.")],
)  # fmt: skip
def test_a_goal_that_is_missed_with_all_that_there_is(
    tmp_path: Path, most: int, useful: int | None, sentence: str
) -> None:
    start = replace(START, limits=Limits(max_replicas=most))
    assert told(tmp_path, start, broken=True, highest_useful_replicas=useful)[0].endswith(f"trades. {sentence}")


def test_a_hold_counts_down(tmp_path: Path) -> None:
    assert told(tmp_path, until_s=12.0, after_s=0.0)[0].endswith(" Next change possible in 12 s.")


def test_a_hold_counts_down_while_nothing_is_new(tmp_path: Path) -> None:
    assert told(tmp_path, until_s=12.0, after_s=5.0)[0].endswith(" Next change possible in 7 s.")


def test_what_was_not_measured_is_neither_met_nor_missed(tmp_path: Path) -> None:
    text, tone = told(tmp_path, measured=False)
    assert text.startswith("Whether p95 <= 500 ms is met is not measured with 2 of 4 cores. ")
    assert tone == "warn"


@pytest.mark.parametrize(
    ("command", "passive", "sentence"),
    [({"paused": True}, False, "Tuning is paused."), ({"passive": True}, True, "Passive: nothing is changed.")],
)
def test_control_that_changes_nothing(tmp_path: Path, command: dict[str, Any], passive: bool, sentence: str) -> None:
    text, tone = told(tmp_path, command=command, passive=passive)
    assert text.startswith("Meeting p95 <= 500 ms with 2 of 4 cores. ")
    assert text.endswith(sentence)
    assert tone == "warn"


def test_a_run_without_a_goal(tmp_path: Path) -> None:
    text, tone = told(tmp_path, replace(START, goal=None))
    assert text == "Serving 2,222 tuples/s with 2 of 4 cores. Bottleneck: trades."
    assert tone == "good"


def test_a_stream_that_is_silent(tmp_path: Path) -> None:
    text, tone = told(tmp_path, after_s=34.0)
    assert text == "Meeting p95 <= 500 ms with 2 of 4 cores. No micro-batch for 30 s."
    assert tone == "warn"


def test_a_run_that_has_not_begun(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.jsonl", "prices", graph=graph()).begin(START)
    lease(tmp_path)
    reader = RunReader(tmp_path / "journal.jsonl")
    reader.open()
    assert sentence_of(reader.state, reader.status, NOW_S).text == "Waiting for the first micro-batch."


@pytest.mark.parametrize(
    ("end", "batches", "sentence", "tone"),
    [
        ("stopped", 60, "Stopped. Met p95 <= 500 ms in 27 of 30 control steps. Bottleneck: trades.", "warn"),
        ("finished", 18, "Finished: every source is exhausted. Met p95 <= 500 ms in all 9 control steps. "
         "Bottleneck: trades.", "good"),
        ("failed", 2, "Failed. Met p95 <= 500 ms in all 1 control step. Bottleneck: trades.", "bad"),
        (None, 18, "Interrupted: the driver has gone without an end. Met p95 <= 500 ms in all 9 control steps. "
         "Bottleneck: trades.", "bad"),
        ("failed", 0, "Failed. No micro-batch was finished.", "bad"),
    ],
)  # fmt: skip
def test_a_run_that_is_over_is_judged_as_a_whole(
    tmp_path: Path, end: str | None, batches: int, sentence: str, tone: str
) -> None:
    reader = RunReader(write_run(tmp_path, batches, end=end))
    reader.open()
    found = sentence_of(reader.state, reader.status, NOW_S)
    assert (found.text, found.tone) == (sentence, tone)


def test_a_run_that_is_over_and_had_no_goal(tmp_path: Path) -> None:
    assert told(tmp_path, RunStart(1.0, None, Limits(), cores=4))[0].startswith("Serving")
    (tmp_path / "lease").unlink()
    reader = RunReader(tmp_path / "journal.jsonl")
    reader.open()
    text = "Interrupted: the driver has gone without an end. Took 10.0 k tuples in 5.0 s."
    assert sentence_of(reader.state, reader.status, NOW_S).text == text


def test_the_goal_is_the_newest(tmp_path: Path) -> None:
    text, _ = told(tmp_path, replace(START, goal=latency(p95_ms=200, mean_ms=100)))
    assert text.startswith("Meeting p95 <= 200 ms and mean latency <= 100 ms with ")
