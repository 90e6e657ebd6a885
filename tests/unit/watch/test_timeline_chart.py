"""The picture of a run: drawn for any run, the same for the same run, with a mark at every change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.watch.pictures.mark_names import mark_names
from penstock.watch.pictures.timeline_chart import ChartText, save_run
from tests.unit.observed import BEGIN_S, configuration, micro_batch, run_of

TEXT = ChartText("title", "caption")


def test_every_change_is_marked_and_every_panel_named(tmp_path: Path) -> None:
    observations = [*run_of(3), *(micro_batch(batch, replicas=4) for batch in (3, 4))]
    configurations = [configuration(2)] * 3 + [configuration(4)] * 2
    save_run(observations, configurations, TEXT, [tmp_path / "a.svg"], begin_s=BEGIN_S - 1)
    svg = (tmp_path / "a.svg").read_text()
    assert svg.count("window 2 → 4 replicas") == 1
    for panel in ("Throughput", "Latency of results", "Replicas", "Share of each replica of 'window'"):
        assert panel in svg


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_run(run_of(5), [configuration()] * 5, TEXT, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("batches", [1, 2])
def test_a_short_run_without_a_schedule_of_arrivals_is_drawn(tmp_path: Path, batches: int) -> None:
    observations = [replace(o, latency=None, backlog_tuples=None) for o in run_of(batches)]
    save_run(observations, [configuration()] * batches, TEXT, [tmp_path / "a.png"])
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        save_run(run_of(2), [configuration()] * 2, TEXT, [tmp_path / "file" / "a.png"])


def test_names_of_changes_that_are_close_stand_in_lanes_of_their_own() -> None:
    names = mark_names([(38.0, "windows 4 to 8"), (40.5, "windows 8 to 6"), (46.0, "windows 6 to 5")], 60.0)
    assert [name.lane for name in names] == [0, 1, 0]


def test_a_name_at_the_right_edge_ends_at_its_line_and_covers_none() -> None:
    marks = [(51.0, "windows 5 to 4 replicas, slots 239 + 233"), (56.0, "windows 4 to 3 replicas, slots 246 + 240")]
    first, last = mark_names(marks, 60.0)
    assert (first.is_left, last.is_left) == (False, True)
    assert first.lane != last.lane


def test_a_name_does_not_cover_the_title_of_the_panel() -> None:
    assert [name.lane for name in mark_names([(1.4, "quotes 2 to 1"), (15.0, "quotes 1 to 2")], 60.0)] == [1, 0]


def test_names_are_left_out_where_there_is_no_space_and_long_ones_are_cut() -> None:
    names = mark_names([(20 + 0.01 * n, f"change {n} " + "word " * 30) for n in range(20)], 60.0)
    assert len(names) == 6
    assert all(name.text.count("\n") == 1 and name.text.endswith("...") for name in names)
