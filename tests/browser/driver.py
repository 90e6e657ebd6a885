"""The run that is looked at: names, keys and dead letters with markup, a goal, and every Observation in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import penstock as ps

MARKUP = "<img src=x onerror=alert(1)>"
OPERATORS = ("quotes", f"checked {MARKUP}", "window", "out")


def application() -> ps.Application:
    app = ps.Application("prices <b>bold</b>")
    quotes = app.source(OPERATORS[0], ps.sources.trace("constant", 3_000, keys=50, seed=7))
    own = quotes.map(OPERATORS[1], refuse_some, per_tuple=True, schema={"ticker": "string", "price": "float64"})
    window = own.aggregate(
        OPERATORS[2], by="ticker", window=ps.sliding(count=4, per_group=True),
        emit={"ticker": "any(ticker)", "high": "max(price)"},
    )  # fmt: skip
    window.sink(OPERATORS[3], ps.sinks.discard())
    return app


def refuse_some(quote: dict[str, object]) -> dict[str, object]:
    if int(str(quote["seq"])) % 997 == 0:
        raise ValueError(MARKUP)
    return {"ticker": f"{MARKUP}{quote['ticker']}", "price": quote["price"]}


def main(folder: Path) -> None:
    handle = ps.start(
        application(), master="local[2]", checkpoint=folder / "checkpoint", goal=ps.latency(p95_ms=1500),
        limits=ps.Limits(max_replicas=2),
    )  # fmt: skip
    with (folder / "observed.jsonl").open("w") as file:
        while not handle.wait(0.3):
            seen = handle.observe()
            if seen is None:
                continue
            figures = {
                "Arrivals": None if seen.arrivals is None else seen.arrivals.rate_tuples_s,
                "Served": seen.rate_tuples_s, "Backlog": seen.backlog_tuples,
                "p95 latency": None if seen.latency is None else seen.latency.p95_ms,
            }  # fmt: skip
            controller = handle.controller
            is_passive = controller is not None and controller.is_passive
            file.write(json.dumps({"batch": seen.batch, "passive": is_passive, "figures": figures}) + "\n")
            file.flush()
    handle.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
