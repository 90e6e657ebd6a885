"""The five printed programs run over generated files give what plain Python gives, one tuple at a time."""

from __future__ import annotations

import csv
import heapq
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.spade import load
from penstock.cli import generate
from penstock.element.evaluation import evaluate
from tests.checkout import ROOT

EXAMPLES = ROOT / "examples" / "spade"
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generate.write_all(folder, rows=1000, seed=11)
    return folder


def tapped(name: str, stream: str, data_dir: Path) -> list[Row]:
    app = load((EXAMPLES / f"{name}.spade").read_text(), data_dir=data_dir, file=f"{name}.spade")
    tables = evaluate(app, taps=[stream], block_rows=128)
    assert tables.dead_letters.num_rows == 0
    rows: list[Row] = tables[stream].to_pylist()
    return rows


def lines(data_dir: Path, name: str) -> list[list[str]]:
    with (data_dir / name).open(newline="") as file:
        return list(csv.reader(file))


def assert_close(got: list[Row], expected: list[Row]) -> None:
    assert len(got) == len(expected) > 0
    for one, other in zip(got, expected, strict=True):
        assert one == {k: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for k, v in other.items()}


def test_dates_are_rewritten(data_dir: Path) -> None:
    expected = []
    for number, (moment,) in enumerate(lines(data_dir, "SourceData.dat")):
        found = re.search("([0-9]*)-([0-9]*)-([0-9]*) (.*)", moment)
        assert found is not None
        date = f"{found[3]}-{MONTHS[int(found[2]) - 1]}-{found[1]}"
        expected.append({"date": date, "time": re.sub("00", "0", found[4]), "seq": number})
    assert tapped("func3-cf4", "Regex3", data_dir) == expected


def reports(data_dir: Path) -> Iterator[tuple[str, float, int]]:
    for symbol, _, price, volume in lines(data_dir, "stock_report.dat"):
        yield symbol, float(price), int(volume)


def report_summary(window: list[tuple[str, float, int]]) -> Row:
    prices, volumes = [price for _, price, _ in window], [volume for _, _, volume in window]
    return {
        "symbol": window[0][0],
        "recordCnt": len(window),
        "totalTuples": len(window),
        "minPrice": min(prices),
        "maxPrice": max(prices),
        "avgPrice": sum(prices) / len(prices),
        "minVolume": min(volumes),
        "maxVolume": max(volumes),
    }


def test_sliding_windows_per_symbol(data_dir: Path) -> None:
    windows: defaultdict[str, deque[tuple[str, float, int]]] = defaultdict(lambda: deque(maxlen=10))
    expected = []
    for report in reports(data_dir):
        windows[report[0]].append(report)
        expected.append(report_summary(list(windows[report[0]])))
    assert_close(tapped("aggs-cf1", "Aggreg1", data_dir), expected)


def test_tumbling_windows_per_symbol(data_dir: Path) -> None:
    windows: defaultdict[str, list[tuple[str, float, int]]] = defaultdict(list)
    expected = []
    for report in reports(data_dir):
        windows[report[0]].append(report)
        if len(windows[report[0]]) == 10:
            expected.append(report_summary(windows.pop(report[0])))
    assert_close(tapped("aggt-cf1", "Aggreg1", data_dir), expected)


def test_bids_meet_offers(data_dir: Path) -> None:
    bids = ((n / 10_000, 0, line) for n, line in enumerate(lines(data_dir, "auction_bid.dat")))
    offers = ((n / 5_000, 1, line) for n, line in enumerate(lines(data_dir, "product_match.dat")))
    held_bids: deque[list[str]] = deque(maxlen=30)
    held_offers: deque[list[str]] = deque(maxlen=15)
    expected = []
    for _, side, line in heapq.merge(bids, offers):
        (held_offers if side else held_bids).append(line)
        pairs = [(bid, line) for bid in held_bids] if side else [(line, offer) for offer in held_offers]
        for (bidder, product, price), (offered, asked) in pairs:
            if product == offered and float(asked) <= float(price):
                row = {"bidderName": bidder, "productName": offered}
                expected.append({**row, "bidPrice": float(price), "matchingPrice": float(asked)})
    assert expected
    assert tapped("join-cf1.1", "Join1", data_dir) == expected


def test_vwap_of_the_last_four_trades(data_dir: Path) -> None:
    window: deque[tuple[str, float, float]] = deque(maxlen=4)
    expected = []
    for line in lines(data_dir, "TradesAndQuotes.csv.long"):
        if line[4] != "Trade":
            continue
        window.append((line[0], float(line[6]), float(line[7])))
        for ticker in dict.fromkeys(held for held, _, _ in window):
            group = [(price, volume) for held, price, volume in window if held == ticker]
            prices = [price for price, _ in group]
            vwap = sum(price * volume for price, volume in group) / sum(volume for _, volume in group)
            row = {"cminprice": min(prices) * 100.0, "cmaxprice": max(prices) * 100.0}
            expected.append({**row, "cavgprice": sum(prices) / len(prices) * 100.0, "cswap": vwap * 100.0})
    assert_close(tapped("vwap-cf3", "VWAPSum", data_dir), expected)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.spade")), ids=lambda file: file.stem)
def test_every_program_ends_in_a_functor_that_drops_all(file: Path, data_dir: Path) -> None:
    last = "DummySink" if file.stem in ("func3-cf4", "vwap-cf3") else "Sink1"
    assert tapped(file.stem, last, data_dir) == []
