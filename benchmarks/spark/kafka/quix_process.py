"""A process of quix-streams, run by its file in an environment without Penstock: windows of four trades by ticker.

Arguments: servers, topic, group, file of tickers, folder of states, seconds without messages, seconds at most from the
first message on: a group may take half a minute until it has its partitions.  Prints
a JSON object: tuples, when the first and the last came, and the sums over the results of `stock_tuples.py`.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any

MODULUS, HELD = 2147483647, 3


def main(servers: str, topic: str, group: str, words: str, folder: str, idle_s: float, limit_s: float) -> None:
    import quixstreams  # type: ignore[import-not-found]

    logging.disable(logging.WARNING)
    numbers = {word: number for number, word in enumerate(json.loads(Path(words).read_text()))}
    app = quixstreams.Application(
        broker_address=servers, consumer_group=group, auto_offset_reset="earliest", state_dir=folder,
        use_changelog_topics=False, loglevel=None,
    )  # fmt: skip
    total: dict[str, Any] = dict.fromkeys(("tuples", "begin_s", "end_s", "results", "mixed", "vwap", "mean"), 0)

    at_most = threading.Timer(limit_s, app.stop)
    at_most.daemon = True

    def count(trade: dict[str, Any]) -> None:
        total["end_s"] = time.time()
        if not total["begin_s"]:
            total["begin_s"] = total["end_s"]
            at_most.start()
        total["tuples"] += 1

    def add(trade: dict[str, Any], state: Any) -> None:
        held = state.get("held") or []
        held.append((trade["price"], trade["volume"]))
        _add(total, numbers[trade["ticker"]], held)
        state.set("held", held[-HELD:])

    quotes = app.dataframe(app.topic(topic, value_deserializer="json", key_deserializer="str")).update(count)
    quotes[quotes["ttype"] == "Trade"].update(add, stateful=True)
    app.run(timeout=idle_s)
    print(json.dumps(total), flush=True)


def _add(total: dict[str, Any], number: int, window: list[Any]) -> None:
    prices = [price for price, _ in window]
    low, high, last, n = min(prices), max(prices), prices[-1], len(window)
    shares = sum(volume for _, volume in window)
    mixed = number * 1000003 + round(low * 100) * 10007 + round(high * 100) * 101 + int(shares) * 13
    total["results"] += 1
    total["mixed"] += (mixed + round(last * 100.0) * 7 + n) % MODULUS
    total["vwap"] += sum(price * volume for price, volume in window) / shares
    total["mean"] += sum(prices) / n


if __name__ == "__main__":
    _, servers, topic, group, words, folder, idle, limit = sys.argv
    main(servers, topic, group, words, folder, float(idle), float(limit))
