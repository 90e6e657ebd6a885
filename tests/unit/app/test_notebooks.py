"""What notebooks show of applications and results: valid, escaped, and not too long."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pyarrow as pa

import penstock as ps
from penstock.control.journal.recorded_decision import RecordedDecision
from penstock.control.setting import Setting
from penstock.measure.latency_sketch import LatencySketch
from penstock.measure.observation import Latency, Observation, ReplicaObservation, latency_of
from penstock.policies import Change, Expectation, Hold


def test_an_application_is_drawn_with_every_operator_and_stream() -> None:
    app = ps.Application("two")
    left = app.source("<script>", schema={"k": "int64"})
    right = app.source("right", schema={"k": "int64"})
    joined = left.join("both", right, on=["k"], left_window=ps.sliding(count=1), right_window=ps.sliding(count=1),
                       emit={"k": "left.k"})  # fmt: skip
    joined.sink("out")
    drawn = ET.fromstring(app._repr_html_())
    titles = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert {"<script>: Source", "right: Source", "both: Join", "out: Sink"} <= set(titles)
    assert len(drawn.findall("{http://www.w3.org/2000/svg}path")) == 3


def test_an_application_with_mistakes_shows_them_and_an_empty_one_too() -> None:
    app = ps.Application("wrong")
    app.source("in", schema={"x": "int64"}).functor("f", where="y < 1", emit={"x": "x"}).sink("out")
    assert "reads" in app._repr_html_()
    assert "&lt;" not in ps.Application("empty")._repr_html_()
    assert "has no operators" in ps.Application("empty")._repr_html_()


def test_tables_show_their_first_rows_escaped() -> None:
    app = ps.Application("texts")
    app.source("in", schema={"t": "string"}).functor("same", emit={"t": "t"}).sink("out")
    shown = ps.evaluate(app, {"in": {"t": ["<b>"] * 12}})._repr_html_()
    assert (shown.count("<td>&lt;b&gt;</td>"), "<td><b>" in shown) == (10, False)
    assert "out: 12 tuples, the first 10 of them" in shown


def cells(html: str) -> dict[str, str]:
    """Label and figure of each row; what is no valid table fails."""
    rows = ET.fromstring(html).findall("tr")
    return {row.findtext("th") or "": row.findtext("td") or "" for row in rows}


def test_an_observation_shows_its_figures_and_leaves_out_what_was_not_measured() -> None:
    replica = ReplicaObservation(0, 2_000, 10, 0.4, 0.4, 0)
    seen = Observation(7, 0.0, 0.5, 2_000, 10, {"<w>": (replica, replica)}, Latency(12.5, 300.0, 301.0, 302.0))
    shown = cells(seen._repr_html_())
    assert (shown["rate"], shown["latency p95"], shown["replicas"]) == ("4,000 tuples/s", "300 ms", "<w>: 2")
    assert "backlog" not in shown
    assert "latency p50" not in cells(Observation(0, 0.0, 0.5, 0, 0)._repr_html_())


def test_an_observation_is_printed_as_one_line() -> None:
    seen = Observation(7, 0.0, 0.5, 2_000, 10, latency=Latency(12.5, 300.0, 301.0, 302.0), backlog_tuples=3)
    assert str(seen) == (
        "micro-batch 7: duration 0.5 s, tuples in 2,000, tuples out 10, rate 4,000 tuples/s, latency p50 12.5 ms, "
        "latency p95 300 ms, backlog 3 tuples, dead letters 0"
    )


def test_what_a_run_gave_is_shown_as_figures_not_as_all_of_its_tuples() -> None:
    latency = latency_of(LatencySketch(first=267, counts=(2,), sum_ms=720.0, highest_ms=361.0))
    seen = [Observation(n, float(n), 1.0, 500, 400, latency=latency) for n in range(2)]
    result = ps.RunResult({"<out>": pa.table({"x": range(800)})}, {"gone": (1, 0)}, observations=seen)
    assert repr(result).splitlines() == [
        "RunResult", "  micro-batches: 2", "  duration: 2 s", "  tuples in: 1,000", "  tuples out: 800",
        "  rate: 500 tuples/s", "  latency p50: 206 ms", "  latency p95: 206 ms", "  latency p99: 206 ms",
        "  dead letters: 0", "  tables['<out>']: 800 tuples", "  discarded['gone']: 1 tuple",
    ]  # fmt: skip
    assert cells(result._repr_html_())["tables['<out>']"] == "800 tuples"


def test_decisions_show_their_reason_and_what_is_expected() -> None:
    change = cells(Change(Setting(3), "demand < supply", Expectation(rate_tuples_s=900.0))._repr_html_())
    assert change == {"to": "3 replicas", "because": "demand < supply", "expected rate": "900 tuples/s"}
    hold = cells(Hold("settling below", until_s=2.0)._repr_html_())
    assert hold == {"because": "settling below", "for at most": "2 s more"}


def test_a_recorded_decision_shows_the_rules_that_changed_it() -> None:
    shown = cells(
        RecordedDecision(4, "mpc", Setting(2), Setting(9), Setting(4), "demand", rules=("limits",))._repr_html_()
    )
    assert shown == {
        "setting": "2 replicas",
        "decision": "4 replicas",
        "because": "demand",
        "goal": "met",
        "changed by rules": "limits",
    }
