"""What a user asks of control: understood, or refused in one sentence each."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from penstock.cli.options.control_options import ControlOptions, control_arguments
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Expectation, Hold
from penstock.control.goals.goal import Goal
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.live.frequency_dry_run import FrequencyDryRun
from penstock.control.live.frequency_setter import FrequencySetter, frequencies_within
from penstock.control.loop.control_request import ControlRequest, control_request, policy_of
from penstock.control.loop.loop import Record
from penstock.control.mpc.live import LiveMpc
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.control.routes.rebalance import DEFAULT_IMBALANCE
from penstock.control.rules.frequency import FREQUENCY
from penstock.control.setting import Grid, Setting
from penstock.errors import InputError
from penstock.host.frequency import Frequencies
from penstock.plan.configuration import Configuration
from tests.unit.control.loop.test_loop import step
from tests.unit.host.test_frequency import ACPI, machine, value


def test_a_goal_alone_is_enough_and_without_one_there_is_no_control() -> None:
    assert control_request(None) is None
    assert control_request(ps.throughput()) == ControlRequest(ps.throughput())


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        ({"goal": None, "policy": "ds2"}, ["policy says how to reach a goal, and there is none"]),
        ({"goal": None, "limits": ps.Limits(), "passive": True}, ["limits says how", "passive says how"]),
        ({"goal": "fast"}, ["a goal is ps.throughput() or ps.latency(p95_ms=...); got 'fast'"]),
        (
            {"goal": ps.throughput(), "policy": "mcp", "limits": ps.Limits(max_replicas=0), "price": ps.Price(-1.0)},
            [
                "core_hour of a price is a number of at least 0; got -1",
                "max_replicas of the limits is a whole number of at least 1; got 0",
                "there is no policy 'mcp'; there are: mpc",
            ],
        ),
        ({"goal": ps.throughput(), "price": ps.Price(0.0, 0.0)}, ["a price is above 0 for a core or for energy"]),
        ({"goal": ps.throughput(), "policy": object()}, ["a policy has name, start() and decide(state, seen); object"]),
        (
            {"goal": ps.throughput(), "payback": "eagre"},
            [
                "payback is one of calm, balanced, eager, or the seconds, above 0, within which a change pays; got "
                "'eagre'; did you mean 'eager'?"
            ],
        ),
        ({"goal": ps.throughput(), "payback": -2.0}, ["payback is one of calm, balanced, eager, or the sec"]),
        ({"goal": ps.throughput(), "payback": True}, ["payback is one of calm, balanced, eager, or the sec"]),
        (
            {"goal": ps.throughput(), "payback": "calm", "policy": "ds2"},
            ["payback is for policy 'mpc', whose weights follow from it; got policy 'ds2'"],
        ),
        ({"goal": None, "payback": "calm"}, ["payback says how to reach a goal, and there is none"]),
        (
            {"goal": ps.throughput(), "limits": ps.Limits(max_imbalance=0.0, frequency_dry_run=True)},
            [
                "max_imbalance of the limits is a number above 0 and at most 1, such as 0.05; got 0.0",
                "frequency_dry_run of the limits needs frequencies_ghz to choose from; got none",
            ],
        ),
        ({"goal": ps.throughput(), "limits": ps.Limits(frequencies_ghz=(2.0, 1.0))}, ["frequencies_ghz of the limits"]),
        (
            {"goal": ps.throughput(), "price": 0.05, "limits": {"max_replicas": 8}, "passive": "no"},
            [
                "a price is Price(core_hour=..., kwh=...); got 0.05; did you mean Price(core_hour=0.05)?",
                "limits are Limits(...), such as Limits(max_replicas=8); got {'max_replicas': 8}",
                "passive is True or False; got 'no'",
            ],
        ),
        ({"goal": ps.throughput(), "price": "cheap"}, ["a price is Price(core_hour=..., kwh=...); got 'cheap'"]),
        (
            {"goal": ps.throughput(), "price": ps.Price(core_hour=math.inf, kwh="0.3")},  # type: ignore[arg-type]
            [
                "core_hour of a price is a number of at least 0; got inf",
                "kwh of a price is a number of at least 0; got '0.3'",
            ],
        ),
        (
            {"goal": Goal(p95_s=math.nan, due_s=0.0, served_ratio=2.0), "price": ps.Price(math.nan)},
            [
                "core_hour of a price is a number of at least 0; got nan",
                "a throughput goal is a share of the tuples, above 0 and at most 1; got 2.0",
                "due_s of a goal is a number of seconds above 0; got 0.0",
                "p95_s of a goal is a number of seconds above 0; got nan",
            ],
        ),
        (
            {"goal": ps.throughput(), "limits": ps.Limits(frequencies_ghz=2.0, frequency_dry_run="no")},  # type: ignore[arg-type]
            [
                "frequencies_ghz of the limits are numbers above 0 that ascend, such as (1.2, 2.0); got 2.0",
                "frequency_dry_run of the limits is True or False; got 'no'",
            ],
        ),
        (
            {"goal": ps.throughput(), "limits": ps.Limits(frequencies_ghz=("1.2", math.nan))},  # type: ignore[arg-type]
            ["frequencies_ghz of the limits are numbers above 0 that ascend"],
        ),
        (
            {"goal": ps.throughput(), "limits": ps.Limits(max_replicas="8", max_imbalance=math.nan)},  # type: ignore[arg-type]
            ["max_replicas of the limits is a whole number of at least 1; got '8'", "max_imbalance of the limits is"],
        ),
    ],
)
def test_everything_that_is_wrong_is_told_together(arguments: dict[str, object], sentences: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        control_request(**arguments)  # type: ignore[arg-type]
    lines = str(raised.value).splitlines()
    assert len(lines) == len(sentences)
    assert all(line.startswith(sentence) for line, sentence in zip(lines, sentences, strict=True))


def test_options_become_arguments() -> None:
    options = ControlOptions(
        "latency p95_ms=500", "mpc", ("core_hour=0.04", "kwh=0.3"), ("max_replicas=8", "frequencies_ghz=1.2,1.6"), True,
        "calm",
    )  # fmt: skip
    assert control_arguments(options) == {
        "goal": ps.latency(p95_ms=500),
        "policy": "mpc",
        "payback": "calm",
        "price": ps.Price(0.04, 0.3),
        "limits": ps.Limits(max_replicas=8, frequencies_ghz=(1.2, 1.6)),
        "passive": True,
    }
    assert options.arguments == [
        "--goal", "latency p95_ms=500", "--policy", "mpc", "--price", "core_hour=0.04", "--price", "kwh=0.3",
        "--payback", "calm", "--limit", "max_replicas=8", "--limit", "frequencies_ghz=1.2,1.6", "--passive",
    ]  # fmt: skip
    assert control_arguments(ControlOptions())["goal"] is None


@pytest.mark.parametrize(
    ("options", "sentences"),
    [
        (ControlOptions("latncy p95_ms=5"), ["--goal is 'throughput', 'latency p95_ms=500' or 'latency mean_ms=300'; "
                                             "got 'latncy p95_ms=5'; did you mean 'latency'?"]),
        (ControlOptions("latency"), ["a latency goal needs a bound; give p95_ms or mean_ms"]),
        (ControlOptions("latency p95=5"), ["--goal latency takes p95_ms=..., mean_ms=...; got 'p95=5'; did you mean"]),
        (ControlOptions("latency p95_ms=soon"), ["--goal latency p95_ms is a number; got 'soon'"]),
        (ControlOptions(policy="ds2"), ["--policy, --price, --payback, --limit and --passive say how to reach"]),
        (
            ControlOptions("throughput served_ratio=2", "ds3", ("core=1",), ("max_replicas=x", "replicas=2")),
            [
                "a throughput goal is a share of the tuples, above 0 and at most 1; got 2.0",
                "--price takes core_hour=..., kwh=...; got 'core=1'",
                "--limit max_replicas is a number; got 'x'",
                "--limit takes min_replicas=...",
                "there is no policy 'ds3'; there are: mpc",
            ],
        ),
        (
            ControlOptions("throughput", limits=("max_imbalance=much", "frequency_dry_run=perhaps")),
            ["--limit max_imbalance is a number; got 'much'", "--limit frequency_dry_run is yes or no; got 'perhaps'"],
        ),
        (ControlOptions("throughput", limits=("max_imbalance=2",)), ["max_imbalance of the limits is a number"]),
        (ControlOptions("throughput", prices=("kwh=nan",)), ["--price kwh is a number; got 'nan'"]),
        (ControlOptions("throughput", payback="0"), ["payback is one of calm, balanced, eager, or"]),
        (ControlOptions(payback="soon", limits=("max_replicas=0",)), [
            "--policy, --price, --payback, --limit and --passive say how to reach a goal",
            "max_replicas of the limits is a whole number of at least 1; got 0", "payback is one of calm",
        ]),
        (ControlOptions("throughput", limits=("max_replicas=1.5",)), ["--limit max_replicas is a whole number"]),
        (ControlOptions("throughput", limits=("max_replicas=0",)), ["max_replicas of the limits is a whole number"]),
        (ControlOptions("throughput", limits=("max_replicas=4", "max_replicas=8")), [
            "--limit names 'max_replicas' more than once"]),
        (ControlOptions("latency p95_ms=5 p95_ms=6", prices=("kwh=1 kwh=2",)), [
            "--goal latency names 'p95_ms' more than once", "--price names 'kwh' more than once"]),
        (ControlOptions("throughput", "ds2:interval_s=5", ("core_hour=1",)), [
            "price is for policy 'mpc', whose weights follow from it; got policy 'ds2:interval_s=5'"]),
    ],
)  # fmt: skip
def test_wrong_options_are_told_together(options: ControlOptions, sentences: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        control_arguments(options)
    lines = str(raised.value).splitlines()
    assert len(lines) == len(sentences), lines
    assert all(line.startswith(sentence) for line, sentence in zip(lines, sentences, strict=True)), lines


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_named_policy_keeps_to_the_grid(name: str) -> None:
    grid = Grid((1, 2, 3), caps_tuples=(500, 1000))
    policy = policy_of(ControlRequest(ps.latency(p95_ms=500), policy=name), grid)
    assert policy.name
    if isinstance(policy, LiveMpc):
        assert policy.mpc.grid == grid


def test_the_grid_follows_the_limits() -> None:
    assert grid_within(Limits(), 4, 1000).replicas == (1, 2, 3, 4)
    assert grid_within(Limits(min_replicas=2, max_replicas=3), 16, 1000).replicas == (2, 3)
    assert grid_within(Limits(max_micro_batch_tuples=2048), 2, 5000).caps_tuples == (512, 2048)
    assert grid_within(Limits(frequencies_ghz=(1.2, 2.0)), 2, 1000, (1.2, 2.0)).frequencies_ghz == (1.2, 2.0)
    listed = Limits(frequencies_ghz=[1.2, 2.0])  # type: ignore[arg-type]
    assert listed.problems() == ()
    assert grid_within(listed, 2, 1000, listed.frequencies_ghz).frequencies_ghz == (1.2, 2.0)


def test_frequencies_are_set_and_given_back(tmp_path: Path) -> None:
    found, sentence = frequencies_within((1.2, 1.5), is_local=True, root=machine(tmp_path, ACPI))
    assert isinstance(found, Frequencies)
    assert sentence is None
    setter = FrequencySetter(found)
    setter.prepare(Configuration((), frequency_ghz=1.5))
    assert value(tmp_path, 0, "scaling_setspeed") == "1500000"
    setter.close()
    assert value(tmp_path, 0, "scaling_governor") == "ondemand"


def test_a_machine_without_frequencies_is_told_once_in_a_sentence(tmp_path: Path) -> None:
    assert frequencies_within((), is_local=True, root=tmp_path) == (None, None)
    found, sentence = frequencies_within((1.2,), is_local=True, root=tmp_path)
    assert found is None
    assert sentence is not None
    assert "no cpufreq" in sentence
    assert sentence.endswith("cores are left alone, and watts are estimated")
    assert "local master only" in str(frequencies_within((1.2,), is_local=False, root=tmp_path)[1])
    with pytest.raises(InputError, match=r"are among those of this machine, 1.2, .*; got 9"):
        frequencies_within((9.0,), is_local=True, root=machine(tmp_path, ACPI))


def test_limits_of_balance_and_dry_runs_are_options() -> None:
    options = ControlOptions("throughput", limits=("max_imbalance=0.2", "frequencies_ghz=1.2", "frequency_dry_run=yes"))
    limits = ps.Limits(frequencies_ghz=(1.2,), max_imbalance=0.2, frequency_dry_run=True)
    assert control_arguments(options)["limits"] == limits
    assert ps.Limits().max_imbalance == DEFAULT_IMBALANCE == 0.05


def test_mpc_knows_what_balancing_leaves() -> None:
    policy = policy_of(ControlRequest(ps.throughput(), limits=ps.Limits(max_imbalance=0.4)), Grid((1, 2, 3, 4)))
    assert isinstance(policy, LiveMpc)
    seen = step(1, replicas=4, imbalance=1.9, load_by_slot=(1.0,) * 8)
    above = [
        replace(policy.mpc, allowed_imbalance=allowed).learn(policy.start(), seen).imbalance - 1
        for allowed in (policy.mpc.allowed_imbalance, 0.05)
    ]
    assert above[0] == pytest.approx(0.4 / 0.05 * above[1])
    assert above[1] > 0


def test_cores_left_alone_count_as_the_fastest_that_may_be_chosen() -> None:
    grid = Grid((1, 2), (1.2, 1.6))
    policy = policy_of(ControlRequest(ps.throughput()), grid)
    assert isinstance(policy, LiveMpc)
    alone, fixed = step(1), replace(step(1), setting=replace(step(1).setting, frequency_ghz=1.6))
    cycles = [policy.mpc.learn(policy.start(), seen).gigacycles for seen in (alone, fixed)]
    assert cycles == pytest.approx([0.002 * 1.6] * 2)


def test_a_dry_run_tells_what_would_be_written_and_leaves_cores_alone(tmp_path: Path) -> None:
    root = machine(tmp_path, ACPI)
    frequencies, _ = frequencies_within((1.2, 1.5), is_local=True, dry_run=True, root=root)
    assert frequencies is not None
    told = FrequencyDryRun(frequencies)
    records = [_wanting(1, 1.5), _wanting(2, 1.5), _wanting(3, 1.2), _wanting(4, None)]
    first, second, third, fourth = (told.sentences(record) for record in records)
    cpus = root / "sys/devices/system/cpu"
    assert first == [
        f"dry run: step 1 at 1.5 GHz would write userspace to scaling_governor of 2 cores, {cpus}/cpu0/cpufreq to "
        f"{cpus}/cpu1/cpufreq",
        f"dry run: step 1 at 1.5 GHz would write 1500000 to scaling_setspeed of 2 cores, {cpus}/cpu0/cpufreq to "
        f"{cpus}/cpu1/cpufreq",
    ]
    assert (second, fourth) == ([], [])
    assert "step 3 at 1.2 GHz would write 1200000" in third[1]
    assert value(root, 0, "scaling_governor") == "ondemand"
    assert value(root, 1, "scaling_setspeed") == "<unsupported>"


def _wanting(number: int, frequency_ghz: float | None) -> Record:
    seen = step(number)
    setting = replace(seen.setting, frequency_ghz=frequency_ghz)
    wanted = Hold("enough") if frequency_ghz is None else Change(setting, "cheaper")
    return Record(seen, wanted, wanted, None)


def test_a_decision_without_its_frequency_keeps_the_rest() -> None:
    now = Setting(2)
    wanted = Change(Setting(3, 1.2), "more", Expectation(10.0, 20.0, 0.5, watts_estimated=4.0))
    seen = ControlStep(1, 1.0, 1.0, now, 10.0, 10.0, 0.0, 0.5, frequency_fixed=True)
    assert FREQUENCY(seen, wanted) == Change(Setting(3), "more", Expectation(10.0))
    assert FREQUENCY(replace(seen, setting=Setting(3)), wanted) == Hold("more", Expectation(10.0))
    assert FREQUENCY(seen, Hold("enough")) == Hold("enough")
    assert FREQUENCY(replace(seen, frequency_fixed=False), wanted) == wanted
