"""How `penstock run` says that it ended, and the command that goes on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import penstock as ps
from penstock.cli import WRONG, main
from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.cli.options.control_options import ControlOptions
from penstock.cli.options.settings import settings_of
from penstock.cli.options.settings_within_limits import as_highest_cap, limit_problems
from penstock.cli.run import RunRequest, _checked, ending_lines, resume_command
from penstock.control.goals.limits import Limits
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint

WISH = RunRequest("my app.py", "local[2]", None, 30.0, ("window.replicas=2", "block_rows=100"))
CHECKPOINT = Path("out/check point")


def test_the_command_to_go_on_has_all_that_matters_and_survives_a_shell() -> None:
    assert shlex.split(resume_command(WISH, CHECKPOINT)) == [
        "penstock", "run", "my app.py", "--master", "local[2]", "--checkpoint", "out/check point",
        "--set", "window.replicas=2", "--set", "block_rows=100",
    ]  # fmt: skip


@pytest.mark.parametrize(("ending", "told"), [("interrupted", "stopped by Ctrl-C"), ("time is over", "after 30 s")])
def test_a_run_that_was_stopped_says_where_to_go_on(ending: str, told: str) -> None:
    first, second = ending_lines(ending, True, WISH, CHECKPOINT)  # type: ignore[arg-type]
    assert told in first
    assert second.strip() == resume_command(WISH, CHECKPOINT)


def test_a_finished_run_and_a_finished_checkpoint_say_so() -> None:
    assert ending_lines("done", True, WISH, CHECKPOINT) == [
        "finished: every source is exhausted; the checkpoint is out/check point"
    ]
    assert ending_lines("done", False, WISH, CHECKPOINT) == [
        "the checkpoint out/check point is finished: every source was exhausted before; there is nothing to do"
    ]


def test_the_command_to_go_on_keeps_the_goal() -> None:
    request = RunRequest(
        "app.py", "local[*]", None, None, (), control=ControlOptions("throughput", limits=("max_replicas=4",))
    )
    assert shlex.split(resume_command(request, CHECKPOINT))[-4:] == [
        "--goal",
        "throughput",
        "--limit",
        "max_replicas=4",
    ]


def test_the_command_to_go_on_shows_the_run_as_before() -> None:
    request = RunRequest(
        "app.py", "local[*]", None, None, (), dashboard=True, journal_mb=64, dead_letter_samples=False, metrics="9100"
    )
    assert shlex.split(resume_command(request, CHECKPOINT))[-6:] == [
        "--dashboard", "--journal-mb", "64", "--no-dead-letter-samples", "--metrics", "9100",
    ]  # fmt: skip


def test_wrong_words_of_options_are_reported_together(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "penstock.cli.demo.vwap:vwap_per_ticker", "--at-end", "never", "--on-error", "ignore",
              "--journal-mb", "0"])  # fmt: skip
    assert ended.value.code == WRONG
    assert capsys.readouterr().err.splitlines() == [
        "--on-error is dead_letter or fail; got 'ignore'",
        "--at-end is hold or fire; got 'never'",
        "--journal-mb is at least 1; got 0",
    ]


def test_everything_wrong_with_a_goal_is_told_at_once_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "penstock.cli.demo.vwap:vwap_per_ticker", "--goal", "latency p95=500", "--policy", "mcp",
              "--limit", "max_replicas=none", "--set", "windo.replicas=2"])  # fmt: skip
    assert ended.value.code == WRONG
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "--set windo.replicas: there is no operator 'windo'",
        "--goal latency takes p95_ms=..., mean_ms=...",
        "--limit max_replicas is a number",
        "there is no policy 'mcp'",
    ]


def test_settings_outside_the_limits_are_told_with_the_rest_before_spark_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "penstock.cli.demo.vwap:vwap_per_ticker", "--goal", "throughput", "--limit", "max_replicas=4",
              "--limit", "min_replicas=2", "--limit", "max_micro_batch_tuples=500", "--set", "window.replicas=16",
              "--set", "trades.replicas=1", "--set", "micro_batch_tuples=1000", "--duration", "-1"])  # fmt: skip
    assert ended.value.code == WRONG
    assert capsys.readouterr().err.splitlines() == [
        "--set window.replicas is at most max_replicas of the limits, 4; got 16",
        "--set trades.replicas is at least min_replicas of the limits, 2; got 1",
        "--set micro_batch_tuples is at most max_micro_batch_tuples of the limits, 500; got 1000",
        "--duration is more than 0 seconds; got -1",
    ]


def test_a_cap_that_is_set_beside_a_goal_is_the_highest_of_the_limits() -> None:
    graph = vwap_per_ticker().graph
    settings = settings_of(["micro_batch_tuples=1000", "block_rows=50"], graph)
    rest, limits = as_highest_cap(settings, None)
    assert (rest.sizes, limits) == ({"block_rows": 50}, Limits(max_micro_batch_tuples=1000))
    assert as_highest_cap(settings, Limits(max_replicas=3, max_micro_batch_tuples=5000))[1] == Limits(
        max_replicas=3, max_micro_batch_tuples=1000
    )
    without = settings_of(["block_rows=50"], graph)
    assert as_highest_cap(without, None) == (without, None)


def test_an_element_over_the_whole_stream_may_be_set_to_its_one_replica() -> None:
    graph = vwap().graph
    settings = settings_of(["window.replicas=1"], graph)
    assert limit_problems(settings, Limits(min_replicas=3), graph) == []


@pytest.mark.parametrize(("passive", "cap"), [(False, 1000), (True, None)])
def test_settings_are_left_alone_where_control_changes_nothing(passive: bool, cap: int | None) -> None:
    control = ControlOptions("throughput", limits=("max_replicas=4",), passive=passive)
    texts = ("micro_batch_tuples=1000",) + (("window.replicas=16",) if passive else ())
    settings, found = _checked(
        RunRequest("app.py", "local[*]", None, None, texts, control=control), vwap_per_ticker().graph
    )
    assert found["limits"] == Limits(max_replicas=4, max_micro_batch_tuples=cap)
    assert settings.sizes == ({"micro_batch_tuples": 1000} if passive else {})


@pytest.mark.parametrize(("option", "what"), [("--checkpoint", "the checkpoint"), ("--dead-letters", "dead_letters")])
def test_folders_of_other_file_systems_are_refused_before_spark_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    (tmp_path / "app.py").write_text(
        "import penstock as ps\napp = ps.Application('a')\napp.source('in', ps.sources.trace(total=9)).sink('out')\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(["run", "app.py", option, "s3://bucket/x"])
    assert ended.value.code == WRONG
    sentence = "is a path on this machine; got 's3://bucket/x', and s3: is not supported; give a local or mounted"
    assert f"{what} {sentence}" in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


def test_durable_and_reset_state_reach_the_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A master that does not answer ends the run once the checkpoint has its application, before Spark starts."""
    app = vwap_of(ps.sources.trace("unbounded", total=1))
    (tmp_path / "app.json").write_text(app.to_json())
    run = ["run", str(tmp_path / "app.json"), "--master", "spark://127.0.0.1:1"]
    for name, options in (("plain", []), ("durable", ["--durable"])):
        with pytest.raises(SystemExit) as ended:
            main([*run, "--checkpoint", str(tmp_path / name), *options])
        assert ended.value.code == WRONG
        fixed = Checkpoint(tmp_path / name).fix(app.graph, slots=None, now_s=0.0, dumps=dumps_for_workers)
        assert fixed.durable is (name == "durable")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*run, "--checkpoint", str(tmp_path / "plain"), "--reset-state", "no such"])
    assert ended.value.code == WRONG
    assert "has no operator 'no such' whose state could be reset" in capsys.readouterr().err


def vwap_of(source: ps.sources.SourcePort) -> ps.Application:
    app = ps.Application("vwap")
    window = ps.tumbling(count=10, per_group=True)
    app.source("quotes", source).aggregate("window", by="ticker", window=window, emit={"n": "count()"}).sink(
        "out", ps.sinks.discard()
    )
    return app
