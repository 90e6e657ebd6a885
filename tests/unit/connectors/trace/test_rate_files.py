"""CSV traces: both forms, several keys, and every sentence about a bad file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.connectors.trace.schedule import key_names
from penstock.errors import InputError
from tests.checkout import ROOT

SHARED = ROOT.parent / "shared" / "traces"  # beside the checkout, where there are any


def file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_counts_come_evenly_within_their_intervals(tmp_path: Path) -> None:
    path = file(
        tmp_path, "a.csv", "timestamp,value\n2024-05-01 09:30:00,2\n2024-05-01 09:30:10,0\n2024-05-01T09:30:20,4\n"
    )
    trace = ps.sources.trace(path).open()
    assert trace.total == 6
    moments = trace.arrival_s(np.arange(7))
    assert moments is not None
    assert moments.tolist() == [0.0, 5.0, 20.0, 22.5, 25.0, 27.5, np.inf]


def test_rates_hold_until_the_next_row_and_seconds_begin_at_zero(tmp_path: Path) -> None:
    trace = ps.sources.trace(file(tmp_path, "a.csv", "seconds;rate\n1;2\n3;10\n4;0\n"), speed_up=2).open()
    assert trace.total == 14
    assert [trace.arrived_by(t) for t in (0.5, 1.5, 2.0, 9.0)] == [0, 4, 14, 14]


def test_a_mean_rate_scales_a_file(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", "timestamp|value\n1661724000|1\n1661724010|3\n")
    trace = ps.sources.trace(path, rate_tuples_s=200, speed_up=2).open()
    assert [trace.arrived_by(t) for t in (5.0, 10.0)] == [500, 2000]


def test_each_key_has_exactly_its_tuples_in_each_interval_and_is_spread_over_it(tmp_path: Path) -> None:
    one = file(tmp_path, "volume_KO.csv", "timestamp,value\n0,300\n10,0\n20,50\n")
    other = file(tmp_path, "volume_IBM.csv", "timestamp,value\n0,700\n10,10\n20,0\n")
    source = ps.sources.trace([one, other])
    codes = source.block(0, 1060).ticker
    assert np.bincount(codes[:1000]).tolist() == [300, 700]
    assert codes[1000:1010].tolist() == [1] * 10
    assert codes[1010:].tolist() == [0] * 50
    tenths = codes[:1000].reshape(10, 100).sum(axis=1)
    assert tenths.min() >= 68
    assert tenths.max() <= 72
    assert set(source.table(0, 20)["ticker"].to_pylist()) == {"KO", "IBM"}


def test_keys_that_begin_at_different_moments_share_a_clock(tmp_path: Path) -> None:
    early = file(tmp_path, "early.csv", "timestamp,value\n100,1\n110,1\n")
    late = file(tmp_path, "late.csv", "timestamp,value\n115,10\n120,10\n")
    trace = ps.sources.trace([early, late]).open()
    assert trace.block(0, 22).ticker.tolist()[0] == 0
    assert trace.arrived_by(15.0) == pytest.approx(2, abs=1)
    assert trace.arrived_by(25.0) == trace.total == 22


def test_the_names_of_keys_are_what_differs_in_the_names_of_files() -> None:
    assert key_names(("d/v_KO.csv", "e/v_IBM.csv")).to_pylist() == ["KO", "IBM"]
    assert key_names(("d/v_KO.csv",)).to_pylist() == ["v_KO"]
    assert key_names(("d/same.csv", "e/same.csv")).to_pylist() == ["d/same.csv", "e/same.csv"]


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "needs the columns timestamp and value, or seconds and rate, in its first line; got an empty file"),
    ("time,value\n1,2\n", "needs the columns timestamp and value, or .*; got time, value"),
    ("timestamp,value\n", "needs two rows at least; it has 0"),
    ("timestamp,value\n1,2\n", "needs two rows at least; it has 1"),
    ("timestamp,value\n1,x\n2,\n", r"needs a number in 'value'; got 'x' in row 1 \(and 1 more\)"),
    ("timestamp,value\n1,nan\n2,1\n", "needs a number in 'value'; got 'nan' in row 1"),
    ("seconds,rate\n1,1\n2,-1\n", "needs a number of at least 0 in 'rate'; got '-1' in row 2"),
    ("seconds,rate\n-1,1\n2,1\n", "needs a number of at least 0 in 'seconds'; got '-1' in row 1"),
    ("timestamp,value\n3,1\n2,1\n", "needs a 'timestamp' above the one before it in every row; got '2' in row 2"),
    ("timestamp,value\n3,1\nnoon,1\n", "needs a number in 'timestamp'; got 'noon' in row 2"),
    ("timestamp,value\nnoon,1\n2,1\n", "needs a date such as 2024-05-01 09:30:00 in 'timestamp'; got 'noon' in row 1"),
    ("timestamp,value\n2024-13-01,1\n2024-05-02,1\n", "needs a date of the calendar in 'timestamp': .*2024-13-01"),
    ("timestamp,value\n1,2\n2,3,4\n3,1\n", "needs 2 fields in every row; got '2,3,4'"),
    ("timestamp,value\n1,0\n2,0\n", "a trace needs some tuples; .*bad.csv count none"),
    ("seconds,rate\n0,1e12\n2,1\n", "an interval of a trace has 2000000000 tuples at most; got 2000000000000; lower"),
    ("seconds,rate\n0,0.001\n2,0\n", "needs one tuple at least; got a rate at which none ever comes"),
])  # fmt: skip
def test_a_bad_file_is_told_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ps.sources.trace(file(tmp_path, "bad.csv", text)).open()


def test_the_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    bad = file(tmp_path, "bad.csv", "timestamp,value\n3,x\n2,1\n")
    with pytest.raises(InputError) as caught:
        ps.sources.trace([bad, str(tmp_path / "none.csv")]).open()
    lines = str(caught.value).splitlines()
    assert lines[0] == f"trace {bad} needs a 'timestamp' above the one before it in every row; got '2' in row 2"
    assert lines[1] == f"trace {bad} needs a number in 'value'; got 'x' in row 1"
    assert lines[2] == f"trace {tmp_path / 'none.csv'} cannot be read: No such file or directory"


def test_files_with_different_clocks_do_not_go_together(tmp_path: Path) -> None:
    dates = file(tmp_path, "dates.csv", "timestamp,value\n2024-05-01,1\n2024-05-02,1\n")
    seconds = file(tmp_path, "seconds.csv", "seconds,rate\n0,1\n2,1\n")
    with pytest.raises(
        InputError, match=r"one kind of clock; .*dates.csv has dates, .*has seconds since its beginning"
    ):
        ps.sources.trace([dates, seconds]).open()


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", "timestamp,value\n0,1\n1,1\n")
    assert ps.sources.trace(path).open().total == 2
    file(tmp_path, "a.csv", "timestamp,value\n0,10\n1,10\n")
    assert ps.sources.trace(path).open().total == 20


@pytest.mark.skipif(not SHARED.is_dir(), reason="recorded traces are not part of the project")
def test_recorded_traces_can_be_replayed() -> None:
    for path in sorted(SHARED.glob("*.csv")):
        trace = ps.sources.trace(path, speed_up=3600).open()
        assert trace.arrivals is not None
        end_s = float(trace.arrivals.edges_s[-1])
        assert trace.arrived_by(end_s) == trace.total
        assert 0 < (trace.arrived_by(end_s / 2) or 0) < (trace.total or 0)
        trace.block(0, 1000)
