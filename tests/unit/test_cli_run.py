"""How `penstock run` says that it ended, and the command that goes on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from penstock.cli import WRONG, main
from penstock.cli.control_options import ControlOptions
from penstock.cli.run import RunWish, ending_lines, resume_command

WISH = RunWish("my app.py", "local[2]", None, 30.0, ("window.replicas=2", "block_rows=100"))
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
    wish = RunWish(
        "app.py", "local[*]", None, None, (), control=ControlOptions("throughput", limits=("max_replicas=4",))
    )
    assert shlex.split(resume_command(wish, CHECKPOINT))[-4:] == ["--goal", "throughput", "--limit", "max_replicas=4"]


def test_everything_wrong_with_a_goal_is_told_at_once_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "penstock.apps.vwap:vwap_per_ticker", "--goal", "latency p95=500", "--policy", "mcp",
              "--limit", "max_replicas=none", "--set", "windo.replicas=2"])  # fmt: skip
    assert ended.value.code == WRONG
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "--set windo.replicas: there is no operator 'windo'",
        "--goal latency takes p95_ms=..., mean_ms=...",
        "--limit max_replicas is a number",
        "there is no policy 'mcp'",
    ]
