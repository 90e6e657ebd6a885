"""Candlesticks: estimates joined to candles as plain Python would, drawn the same each time, mistakes told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.cli import main
from penstock.cli.demo.quotes import Quotes
from penstock.cli.demo.trading import trading
from penstock.watch.pictures.candlesticks import busiest, candles_of, draw_candlesticks


def estimates() -> pa.Table:
    return ps.evaluate(trading(window=100, every=10), {"quotes": Quotes(5, 2000.0)(np.arange(3000))})["out"]


def test_candles_join_neighbours() -> None:
    table = estimates()
    symbol = busiest(table, 1)[0]
    rows = [row for row in table.to_pylist() if row["symbol"] == symbol]
    candles = candles_of(table, symbol, 7)
    each = -(-len(rows) // 7)
    pieces = [rows[i : i + each] for i in range(0, len(rows), each)]
    assert len(pieces) > 2
    assert candles.open.tolist() == [piece[0]["open"] for piece in pieces]
    assert candles.high.tolist() == [max(row["high"] for row in piece) for piece in pieces]
    assert candles.low.tolist() == [min(row["low"] for row in piece) for piece in pieces]
    assert candles.close.tolist() == [piece[-1]["close"] for piece in pieces]
    assert candles.forecast.tolist() == [piece[-1]["forecast"] for piece in pieces]


def test_pictures_are_the_same_each_time(tmp_path: Path) -> None:
    table = estimates()
    charts = [candles_of(table, symbol, 30) for symbol in busiest(table, 3)]
    for name in ("a.svg", "b.svg"):
        draw_candlesticks(charts, "three symbols", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").read_text().count("forecast") >= 3


def run(*arguments: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(["candlesticks", *arguments])
    return ended.value.code


def test_the_command_draws_a_directory_and_tells_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "estimates"
    folder.mkdir()
    pq.write_table(estimates(), folder / "part.parquet")
    assert run(str(folder), "--picture", str(tmp_path / "c.png"), "--candles", "20") == 0
    assert (tmp_path / "c.png").stat().st_size > 10_000
    capsys.readouterr()
    mistakes = {
        (str(folder), "--symbol", "AAA"): "there are no estimates of 'AAA'; there are 5 symbols",
        (str(folder), "--picture", "c.gif"): "--picture is a file that ends in .svg or .png; got c.gif",
        (str(folder), "--candles", "0"): "--candles is a whole number of at least 1; got 0",
        (str(tmp_path / "none"),): "there is no file or folder",
    }
    for arguments, sentence in mistakes.items():
        assert run(*arguments) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
