"""What is kept of a long run: every change, equal holds once, and figures by level that keep extremes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.journal.display_graph import DisplayGraph, display_graph
from penstock.control.journal.history import MOST_REASONS, SAMPLES_EACH, History, JournalSettings, events_path
from penstock.control.journal.levels import LEVELS, Levels, level_path, read_level, row_of, row_text
from penstock.control.journal.parts import PartFile, part_before
from penstock.control.journal.plain_values import from_plain, to_plain
from penstock.control.journal.point import Point, by_bucket, merged, point_of
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.journal.run_start import RunStart
from penstock.control.setting import Setting
from penstock.plan.configuration import Configuration
from tests.unit.control.journal.test_replay import configuration, observation

figures = st.floats(0, 1e9, allow_nan=False)
points = st.builds(
    lambda t, span, value, batch: Point(t, span, 1, batch, 7, 3, 1, ranges={"p95": (value, value, value)}),
    st.floats(1e9, 1e9 + 20_000), st.floats(0.01, 1.0), figures, st.integers(0, 10**6),
)  # fmt: skip


@given(st.lists(points, min_size=1, max_size=40), st.integers(1, 39))
def test_extremes_counts_and_means_are_those_of_all_however_they_are_put_together(own: list[Point], at: int) -> None:
    parts = [part for part in (own[:at], own[at:]) if part]
    together, in_two = merged(own), merged([merged(part) for part in parts])
    values = [point.ranges["p95"][1] for point in own]
    assert together.ranges["p95"][0] == min(values) == in_two.ranges["p95"][0]
    assert together.ranges["p95"][2] == max(values) == in_two.ranges["p95"][2]
    assert (together.batches, together.tuples_in, together.batch) == (len(own), 7 * len(own), max(p.batch for p in own))
    assert (in_two.batches, in_two.tuples_in, in_two.batch) == (together.batches, together.tuples_in, together.batch)


@given(st.lists(st.tuples(st.floats(0.05, 30.0), figures), min_size=1, max_size=60))
@settings(max_examples=40, deadline=None)
def test_each_level_has_what_all_points_have(
    tmp_path_factory: pytest.TempPathFactory, own: list[tuple[float, float]]
) -> None:
    path, at_s, added = tmp_path_factory.mktemp("run") / "journal.jsonl", 1e9, list[Point]()
    levels = Levels(path, 1 << 20)
    for number, (span_s, value) in enumerate(own):
        added.append(Point(at_s, span_s, 1, number, 5, ranges={"p95": (value, value, value)}))
        at_s += span_s
        levels.add(added[-1])
    levels.close()
    for level in LEVELS:
        found = merged(read_level(path, level))
        assert (found.batches, found.tuples_in) == (len(own), 5 * len(own))
        assert found.ranges["p95"][2] == pytest.approx(max(value for _, value in own), rel=1e-8)
    expected = by_bucket(added, 1.0)
    assert [row.batches for row in read_level(path, "seconds")] == [row.batches for row in expected]


def test_a_killed_driver_loses_no_minute(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = Levels(path, 1 << 20)
    for second in range(90):
        first.add(Point(1e9 + second, 1.0, 1, second, 1))
    later = Levels(path, 1 << 20)  # the first was killed, and closed nothing
    for second in range(90, 200):
        later.add(Point(1e9 + second, 1.0, 1, second, 1))
    later.close()
    assert sum(row.batches for row in read_level(path, "minutes")) >= 198  # one second may be open at a kill
    assert sum(row.batches for row in read_level(path, "hours")) >= 198


@pytest.mark.parametrize(
    "line",
    ["", "{}", "[1]", "null", '{"t":1}', '{"t":1,"s":1,"ranges":{"a":[1]}}', '{"t":1e400,"s":1,"ranges":{}}',
     '{"t":1,"s":-1,"ranges":{}}', '{"t":1,"s":1,"ranges":{"a":"b"}}', '{"t":1,"s":1,"batches":1e30,"ranges":{}}'],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_none(line: str) -> None:
    assert row_of(line) is None


def test_a_row_reads_as_it_was_written() -> None:
    row = Point(1e9, 60.0, 3, 12, 100, 50, 2, 1, 1, {"p95": (1.0, 2.0, 3.0), "replicas:window": (2.0, 2.0, 2.0)})
    assert row_of(row_text(row)) == row


def test_a_file_of_parts_keeps_one_part_before(tmp_path: Path) -> None:
    file = PartFile(tmp_path / "lines", 100)
    for number in range(100):
        file.append([f"line {number}"])
    kept = part_before(file.path).read_text() + file.path.read_text()
    assert kept.endswith("line 99\n")
    assert len(kept) <= 220


def test_a_micro_batch_has_its_figures() -> None:
    point = point_of(observation(3), configuration(2))
    assert point.batch == 3
    assert point.ranges["replicas:window"] == (2.0, 2.0, 2.0)
    assert point.ranges["served"][1] * point.span_s == pytest.approx(point.tuples_in)


def history(folder: Path, **own: Any) -> History:
    return History(folder / "journal.jsonl", lambda unfused: DisplayGraph(), JournalSettings(**own), clock=lambda: 5.0)


def events(folder: Path, kind: str) -> list[Mapping[str, Any]]:
    path = events_path(folder / "journal.jsonl")
    lines = [json.loads(line) for part in (part_before(path), path) if part.exists() for line in part.open()]
    return [line[kind] for line in lines if kind in line]


def decision(step: int, decided: int = 2, because: str = "capacity 12900") -> RecordedDecision:
    return RecordedDecision(
        step, "mpc", Setting(2), Setting(decided), Setting(decided), because, requested=decided != 2
    )


def test_equal_holds_in_a_row_become_one_and_changes_stay(tmp_path: Path) -> None:
    written = history(tmp_path)
    for step in range(1, 6):
        written.decided(step, decision(step, because=f"capacity {step * 1000}"))
    written.decided(6, decision(6, 3))
    written.decided(7, decision(7, 4))
    written.decided(8, decision(8, because="a level below is settling since 1 steps"))
    written.end("stopped")
    found = events(tmp_path, "decision")
    assert [(own["first_step"], own["step"], own["steps"]) for own in found] == [(1, 5, 5), (6, 6, 1), (7, 7, 1),
                                                                              (8, 8, 1)]  # fmt: skip
    assert events(tmp_path, "end") == [{"reason": "stopped"}]


def test_a_configuration_is_written_where_it_changes(tmp_path: Path) -> None:
    written = history(tmp_path)
    own = [configuration(2), configuration(2), configuration(3)]
    written.batches([(observation(batch), each) for batch, each in enumerate(own)])
    assert [event["batch"] for event in events(tmp_path, "configuration")] == [0, 2]
    assert len(events(tmp_path, "graph")) == 1


def test_events_are_bounded_and_begin_with_what_a_viewer_needs(tmp_path: Path) -> None:
    written = history(tmp_path, disk_mb=1)
    written.begin(RunStart(2.0))
    written.batches([(observation(0), configuration(2))])
    for step in range(1, 2000):
        written.decided(step, decision(step, 3, because="x" * 200))
    path = events_path(tmp_path / "journal.jsonl")
    assert path.stat().st_size < 100_000
    first = [json.loads(line) for line in path.open()][:3]
    assert [next(name for name in line if name != "at_s") for line in first] == ["start", "graph", "configuration"]


def test_samples_of_dead_letters_are_few_and_short_and_can_be_off(tmp_path: Path) -> None:
    written = history(tmp_path)
    letters = [{"operator": "map", "reason": f"raised at row {row}", "row": "é" * 2000} for row in range(9)]
    written.letters(1, [*letters, {"operator": "map", "reason": "is late", "row": "{}"}])
    found = events(tmp_path, "dead_letter")
    assert [own["reason"] for own in found] == ["raised at row 0", "raised at row 1", "raised at row 2", "is late"]
    assert all(len(own["row"].encode()) <= 1000 for own in found)
    silent = history(tmp_path / "off", dead_letter_samples=False)
    silent.letters(1, letters)
    assert not events(tmp_path / "off", "dead_letter")


def test_reasons_with_a_text_of_each_tuple_are_kept_in_mind_up_to_a_bound(tmp_path: Path) -> None:
    written = history(tmp_path)
    texts = ("".join(map(chr, (97 + i % 26, 97 + i // 26 % 26, 97 + i // 676))) for i in range(5_000))
    written.letters(1, [{"operator": "map", "reason": f"raised KeyError: {text}", "row": "{}"} for text in texts])
    assert len(events(tmp_path, "dead_letter")) == len(written._samples) == MOST_REASONS
    written.letters(2, [{"operator": "map", "reason": "raised KeyError: aaa", "row": "{}"}] * 9)
    assert len(events(tmp_path, "dead_letter")) == MOST_REASONS + SAMPLES_EACH - 1
    assert max(written._samples.values()) == SAMPLES_EACH


def test_a_display_graph_has_names_kinds_inputs_and_elements() -> None:
    from penstock.cli.demo.vwap import vwap_per_ticker

    shown = display_graph(vwap_per_ticker().graph)
    by_name = {operator.name: operator for operator in shown.operators}
    assert by_name["window"].kind == "aggregate"
    assert by_name["window"].inputs == ("trades",)
    assert by_name["window"].element == "window"
    assert {element.scope for element in shown.elements} == {"none", "key"}
    assert from_plain(DisplayGraph, to_plain(shown)) == shown


def test_a_level_path_is_beside_its_journal(tmp_path: Path) -> None:
    assert level_path(tmp_path / "journal.jsonl", "hours").parent == tmp_path


def test_where_a_graph_is_fused_otherwise_it_is_written_again(tmp_path: Path) -> None:
    written = history(tmp_path)
    two: Configuration = configuration(2)
    written.batches([(observation(0), two), (observation(1), replace(two, unfused=("window",)))])
    assert len(events(tmp_path, "graph")) == 2
