"""Time windows: open, high, low, close and volume of each stock, day by day, and the mean price of the last five days.

penstock generate all --rows 20000 --output out/data
penstock evaluate examples/daily_bars.py --data-dir out/data --output out/bars
"""

import penstock as ps

DAY_S = 24 * 3600

app = ps.Application("daily_bars")

reports = app.source(
    "reports",
    ps.sources.csv("stock_report.dat", header=False),
    schema={"symbol": "symbol", "time": "timestamp", "price": "float64", "volume": "int64"},
    stamp="time",
)
bars = reports.aggregate(
    "bars",
    by="symbol",
    window=ps.tumbling(time_s=DAY_S, on="time"),
    emit={
        "day": "window_start()",
        "symbol": "any(symbol)",
        "open": "first(price)",
        "high": "max(price)",
        "low": "min(price)",
        "close": "last(price)",
        "volume": "sum(volume)",
    },
)
means = reports.aggregate(
    "means",
    by="symbol",
    window=ps.sliding(time_s=5 * DAY_S, every_s=DAY_S, on="time"),
    emit={"until": "window_end()", "symbol": "any(symbol)", "mean": "avg(price)", "reports": "count()"},
)
bars.sink("daily")
means.sink("five_days")
