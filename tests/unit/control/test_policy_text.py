"""Policies by name with parameters: understood, or refused with everything that is wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli import main
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change
from penstock.control.goals.goal import latency, throughput
from penstock.control.loop.control_request import ControlRequest, policy_of
from penstock.control.loop.named_policies import named_policy
from penstock.control.mpc.live import LiveMpc
from penstock.control.mpc.presets import ALPHAS, paper_strategy
from penstock.control.policy_parameters import PARAMETERS_BY_POLICY, POLICY_NAMES, parameters_text
from penstock.control.policy_text import policy_problems, policy_text
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.setting import Grid, Setting
from penstock.errors import InputError
from tests.checkout import ROOT

GRID = Grid((1, 2, 3, 4))
RIVALS = [name for name in POLICY_NAMES if name != "mpc" and name.title() not in ALPHAS]


def made(text: str, speed_up: float = 1.0) -> Any:
    return named_policy(text, throughput(), GRID, speed_up)


@pytest.mark.parametrize("name", RIVALS)
def test_every_setting_of_a_rival_can_be_given_and_has_the_default_that_is_told(name: str) -> None:
    plain, known = made(name), PARAMETERS_BY_POLICY[name]
    names = {own.name for own in dataclasses.fields(plain)} - {"bounds", "name"}
    assert {setting.name for setting in known} == names
    for setting in known:
        if setting.default != "max_replicas":
            assert setting.value(setting.default) == getattr(plain, setting.name)
        else:
            assert getattr(plain, setting.name) == 4


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_defaults_in_words_give_the_plain_policy(name: str) -> None:
    text = f"{name}:{parameters_text(name)}".replace("max_replicas", "4")
    spelt, plain = made(text, 10.0), made(name, 10.0)
    if any(own.name == "name" for own in dataclasses.fields(plain)):
        assert spelt.name == text.replace(", ", ",")
        spelt = dataclasses.replace(spelt, name=plain.name)
    assert repr(spelt) == repr(plain)


def test_the_papers_variants_have_names() -> None:
    assert made("thresholds-0.95").name == made("thresholds:high=0.95").name == "thresholds 0.95/0.8"
    found = named_policy("lat-power:horizon=3,switching=no,load=random_walk", latency(mean_ms=700), GRID)
    wanted = paper_strategy("Lat-Power", "random_walk", switching=False, horizon=3, threshold_s=0.7)
    assert repr(found) == repr(dataclasses.replace(wanted, grid=GRID, name=found.name))
    assert wanted.weights.alpha == 2
    assert made("th-power").weights.alpha == 300


def test_strategies_by_core_keep_the_highest_frequency() -> None:
    grid = Grid((1, 2), (1.2, 1.6))
    assert named_policy("th-power", throughput(), grid).grid == grid  # type: ignore[attr-defined]
    assert named_policy("th-node", throughput(), grid).grid == Grid((1, 2), (1.6,))  # type: ignore[attr-defined]


def test_settings_follow_limits_and_speed_up() -> None:
    flink = made("flink-autoscaler:target=0.8,window_s=600", 100.0)
    assert (flink.target, flink.window_s, flink.catch_up_s, flink.bounds.highest) == (0.8, 6.0, 18.0, 4)
    assert flink.name == "flink-autoscaler:target=0.8,window_s=600"
    live = policy_of(ControlRequest(throughput(), policy="mpc:horizon=4"), GRID)
    assert isinstance(live, LiveMpc)
    assert (live.mpc.horizon, live.mpc.grid, live.name) == (4, GRID, "mpc:horizon=4")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("flink:target=1", ["there is no policy 'flink'; there are: mpc, static"]),
        ("thresholds:", ["policy 'thresholds' takes high=..., low=...; got ''"]),
        (
            "flink-autoscaler:taget=0.8,window_s=0,most_down=2,boundary",
            [
                "policy 'flink-autoscaler' takes target=..., boundary=..., window_s=..., stabilisation_s=..., "
                "scale_down_delay_s=..., restart_s=..., catch_up_s=..., most_down=...; got 'taget=0.8'; "
                "did you mean 'target'?",
                "policy 'flink-autoscaler' takes",
                "window_s of policy 'flink-autoscaler' is a number above 0; got '0'",
                "most_down of policy 'flink-autoscaler' is a number of at least 0 and at most 1; got '2'",
            ],
        ),
        (
            "th-node:horizon=1.5,switching=maybe,load=reel",
            [
                "horizon of policy 'th-node' is a whole number of at least 1 and at most 100; got '1.5'",
                "switching of policy 'th-node' is yes or no; got 'maybe'",
                "load of policy 'th-node' is random_walk or real; got 'reel'; did you mean 'real'?",
            ],
        ),
        ("ds2:headroom=2,headroom=3", ["headroom of policy 'ds2' is given once; got it again as 'headroom=3'"]),
        ("ds2:headroom=nan", ["headroom of policy 'ds2' is a number above 0; got 'nan'"]),
        ("ds2:headroom=inf", ["headroom of policy 'ds2' is a number above 0; got 'inf'"]),
        ("thresholds:high=0.5", ["low of policy 'thresholds' is at most high, 0.5; got 0.8"]),
    ],
)
def test_all_mistakes_are_told_at_once(text: str, sentences: list[str]) -> None:
    lines = policy_problems(text)
    assert len(lines) == len(sentences), lines
    assert all(line.startswith(sentence) for line, sentence in zip(lines, sentences, strict=True)), lines
    with pytest.raises(InputError):
        made(text)


@given(st.sampled_from(POLICY_NAMES), st.text("abc=,:.019 _", max_size=20))
def test_any_text_is_understood_or_refused_in_sentences(name: str, rest: str) -> None:
    problems = policy_problems(f"{name}:{rest}")
    if not problems:
        assert policy_problems(policy_text(f"{name}:{rest}").text) == []
    assert all("policy '" in problem for problem in problems)


def test_a_policy_is_a_threshold_rule_whatever_it_is_called() -> None:
    assert isinstance(made("thresholds-0.95:low=0.5"), Thresholds)


def test_docs_and_help_list_every_policy_with_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    docs = (ROOT / "docs" / "control.md").read_text()
    assert [name for name in POLICY_NAMES if f"| `{name}` | {parameters_text(name)} |" not in docs] == []
    for command in ("run", "replay"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert [name for name in POLICY_NAMES if f"{name} {parameters_text(name)}" not in told] == []


@pytest.mark.parametrize("service_s", [8e-6, 0.001, 0.05])
def test_strategies_by_throughput_find_enough_replicas_however_long_a_tuple_takes(service_s: float) -> None:
    policy = named_policy("th-node:switching=no", throughput(), Grid(tuple(range(1, 13))))
    rate = 7.5 / service_s  # the work of seven replicas and a half
    state = policy.start()
    for number in range(1, 6):
        seen = ControlStep(
            number, float(number), 1.0, Setting(2), rate, 2 / service_s, 0.0, 1.0, micro_batch_s=0.5, overhead_s=0.0,
            service_s=service_s,
        )  # fmt: skip
        state, decision = policy.decide(state, seen)
    assert isinstance(decision, Change)
    assert decision.setting.replicas == 8
