"""The benchmark of Kafka: its topics keep the order of a ticker, and its figures have the names that others read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.spark.kafka.goal import GoalEffort
from benchmarks.spark.kafka.kafka import QUICK, KafkaResult, KafkaRun, _rate, in_process, run_kafka, sums_in_process
from benchmarks.spark.kafka.kafka_report import kafka_figures, kafka_notes
from benchmarks.spark.kafka.peer import PeerRun
from benchmarks.spark.kafka.quix import together
from benchmarks.spark.kafka.quix_process import _add
from benchmarks.spark.kafka.topics import PARTITIONS, trades
from benchmarks.spark.vwap.stock_tuples import Sums
from penstock.errors import InputError
from penstock.measure.observation import Observation


def test_a_ticker_is_in_one_partition() -> None:
    rows = trades(500, 20).select(["ticker", "partition"]).to_pylist()
    homes = {(row["ticker"], row["partition"]) for row in rows}
    assert len(homes) == len({ticker for ticker, _ in homes})
    assert {partition for _, partition in homes} <= set(range(PARTITIONS))


def test_results_do_not_depend_on_the_order_among_tickers() -> None:
    table = trades(2_000, 30)
    assert in_process(table) == in_process(table.sort_by([("partition", "ascending")]))
    assert in_process(table)[0] > 0


def test_the_figures_have_the_names_that_others_read() -> None:
    run = KafkaRun(700.0, 1000.0, 1, 2, True, 1000)
    stock = PeerRun("stock", 100.0, 1000, Sums(3, 4, 0.5, 0.5))
    slow = PeerRun("slow", None, 100, Sums())
    result = KafkaResult(
        {"json": run, "arrow": run}, (stock, slow), (), 250.04, ("quix-streams: not installed",), stock.sums
    )
    figures = kafka_figures(result, QUICK)
    wanted = {"tuples_s_json": 700, "tuples_s_arrow": 700, "ratio_to_bare_consumer_json": 0.7,
              "ratio_to_bare_consumer_arrow": 0.7, "ratio_to_spark": 7.0, "ratio_to_quix": None, "p95_ms": 250.0,
              "lost": 2, "repeated": 4,
              "peers": {"stock": 100, "slow": None}, "unequal_peers": ["slow"]}  # fmt: skip
    assert {name: figures[name] for name in wanted} == wanted
    assert kafka_notes(result) == ["left out: quix-streams: not installed"]
    other = replace(run, equal=False, sent_as_read=True)
    assert kafka_notes(replace(result, runs={"json": other}))[1].endswith(
        "other ones; that comes from the engine's reading"
    )
    assert QUICK.times(2) == replace(QUICK, tuples=1_200_000, warm=400_000, cap_tuples=200_000)


def test_what_was_not_asked_for_is_null_and_what_there_is_not_is_refused() -> None:
    run = KafkaRun(700.0, 1000.0, 0, 0, True, 1000)
    figures = kafka_figures(KafkaResult({"arrow": run}, (), (), None, (), Sums()), QUICK)
    assert (figures["tuples_s_arrow"], figures["tuples_s_json"], figures["ratio_to_spark"]) == (700, None, None)
    with pytest.raises(InputError, match="--peer is one of spark, quix, connector; got 'flink'"):
        run_kafka(replace(QUICK, peers=("flink",)), Path(), print)
    with pytest.raises(InputError, match="peers read JSON messages"):
        run_kafka(replace(QUICK, formats=("arrow",)), Path(), print)
    assert QUICK.with_tuples(8_000).cap_tuples == QUICK.with_tuples(8_000).warm == 2_000


def test_the_rate_is_that_after_the_warm_up() -> None:
    seen = [Observation(i, float(i), 1.0, 100 * (i + 1), 1, committed_at_s=i + 1.0) for i in range(4)]
    assert _rate(seen, warm=150) == pytest.approx((300 + 400) / 2)
    assert _rate(seen[:1], warm=150) == 0.0


def test_the_sums_of_a_peer_that_does_the_same_are_ours() -> None:
    table = trades(3_000, 20)
    words = sorted(table["ticker"].unique().to_pylist())
    total, held = dict.fromkeys(("tuples", "begin_s", "end_s", "results", "mixed", "vwap", "mean"), 0), {}
    for row in table.to_pylist():
        if row["ttype"] == "Trade":
            window = [*held.get(row["ticker"], []), (row["price"], row["volume"])]
            _add(total, words.index(row["ticker"]), window)
            held[row["ticker"]] = window[-3:]
    halves = [{**total, "tuples": 3_000, "begin_s": 1.0, "end_s": 3.0}, dict.fromkeys(total, 0)]
    run, expected = together(halves), sums_in_process(table, words)
    assert expected.results > 0
    assert run.is_equal(3_000, expected)
    assert run.tuples_s == 1_500.0
    assert not run.is_equal(3_000, expected + Sums(0, 1))


def test_the_rate_triples_and_falls_back_and_stays_where_nobody_reads() -> None:
    effort = GoalEffort(rate_tuples_s=100.0, seconds=100.0)
    due = [effort.sent_by(second) for second in (10, 30, 50, 70, 100, 200)]
    assert due == [1_000, 3_000, 9_000, 15_000, 18_000, 18_000]
    outage = replace(effort, feed="outage")
    assert [outage.sent_by(second) for second in (10, 50, 150, 300)] == [1_000, 5_000, 15_000, 15_000]
    assert outage.stays_s[0] == (0.0, 30.0)
    assert outage.stays_s[1][0] == 70.0
