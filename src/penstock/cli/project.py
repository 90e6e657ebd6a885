"""`penstock init`: a small project that runs: an application, its test, and a README."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from rich.console import Console

from penstock.errors import InputError

_APPLICATION = '''\
"""The average price of each ticker over its last 100 trades.

penstock explain application.py
penstock run application.py --duration 20
"""

import penstock as ps


def build(source, sink) -> ps.Application:
    """The application between any source of trades and any sink; tests give it rows."""
    app = ps.Application("{name}")
    trades = app.source("quotes", source).functor(
        "trades", where="ttype = 'Trade'", emit={{"ticker": "ticker", "price": "price", "volume": "volume"}}
    )
    prices = trades.aggregate(
        "prices",
        by="ticker",
        window=ps.sliding(count=100, every=10, per_group=True),
        emit={{"ticker": "any(ticker)", "average": "round(avg(price), 2)", "volume": "sum(volume)"}},
    )
    prices.sink("out", sink)
    return app


# A generated stream to begin with; put your own source here: ps.sources.parquet("folder"), ps.sources.dataframe(frame).
market = ps.sources.trace(rate="step", rate_tuples_s=20_000, keys=50)
app = build(market, ps.sinks.console(rows=3))
'''

_TEST = '''\
"""Tests run in this process, without Spark: pytest"""

import penstock as ps
from application import build

TRADE = {"ticker": "ABC", "ttype": "Trade", "price": 10.0, "volume": 5.0}


def test_every_tenth_trade_of_a_ticker_gives_its_average():
    results = ps.testing.collected()
    rows = [TRADE | {"price": float(price)} for price in range(1, 21)]
    ps.evaluate(build(ps.testing.source_of(rows), results))
    assert [row["average"] for row in results.rows] == [5.5, 10.5]


def test_quotes_are_left_out():
    results = ps.testing.collected()
    ps.evaluate(build(ps.testing.source_of([TRADE | {"ttype": "Quote"}] * 10), results))
    assert results.rows == []
'''

_README = """\
# {name}

A streaming application on Penstock.

| file | what it is |
|---|---|
| `application.py` | the graph of operators |
| `test_application.py` | its tests, in this process |

```
pytest                                                                  # seconds, no Spark; pip install pytest
penstock explain application.py                                         # the graph, what runs in parallel, and why
penstock run application.py --duration 20                               # local Spark
penstock run application.py --goal "latency p95_ms=800"                 # and it tunes itself; Ctrl-C ends it
```

`penstock run` prints the folder of its checkpoint. The same command with `--checkpoint FOLDER` goes on where it ended.
"""


def init_command(directory: Path) -> None:
    """Writes the project and prints what to do next; a folder that has anything in it is left alone."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"penstock init writes into a new or empty folder; {directory} is not; name another one")
    name = re.sub(r"\W+", "_", directory.resolve().name).strip("_") or "application"
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in (("application.py", _APPLICATION), ("test_application.py", _TEST), ("README.md", _README)):
        (directory / file).write_text(text.format(name=name) if "{name}" in text else text, encoding="utf-8")
    console = Console(highlight=False)
    folder = shlex.quote(str(directory))
    console.print(
        f"{directory} has application.py, test_application.py and README.md. Try:", soft_wrap=True, markup=False
    )
    console.print(f"  cd {folder}\n  pytest\n  penstock run application.py --duration 20", markup=False, soft_wrap=True)
