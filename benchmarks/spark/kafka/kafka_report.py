"""The report of `python -m benchmarks kafka`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from benchmarks.report import millions, table_of
from benchmarks.spark.kafka.kafka import KafkaEffort, KafkaResult
from benchmarks.spark.kafka.peer import best_of


def kafka_figures(result: KafkaResult, effort: KafkaEffort) -> dict[str, Any]:
    """The JSON object; what was not measured is null."""
    runs, ours = result.runs, result.json_tuples_s
    json, arrow = runs.get("json"), runs.get("arrow")
    return {
        "bench": "kafka",
        "tuples_s_json": _rounded(ours),
        "tuples_s_arrow": _rounded(None if arrow is None else arrow.tuples_s),
        "ratio_to_bare_consumer_json": None if json is None else _ratio(json.tuples_s, json.bare_tuples_s),
        "ratio_to_bare_consumer_arrow": None if arrow is None else _ratio(arrow.tuples_s, arrow.bare_tuples_s),
        "ratio_to_spark": _ratio(ours, best_of(result.spark)),
        "ratio_to_quix": _ratio(ours, best_of(result.quix)),
        "tuples_s_json_by_connector": None if result.by_connector is None else round(result.by_connector.tuples_s),
        "p95_ms": None if result.p95_ms is None else round(result.p95_ms, 1),
        "lost": sum(run.lost for run in runs.values()),
        "repeated": sum(run.repeated for run in runs.values()),
        "equal": all(run.equal for run in runs.values()),
        "best_tuples_s": round(max(run.tuples_s for run in runs.values())),
        "bare_tuples_s_json": _rounded(None if json is None else json.bare_tuples_s),
        "bare_tuples_s_arrow": _rounded(None if arrow is None else arrow.bare_tuples_s),
        "fetched_ratio_json": None if json is None else _rounded_ratio(json.fetched_ratio),
        "fetched_ratio_arrow": None if arrow is None else _rounded_ratio(arrow.fetched_ratio),
        "p95_rate_tuples_s": effort.rate_tuples_s,
        "tuples": effort.tuples,
        "peers": {run.name: run.tuples_s and round(run.tuples_s) for run in (*result.spark, *result.quix)},
        "unequal_peers": list(result.unequal),
        "left_out": list(result.left_out),
    }


def kafka_tables(result: KafkaResult) -> list[Table]:
    table = table_of(
        "vwap_per_ticker from a topic of 12 partitions, once warm", "messages", "M tuples/s", "bare consumer", "lost",
        "repeated", "equal",
    )  # fmt: skip
    for kind, run in result.runs.items():
        name = {"json": "JSON, a tuple each", "arrow": "Arrow, 1,000 tuples each"}[kind]
        equal = "yes" if run.equal else "no"
        rates = millions(run.tuples_s), millions(run.bare_tuples_s)
        table.add_row(name, *rates, str(run.lost), str(run.repeated), equal)
    peers = table_of("peers on the topic of JSON messages", "peer", "M tuples/s", "ours : peer", "tuples", "equal")
    for peer in (*result.spark, *result.quix):
        rate = "-" if peer.tuples_s is None else millions(peer.tuples_s)
        ratio = _ratio(result.json_tuples_s, peer.tuples_s)
        equal = "no" if peer.name in result.unequal else "yes"
        peers.add_row(peer.name, rate, "-" if ratio is None else f"{ratio:.1f}", f"{peer.tuples:,}", equal)
    if result.by_connector is not None:
        own = result.by_connector
        ratio, equal = _ratio(result.json_tuples_s, own.tuples_s), "yes" if own.equal else "no"
        row = "ours, a DataFrame of Spark's connector", millions(own.tuples_s), "-" if ratio is None else f"{ratio:.1f}"
        peers.add_row(*row, f"{result.runs['json'].tuples:,}", equal)
    return [table, peers] if result.spark or result.quix or result.by_connector is not None else [table]


def kafka_notes(result: KafkaResult) -> list[str]:
    notes = [f"left out: {sentence}" for sentence in result.left_out]
    for kind, run in result.runs.items():
        if run.sent_as_read is not None:
            whose = "the engine's reading" if run.sent_as_read else "what the producer wrote into the topic"
            notes.append(f"{kind}: the results are other ones; that comes from {whose}")
    return notes


def _rounded(rate: float | None) -> int | None:
    return None if rate is None else round(rate)


def _rounded_ratio(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 2)


def _ratio(ours: float | None, other: float | None) -> float | None:
    return None if not other or ours is None else round(ours / other, 3)
