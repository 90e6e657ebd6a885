"""The live console: right figures, any width, with and without a terminal."""

from __future__ import annotations

import io
import os
import signal
from dataclasses import replace

import pytest
from rich.console import Console

from penstock.control.decision import Expectation
from penstock.control.journal.recorded_decision import RecordedDecision, StepFigures
from penstock.control.setting import Setting
from penstock.measure.observation import CpuObservation, Observation
from penstock.measure.replica_threads import ReplicaThreads
from penstock.plan.configuration import Configuration
from penstock.plan.thread_setting import ElasticThreads
from penstock.watch.control_lines import control_lines
from penstock.watch.terminal.console_view import ConsoleView
from penstock.watch.terminal.live_console import LiveConsole, plain_line
from tests.unit.observed import configuration, run_of, with_operators


def drawn(view: ConsoleView, width: int, height: int = 40) -> list[str]:
    screen = Console(width=width, height=height, file=io.StringIO(), record=True)
    screen.print(view)
    return screen.export_text().splitlines()


def view_of(observations: list[Observation], **more: object) -> ConsoleView:
    return ConsoleView("prices on local[2]", observations, configuration(), 42.0, 60.0, **more)  # type: ignore[arg-type]


def test_a_wide_terminal_shows_everything() -> None:
    observations = [with_operators(o) for o in run_of(30)]
    text = "\n".join(drawn(view_of(observations, events=["00:30  something changed"]), 110))
    for wanted in (
        "prices on local[2]", "micro-batch 29", "00:42 of 01:00", "2.00 M tuples/s in, 1.00 M out", "p50 229 ms",
        "p95 458 ms, p99 458 ms", "last 400 ms, median 400 ms", "10.0 k tuples", "trades", "· quotes", "20%",
        "██  busiest 50%", "trades 2, window 2 (even); blocks of 32,768", "something changed",
    ):  # fmt: skip
        assert wanted in text
    assert "dead letters" not in text


@pytest.mark.parametrize("width", [110, 80, 64, 50, 40, 24])
def test_no_line_is_longer_than_the_terminal_and_the_main_figures_stay(width: int) -> None:
    lines = drawn(view_of(run_of(30)), width)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for wanted in ("throughput", "latency", "backlog", "00:42", "window"):
        assert wanted in text


def test_the_watermark_is_shown_with_its_lag_where_there_is_one() -> None:
    *before, last = run_of(3)
    assert "watermark" not in "\n".join(drawn(view_of([*before, last]), 100))
    now = replace(last, committed_at_s=1_700_000_002.5, watermark_s=1_700_000_000.0)
    assert "watermark    2023-11-14 22:13:20 UTC, 2.5 s behind the clock" in "\n".join(drawn(view_of([now]), 100))
    other = replace(last, committed_at_s=1_700_000_002.5, watermark_s=1234.5)
    assert "watermark    1,234.500 s" in "\n".join(drawn(view_of([other]), 100))


def test_the_memory_of_what_operators_hold_is_shown() -> None:
    last = with_operators(run_of(1)[0])
    assert not any(line.startswith("state") for line in drawn(view_of([last]), 100))
    holding = {
        name: tuple(
            replace(own, operators=tuple(replace(operator, state_bytes=1_200_000) for operator in own.operators[1:]))
            for own in replicas
        )
        for name, replicas in last.replicas_by_element.items()
    }
    lines = drawn(view_of([replace(last, replicas_by_element=holding)]), 100)
    assert [line.split() for line in lines if line.startswith("state")] == [["state", "filter", "2.4", "MB"]]


def test_a_low_terminal_goes_without_operators() -> None:
    observations = [with_operators(o) for o in run_of(3)]
    assert any("· quotes" in line for line in drawn(view_of(observations), 100, height=40))
    assert not any("· quotes" in line for line in drawn(view_of(observations), 100, height=15))


def test_sparklines_follow_the_throughput() -> None:
    observations = run_of(40)
    observations = [replace(o, tuples_in=o.tuples_in // 8) if o.batch < 20 else o for o in observations]
    line = next(line for line in drawn(view_of(observations), 110) if line.startswith("throughput"))
    bars = line.split("out")[1].strip()
    assert set(bars[:5]) == {"▂"}
    assert set(bars[-5:]) == {"█"}


def test_cpu_is_told_by_who_used_it() -> None:
    cpu = CpuObservation(0.25, 0.1, 0.05, 0.1, 0.5, 0.01)
    observations = [replace(o, cpu=cpu) for o in run_of(20)]
    text = "\n".join(drawn(view_of(observations), 120))
    assert "2.00 cores: operators 25%, around them 10%, Spark's workers 5%, driver 10%, JVM 50%; measuring 1.0%" in text
    assert "cores" not in "\n".join(drawn(view_of(run_of(20)), 120))


def test_sources_without_a_schedule_show_neither_latency_nor_backlog() -> None:
    observations = [replace(o, latency=None, backlog_tuples=None) for o in run_of(3)]
    text = "\n".join(drawn(view_of(observations), 100))
    assert "throughput" in text
    assert "latency" not in text
    assert "backlog" not in text


def test_the_newest_results_latency_comes_first_whether_or_not_the_last_micro_batch_had_any() -> None:
    *before, last = run_of(3)
    for observations in ([*before, last], [*before, replace(last, latency=None)]):
        lines = drawn(view_of(observations), 110)
        assert lines[1].startswith("latency      newest 20")
        assert lines[2].startswith("throughput")


def test_dead_letters_and_the_time_before_the_first_batch_are_told() -> None:
    observations = [replace(o, dead_letters=2) for o in run_of(3)]
    assert any(line.split() == ["dead", "letters", "6"] for line in drawn(view_of(observations), 100))
    assert "waiting for the first micro-batch" in drawn(view_of([]), 100)[1]


def test_a_plain_line_has_the_same_figures() -> None:
    line = plain_line(run_of(30), configuration(), 15.0)
    assert line.startswith("00:15  micro-batches 30; latency newest 228 ms, p50 229 ms, p95 458 ms, p99 458 ms; throu")
    assert "; throughput 2.00 M tuples/s in, 1.00 M out; " in line
    assert line.endswith("backlog 10.0 k tuples; replicas trades 2, window 2 (even)")


class Scripted:
    """An application that ends after some looks, with a clock that goes on by what it is asked to wait."""

    def __init__(self, looks: int) -> None:
        self.configuration: Configuration = configuration()
        self.now_s, self.looks = 0.0, looks

    def wait(self, timeout_s: float | None = None) -> bool:
        assert timeout_s is not None
        self.now_s, self.looks = self.now_s + timeout_s, self.looks - 1
        return self.looks < 0


def console_of(application: Scripted, screen: Console, duration_s: float | None = None) -> LiveConsole:
    return LiveConsole(
        screen, "prices", application, lambda: run_of(3), duration_s=duration_s, clock=lambda: application.now_s
    )


def plain_screen() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=False, width=200), file


def test_without_a_terminal_there_is_a_line_every_five_seconds_and_one_per_event() -> None:
    application = Scripted(24)  # of 0.5 s each
    screen, file = plain_screen()
    shown = console_of(application, screen)
    assert shown.watch(lambda elapsed_s: shown.tell("changed") if elapsed_s == 3.0 else None) == "done"
    lines = file.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["changed", "00:05", "00:10"]


def test_watching_ends_when_the_time_is_over() -> None:
    application = Scripted(1000)
    assert console_of(application, plain_screen()[0], duration_s=2.1).watch() == "time is over"
    assert application.now_s == pytest.approx(2.1, abs=0.02)


def test_ctrl_c_is_noted_and_raised_only_the_second_time() -> None:
    application = Scripted(1000)
    shown = console_of(application, plain_screen()[0])
    before = signal.getsignal(signal.SIGINT)
    assert (
        shown.watch(lambda elapsed_s: os.kill(os.getpid(), signal.SIGINT) if elapsed_s == 1.0 else None)
        == "interrupted"
    )
    assert application.now_s == 1.0
    assert signal.getsignal(signal.SIGINT) is before

    def twice(elapsed_s: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        console_of(Scripted(1000), plain_screen()[0]).watch(twice)


def test_a_terminal_is_drawn_and_left_clean() -> None:
    file = io.StringIO()
    screen = Console(file=file, force_terminal=True, width=100, height=30)
    assert console_of(Scripted(3), screen).watch() == "done"
    assert "throughput" in file.getvalue()


def test_threads_and_what_they_cannot_speed_up_are_shown() -> None:
    seen = ReplicaThreads(8, 64, holds_gil=("filter",), reason="hold: steady")
    last = run_of(1)[0]
    replicas = tuple(replace(r, threads=seen, settled=r.replica == 0) for r in last.replicas_by_element["trades"])
    last = replace(last, replicas_by_element={**last.replicas_by_element, "trades": replicas})
    lines = drawn(view_of([last]), 110)
    assert any("replicas" in line and "threads" in line for line in lines)
    assert any(line.startswith(" trades") and "8 ..." in line for line in lines)
    sentence = "operator 'filter' held the GIL in most samples: threads cannot speed it up; use replicas instead"
    assert any(sentence in line for line in lines)
    assert sentence in plain_line([last], configuration(), 1.0)
    assert not any("threads" in line for line in drawn(view_of(run_of(1)), 110))
    elastic = configuration().with_threads("window", ElasticThreads(2, 16))
    assert "window 2 x elastic threads, 2 to 16 (even)" in plain_line([last], elastic, 1.0)


def test_what_control_thinks_is_shown() -> None:
    decision = RecordedDecision(
        7, "mpc", Setting(2), Setting(4), Setting(3), "demand rises", StepFigures(9_000.0, 8_000.0, 10.0, 0.9, 0.25),
        Expectation(12_000.0, 15_000.0, 0.34, 0.0, None, ("utilization at or above 1",)), broken=True,
    )  # fmt: skip
    text = "\n".join(drawn(view_of(run_of(30), control=control_lines(decision, "slot 3 is hot")), 110))
    for wanted in (
        "9,000 tuples/s arrive, 8,000 served, latency 250 ms; the goal is broken", "12.0 k tuples/s, capacity 15.0 k",
        "latency 340 ms, models at their limit", "step 7: go from 2 replicas to 3 replicas", "demand rises",
        "slot 3 is hot",
    ):  # fmt: skip
        assert wanted in text
    held = dict(control_lines(replace(decision, decided=Setting(2), because="a level below is settling")))
    assert held["decision"] == "step 7: stay at 2 replicas (mpc wants 4 replicas)"
    assert dict(control_lines(replace(decision, broken_p95=True)))["p95"].startswith("above its bound")
    assert "p95" not in dict(control_lines(replace(decision, broken_p95=False)))
    assert "would go" in dict(control_lines(replace(decision, passive=True)))["decision"]
    unknown = dict(control_lines(replace(decision, broken=False, measured=False)))["measured"]
    assert unknown.endswith("; whether the goal is met is not measured")
    assert control_lines(None) == [("control", "waiting for the first control step")]
