"""Generated data: deterministic, in the form that MODEL's programs read, and shaped like a market."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.cli import generate
from penstock.connectors.trace import market
from penstock.errors import InputError

ROWS = 4000


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("file", generate.DATA_FILES, ids=lambda file: file.name)
def test_the_same_seed_gives_the_same_table_and_another_seed_another(file: generate.DataFile) -> None:
    assert file.table(ROWS, 3).equals(file.table(ROWS, 3))
    assert not file.table(ROWS, 3).equals(file.table(ROWS, 4))
    assert file.table(ROWS, 3).num_rows == ROWS


def test_all_files_are_written_with_the_same_bytes_for_a_seed(tmp_path: Path) -> None:
    one = generate.write_all(tmp_path / "one", 200, seed=5)
    other = generate.write_all(tmp_path / "other", 200, seed=5)
    assert [path.name for path in one] == [file.name for file in generate.DATA_FILES]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    assert [len(rows_of(path)) for path in one] == [200, 200, 200, 100, 200]


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("file", generate.DATA_FILES, ids=lambda file: file.name)
def test_small_tables_have_the_schema_of_large_ones(file: generate.DataFile, rows: int) -> None:
    table = file.table(rows, 1)
    assert table.num_rows == rows
    assert table.schema == file.table(100, 1).schema


def test_dates_and_times_match_the_pattern_of_a1_and_increase() -> None:
    moments = generate.dates_and_times(ROWS, 1)["dateTime"].to_pylist()
    assert all(re.fullmatch(r"([0-9]+)-([0-9]+)-([0-9]+) (\d\d:\d\d:\d\d)", moment) for moment in moments)
    assert moments == sorted(moments)
    assert {moment[5:7] for moment in moments} == {f"{month:02}" for month in range(1, 13)}


def test_stock_reports_have_positive_prices_on_the_grid_and_volumes_in_round_lots() -> None:
    table = generate.stock_reports(ROWS, 1)
    assert table.schema.names == ["symbol", "dateTime", "closingPrice", "volume"]
    assert table.schema.types == [pa.string(), pa.string(), pa.float64(), pa.int64()]
    prices = table["closingPrice"].to_numpy()
    assert prices.min() > 0
    assert np.array_equal(prices, np.round(prices, 2))
    assert not (table["volume"].to_numpy() % 100).any()


def test_some_bids_meet_an_offer_of_their_product_within_the_windows_of_a4_and_some_do_not() -> None:
    bids, offers = generate.bids(1000, 1).to_pylist(), generate.offers(500, 1).to_pylist()
    matches = [
        any(
            offer["productName"] == bid["productName"] and offer["offerPrice"] <= bid["bidPrice"]
            for offer in offers[max(0, number // 2 - 15) : number // 2]
        )
        for number, bid in enumerate(bids)
    ]
    assert 0.05 < sum(matches) / len(matches) < 0.6


def test_trades_and_quotes_leave_each_others_fields_empty(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    generate.write_csv(generate.trades_and_quotes(ROWS, 1), path)
    lines = rows_of(path)
    assert {len(line) for line in lines} == {18}
    for line in lines:
        of_trade, of_quote = line[6:9], [line[i] for i in (10, 11, 14, 15)]
        present, absent = (of_trade, of_quote) if line[4] == "Trade" else (of_quote, of_trade)
        assert all(float(field) > 0 for field in present)
        assert absent == [""] * len(absent)


def test_trades_and_quotes_are_stamped_in_strictly_increasing_time_within_the_session() -> None:
    table = generate.trades_and_quotes(ROWS, 1)
    times = table["time"].to_pylist()
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d\.\d{6}", time) for time in times)
    assert all(one < other for one, other in pairwise(times))
    assert "09:30:00" <= times[0] < times[-1] < "16:00:00"
    assert set(table["date"].to_pylist()) == {"27-DEC-2005"}


def test_asks_are_above_bids_and_the_given_vwap_is_the_tickers_own_so_far() -> None:
    table = generate.trades_and_quotes(ROWS, 1)
    quotes = table.filter(pc.equal(table["ttype"], "Quote"))
    assert pc.all(pc.greater(quotes["askprice"], quotes["bidprice"])).as_py()
    sums: dict[str, tuple[float, float]] = {}
    for row in table.filter(pc.equal(table["ttype"], "Trade")).to_pylist():
        notional, shares = sums.get(row["ticker"], (0.0, 0.0))
        notional, shares = notional + row["price"] * row["volume"], shares + row["volume"]
        sums[row["ticker"]] = (notional, shares)
        assert row["vwap"] == pytest.approx(notional / shares, abs=1e-4)


def test_trading_is_busier_at_the_open_and_the_close_than_at_noon() -> None:
    times = market.session_times_us(np.random.default_rng(1), 50_000)
    per_half_hour, _ = np.histogram(times, bins=13, range=(market.OPEN_US, market.CLOSE_US))
    assert per_half_hour[0] > 1.3 * per_half_hour[6] < per_half_hour[-1]
    assert (np.diff(times) > 0).all()


def test_a_session_cannot_hold_more_rows_than_microseconds() -> None:
    with pytest.raises(InputError, match="one row per microsecond at most, 3; got 5 rows"):
        market.session_times_us(np.random.default_rng(1), 5, 0, 3)


def test_the_walk_of_a_ticker_does_not_depend_on_where_its_rows_lie() -> None:
    codes = np.array([2, 0, 2, 1, 0, 2], np.int32)
    order, starts = market.grouped(codes)
    assert order.tolist() == [1, 4, 3, 0, 2, 5]
    assert market.cumulative_sums(np.array([1, 2, 3, 4, 5, 6]), starts).tolist() == [1, 3, 3, 4, 9, 15]


def test_trades_are_half_of_the_stream_and_few_tickers_make_up_much_of_it() -> None:
    table = generate.trades(20_000, keys=500, seed=1)
    assert table.schema.names == ["seq", "ticker", "ttype", "price", "volume"]
    assert pc.sum(pc.equal(table["ttype"].cast(pa.string()), "Trade")).as_py() == 10_000
    counts = np.sort(pc.value_counts(table["ticker"].cast(pa.string())).field("counts").to_numpy())[::-1]
    assert len(counts) > 480
    assert 0.2 < counts[:10].sum() / 20_000 < 0.6


def test_trades_differ_only_in_how_tickers_are_written() -> None:
    symbol, string, number = (
        generate.trades(500, keys=50, seed=1, ticker=kind) for kind in ("symbol", "string", "int32")
    )
    assert symbol["ticker"].cast(pa.string()).equals(string["ticker"])
    assert number["ticker"].type == pa.int32()
    names = market.ticker_names(50)
    assert [names[code].as_py() for code in number["ticker"].to_pylist()] == string["ticker"].to_pylist()
    assert symbol["price"].equals(number["price"])


def test_an_unknown_ticker_type_is_refused() -> None:
    with pytest.raises(InputError, match="tickers are written as one of symbol, string, int32; got 'float'"):
        generate.trades(1, ticker="float")  # type: ignore[arg-type]


def test_ticker_names_are_distinct() -> None:
    names = market.ticker_names(2836).to_pylist()
    assert len(set(names)) == 2836
    assert max(map(len, names)) == 3
