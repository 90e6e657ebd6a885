"""Rows that are packed come back as they were."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.journal.point import Point
from penstock.watch.recorded.packed_rows import PackedRows

ROW = Point(10.0, 1.5, 2, 7, 100, 50, 3, 1, 1, {"p95": (1.0, 2.0, 4.5), "cores": (0.5, 0.5, 0.5)}, 1.25, 2.5)
BARE = Point(12.0, 0.0, steps=1)


def test_a_row_comes_back_as_it_was() -> None:
    rows = PackedRows(5)
    rows.extend([ROW, BARE, replace(ROW, begin_s=20.0)])
    assert list(rows.after(0.0)) == [ROW, BARE, replace(ROW, begin_s=20.0)]
    assert (rows.first_begin_s, rows.last_end_s, rows.newest_s(0.0)) == (10.0, 21.5, 21.5)


def test_the_oldest_go_and_rows_are_asked_for_by_their_end() -> None:
    rows = PackedRows(2)
    assert (len(rows), rows.first_begin_s, rows.last_end_s, rows.newest_s(-1.0)) == (0, None, None, -1.0)
    rows.extend([ROW, BARE, replace(ROW, begin_s=20.0)])
    assert list(rows.after(0.0)) == [BARE, replace(ROW, begin_s=20.0)]
    assert [row.begin_s for row in rows.after(12.0)] == [20.0]
