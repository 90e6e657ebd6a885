"""Checkpoints of a driver that was killed, with bytes flipped, files cut, swapped and removed: a start from them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import penstock as ps
from benchmarks.fuzz.batches import Batches, run_batches
from benchmarks.fuzz.kind import Body, WrongResult
from benchmarks.fuzz.mutations import mutated_bytes
from penstock.app.graph import Graph

_LAST = 5  # the batch whose driver is killed: published, and not committed
_ACTIONS = ("bytes",) * 6 + ("remove", "swap", "empty", "double", "cut")
_TUPLES = 400  # ten batches


def prices() -> ps.Application:
    """State as rows: windows by key, and a second window behind them."""
    app = ps.Application("prices")
    trades = app.source("trades", ps.sources.trace("unbounded", keys=20, seed=5, total=_TUPLES, ticker="string"))
    means = trades.aggregate(
        "means", by="ticker", window=ps.sliding(count=4, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "mean": "avg(price)", "volume": "last(volume)"},
    )  # fmt: skip
    means.aggregate(
        "sums", by="volume", window=ps.sliding(count=3, per_group=True), emit={"seq": "last(seq)", "sum": "sum(mean)"}
    ).sink("out", ps.sinks.memory())
    return app


def matches() -> ps.Application:
    """State as objects: two sources joined, a window over the whole stream, an operator of the user's own."""
    app = ps.Application("matches")
    rows = [{"k": i % 5, "at": i * 0.5, "x": i * 0.25} for i in range(_TUPLES)]
    left = app.source("left", ps.testing.source_of(rows), stamp="at")
    right = app.source("right", ps.testing.source_of([row | {"at": row["at"] + 0.2} for row in rows]), stamp="at")
    window = ps.sliding(time_s=4.0, on="at")
    joined = left.join(
        "joined", right, left_window=window, right_window=window, on="k",
        emit={"k": "left.k", "at": "left.at", "x": "left.x + right.x"},
    )  # fmt: skip
    joined.operator(
        "counted", Counting(), schema={"k": "int64", "at": "float64", "n": "int64", "x": "float64"}, by="k"
    ).sink("out", ps.sinks.memory())
    return app


class Counting:
    """Numbers the tuples of each key."""

    def state(self) -> dict[str, int]:
        return {"n": 0}

    def process(self, row: dict[str, object], state: dict[str, int]) -> dict[str, object]:
        state["n"] += 1
        return {"k": row["k"], "at": row["at"], "n": state["n"], "x": row["x"]}


APPLICATIONS: dict[str, Callable[[], ps.Application]] = {"prices": prices, "matches": matches}


class Checkpoints:
    """Changes to the files of a checkpoint whose driver was killed; its restart gives the same results or refuses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._graphs: dict[str, Graph] = {name: make().graph for name, make in APPLICATIONS.items()}
        self._expected: dict[str, Batches] = {}
        for name, graph in self._graphs.items():
            self._expected[name] = run_batches(graph, folder / f"{name}-whole")
            run_batches(graph, folder / f"{name}-begun", _LAST)
            (folder / f"{name}-begun").rename(folder / name)  # its copies pass for moved ones: the original is gone

    def make(self, rng: random.Random) -> Body:
        name = rng.choice(list(self._graphs))
        base = self._folder / name
        files = [str(p.relative_to(base)) for p in sorted(base.rglob("*")) if p.is_file() and "spark" not in p.parts]
        changes = [
            {"file": _any_file(rng, files), "other": _any_file(rng, files), "action": rng.choice(_ACTIONS),
             "seed": rng.randrange(2**32)}
            for _ in range(rng.choice((1, 1, 1, 2)))
        ]  # fmt: skip
        return {"application": name, "changes": changes}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        name, checkpoint = body["application"], folder / "checkpoint"
        shutil.copytree(self._folder / name, checkpoint)
        for change in body["changes"]:
            damage(checkpoint, change)
        results = run_batches(self._graphs[name], checkpoint)
        expected = {batch: rows for batch, rows in self._expected[name].items() if batch >= _LAST}
        if {batch: rows for batch, rows in results.items() if batch >= _LAST} != expected:
            wrong = [batch for batch in expected if results.get(batch) != expected[batch]]
            raise WrongResult(f"batches {wrong} of {list(expected)} have other results after the restart")


def _any_file(rng: random.Random, files: list[str]) -> str:
    """Any file of any folder: there are many logs and one application."""
    top = rng.choice(sorted({file.split("/")[0] for file in files}))
    return rng.choice([file for file in files if file.split("/")[0] == top])


def damage(checkpoint: Path, change: dict[str, str | int]) -> None:
    """Changes one file of a checkpoint; one that an earlier change has removed stays so."""
    path, other = checkpoint / str(change["file"]), checkpoint / str(change["other"])
    if not path.is_file():
        return
    rng, action = random.Random(change["seed"]), change["action"]
    data = path.read_bytes()
    if action == "remove":
        path.unlink()
    elif action == "swap" and other.is_file():
        path.write_bytes(other.read_bytes())
        other.write_bytes(data)
    elif action == "empty":
        path.write_bytes(b"")
    elif action == "cut":
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif action == "double":
        path.write_bytes(data + data)
    else:
        path.write_bytes(mutated_bytes(rng, data, other.read_bytes() if other.is_file() else b""))
