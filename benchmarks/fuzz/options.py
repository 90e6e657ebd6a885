"""Options of every command, and arguments of Python calls: goals, limits, policies, Configurations, sources."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import penstock as ps
from benchmarks.fuzz.kind import Body
from benchmarks.fuzz.mutations import VALUES, mutated_json, mutated_words, strange_word
from penstock.cli import main
from penstock.control.loop.control_request import control_request
from penstock.plan.configuration import check_configuration, configuration_from_json, configuration_to_json
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.session import session

_APPLICATION = "penstock.cli.demo.vwap:vwap_per_ticker"
# A line each: a command that is right, but for what it would need of Spark.
_COMMANDS = tuple(
    f"{line} {option}"
    for line, options in {
        f"run {_APPLICATION} --checkpoint c --duration 1": (
            "--set window.replicas=4 --set block_rows=1000", "--set window.threads=elastic:2-16",
            "--set unfused=window --set micro_batch_tuples=5_000", "--goal throughput --limit max_replicas=8",
            "--goal 'latency p95_ms=500 mean_ms=100' --policy mpc:horizon=3 --price core_hour=0.1 --price kwh=0.2",
            "--goal throughput --payback calm --passive --limit 'min_replicas=1 max_imbalance=0.1'",
            "--goal throughput --policy th-node:horizon=3,switching=no --limit frequencies_ghz=1.2,2.4",
            "--dead-letters d --on-error fail --durable", "--reset-state window", "--master spark://127.0.0.1:1",
        ),
        f"evaluate {_APPLICATION} --input quotes=in.csv": (
            "--output out --format csv --rows 3", "--tap trades=taps --block-rows 7", "--threads 2 --queue window",
            "--threads elastic:1-2 --schedule round_robin", "--on-error fail --data-dir .",
        ),
        f"explain {_APPLICATION}": ("", "--json", "--picture x.svg"),
        "generate trades": ("--rows 10 --seed 3 --output out", ""),
        "candlesticks estimates.parquet": ("--symbol A --candles 5 --picture c.svg",),
        "journal missing.jsonl": ("--json", "--picture p.png"),
        "replay missing.jsonl": ("--policy ds2 --speed-up 10", "--p95-ms 100 --max-replicas 3"),
        "demo": ("--seconds 5 --rate 100 --output demo", "--quick"),
    }.items()
    for option in options
)  # fmt: skip
_WORDS = (
    "--goal", "--limit", "--policy", "--price", "--set", "--checkpoint", "--master", "--duration", "--json", "--help",
    "--input", "--tap", "--threads", "--rows", "--seed", "throughput", "latency", "p95_ms", "mpc", "ds2", "elastic",
    "multilevel", "window", "trades", "quotes", "replicas", "threads", "unfused", "local", "max_replicas", "yes", "no",
    "1", "0", "-5", "2.5", "1e9", "64", "=", ":", ",", " ",
)  # fmt: skip
_HIGHEST_ROWS = 2_000  # of `penstock generate`: more is a matter of time alone
Call = Callable[..., object]


class Options:
    """Command lines and Python calls, right ones changed in one place or several."""

    def __init__(self, folder: Path) -> None:
        self._calls = calls()
        self._configuration = configuration_to_json(ps.Configuration.of(application(), replicas=2, slots=8))

    def make(self, rng: random.Random) -> Body:
        draw = rng.random()
        if draw < 0.5:
            return {"way": "command", "words": _command(rng)}
        if draw < 0.6:
            return {"way": "configuration", "body": mutated_json(rng, self._configuration)}
        name = rng.choice(list(self._calls))
        right = self._calls[name][1]
        chosen = rng.sample(list(right), min(len(right), rng.choice((1, 1, 2, 3))))
        return {"way": "call", "name": name, "given": {own: _any_value(rng, right[own]) for own in chosen}}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        if body["way"] == "command":
            self._command(body["words"], folder)
        elif body["way"] == "configuration":
            app = application()
            made = configuration_from_json(body["body"])
            check_configuration(made, pipeline_of(app.graph, made.unfused))
        else:
            call, right = self._calls[body["name"]]
            with _no_spark():
                call(**right | body["given"])

    def _command(self, words: list[str], folder: Path) -> None:
        (folder / "in.csv").write_text("seq,ticker,ttype,price,volume\n" + "1,A,Trade,2.5,10\n" * 30)
        with _no_spark():
            main(words)


def application() -> ps.Application:
    app = ps.Application("options")
    trades = app.source("trades", ps.sources.trace(keys=2, total=10))
    trades.aggregate(
        "window", by="ticker", window=ps.sliding(count=2, per_group=True), emit={"n": "count()"}
    ).sink("out")  # fmt: skip
    return app


def calls() -> Mapping[str, tuple[Call, dict[str, Any]]]:
    """Public calls that take values, each with right arguments."""
    schema = {"x": "int64", "k": "string"}
    window = {"count": 2, "time_s": None, "delta": None, "punctuation": None, "on": None, "per_group": True}
    return {
        "latency": (ps.latency, {"p95_ms": 100.0, "mean_ms": 50.0}),
        "throughput": (ps.throughput, {"served_ratio": 0.9}),
        "control": (_control, {"core_hour": 1.0, "kwh": 0.1, "policy": "mpc", "passive": False, "payback": 5.0,
                               "min_replicas": 1, "max_replicas": 2, "max_executors": 2, "max_imbalance": 0.5,
                               "max_micro_batch_tuples": 10, "frequencies_ghz": [1.0, 2.0], "frequency_dry_run": True}),
        "threads": (_threads, {"least": 1, "most": 2, "policy": "elastic", "period_s": 1.0, "tolerance": 0.1,
                               "decay_rate": 0.1, "sensitivity": 0.1, "satisfaction": 0.5}),
        "configuration": (_configuration, {"replicas": 2, "slots": 8, "name": "window", "threads": 1,
                                           "unfused": ["window"]}),
        "start": (_start, {"slots": 8, "durable": False, "reset_state": [], "on_error": "fail", "dead_letters": "d",
                           "checkpoint": "c", "master": "spark://127.0.0.1:1", "policy": "ds2", "passive": False,
                           "payback": "calm", "duration_s": 1.0}),
        "trace": (_trace, {"rate": "step", "rate_tuples_s": 10.0, "speed_up": 1.0, "period_s": 10.0, "keys": 3,
                           "seed": 1, "total": 5, "key_distribution": "uniform", "ticker": "symbol"}),
        "window": (_window, {"every": 1, "every_s": None, "by": "k", "emit": {"y": "sum(x)"}} | window),
        "functor": (_functor, {"where": "x > 0", "emit": {"y": "x + 1"}, "schema": schema, "stamp": None}),
        "sort": (_sort, {"by": "x desc", "count": 3}),
        "join": (_join, {"on": "k", "where": "left.x > 0", "emit": {"y": "left.x"}, "count": 2}),
        "evaluate": (_evaluate, {"block_rows": 3, "taps": ["half"], "on_error": "fail", "threads": 1, "queued": None,
                                 "schedule": "oldest_first", "x": [1, 2, 3], "k": ["a", "b", "c"]}),
        "slots": (_slots, {"slots": 8, "bounds": [1.0, 2.0], "first": [1.0], "second": [1.0, 3.0]}),
        "spade": (lambda text, file: ps.spade.load(text, file=file).graph,
                  {"text": '[Program] stream A(x:Long) := Source()["file:a.dat"]{}', "file": "a.spade"}),
        "from_json": (lambda text: ps.Application.from_json(text).graph, {"text": application().to_json()}),
    }  # fmt: skip


def _control(core_hour: Any, kwh: Any, policy: Any, passive: Any, payback: Any, **limits: Any) -> object:
    frequencies = limits["frequencies_ghz"]
    limits["frequencies_ghz"] = tuple(frequencies) if isinstance(frequencies, list) else frequencies
    return control_request(
        ps.throughput(), price=ps.Price(core_hour, kwh), limits=ps.Limits(**limits), policy=policy, passive=passive,
        payback=payback,
    )  # fmt: skip


def _threads(**settings: Any) -> object:
    return ps.Engine(application(), threads=ps.ElasticThreads(**settings)).finish()


def _configuration(replicas: Any, slots: Any, name: Any, threads: Any, unfused: Any) -> None:
    app = application()
    made = ps.Configuration.of(app, replicas=replicas, slots=slots).with_replicas(name, replicas)
    made = made.with_threads(name, threads).with_unfused(app, unfused)
    check_configuration(made, pipeline_of(app.graph, made.unfused))


def _start(duration_s: Any, slots: Any, **given: Any) -> None:
    ps.start(application(), slots=slots, goal=ps.throughput(), **given)


def _trace(**given: Any) -> object:
    return ps.sources.trace(**given).table(0, 5)


def _stream(schema: Any = None, stamp: Any = None) -> tuple[ps.Application, ps.Stream]:
    app = ps.Application("called")
    return app, app.source("rows", schema=schema or {"x": "int64", "k": "string"}, stamp=stamp)


def _window(by: Any, emit: Any, **window: Any) -> object:
    app, stream = _stream()
    stream.aggregate("window", by=by, window=ps.sliding(**window), emit=emit).sink("out")
    return app.graph


def _functor(where: Any, emit: Any, schema: Any, stamp: Any) -> object:
    app, stream = _stream(schema, stamp)
    stream.functor("half", where=where, emit=emit).sink("out")
    return app.graph


def _sort(by: Any, count: Any) -> object:
    app, stream = _stream()
    stream.sort("sorted", by=by, window=ps.tumbling(count=count)).sink("out")
    return app.graph


def _join(on: Any, where: Any, emit: Any, count: Any) -> object:
    app, stream = _stream()
    other = app.source("others", schema={"x": "int64", "k": "string"})
    window = ps.sliding(count=count)
    stream.join("join", other, left_window=window, right_window=window, on=on, where=where, emit=emit).sink("out")
    return app.graph


def _evaluate(x: Any, k: Any, **given: Any) -> object:
    app, stream = _stream()
    stream.functor("half", emit={"h": "x / 2", "k": "k"}).sink("out")
    return ps.evaluate(app, {"rows": {"x": x, "k": k}}, **given)


def _slots(slots: Any, bounds: Any, first: Any, second: Any) -> object:
    made = ps.slots.HashSlots(slots), ps.slots.RangeSlots(bounds), ps.slots.GridSlots(first, second)
    return ps.start(application(), slot_functions=dict.fromkeys(("window",), made[0]), checkpoint="c")


def _command(rng: random.Random) -> list[str]:
    """A command line with words or letters changed, and options of others added."""
    words = shlex.split(rng.choice(_COMMANDS))
    if rng.random() < 0.2:
        words += shlex.split(rng.choice(_COMMANDS))[2:]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        place = rng.randrange(len(words) or 1)
        action = rng.randrange(4)
        if action == 0 or not words:
            del words[place : place + 1]
        elif action == 1:
            words.insert(place, rng.choice(_WORDS) if rng.random() < 0.6 else strange_word(rng))
        else:
            words[place] = mutated_words(rng, words[place], _WORDS) if words[place] else strange_word(rng)
    return _cheap([word.replace("\x00", "") for word in words if word] or ["--help"])


def _cheap(words: list[str]) -> list[str]:
    """Not millions of generated rows, and nothing outside of the folder."""
    if words[0] == "generate":
        for place, word in enumerate(words):
            if word.lstrip("-").isdecimal() and word.isascii() and int(word[:20]) > _HIGHEST_ROWS:
                words[place] = str(_HIGHEST_ROWS)
        words += [] if "--rows" in words[:-1] else ["--rows", "10"]
    return [word.replace("/", "").replace("..", "") if "spark:" not in word else word for word in words]


def _any_value(rng: random.Random, right: Any) -> Any:
    draw = rng.random()
    if draw < 0.4:
        return rng.choice(VALUES)
    if draw < 0.6 or not isinstance(right, str | list | dict):
        return strange_word(rng) if rng.random() < 0.5 else rng.choice((1, 2, 3, 0.5, 1e-9, 1e9, 2**40, -3, 1000))
    if isinstance(right, str):
        return mutated_words(rng, right, (*json.dumps(VALUES[:12]).split(), "x", "k", "sum", "left", "desc"))
    return mutated_json(rng, right)


def _no_spark() -> Any:
    """Ends a command or call where Spark would start: whatever was given is right."""

    def refuse(*given: Any, **named: Any) -> None:
        raise SystemExit(0)

    return patch.object(session, "_start", refuse)
