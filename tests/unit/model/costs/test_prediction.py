"""Predictions: sums written out, the highest rate, the bottleneck, nodes; and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.model.costs.profile_file import profile_from_json
from penstock.model.costs.resource_function import BAND_QUANTILE
from tests.reference.costs import line
from tests.unit.model.costs.test_profile_file import by_hand

PROFILE = profile_from_json(by_hand())


def test_an_element_is_the_sum_of_its_parts() -> None:
    q = PROFILE.predict({"source": 5e4}, fusion=[["a", "b"], ["c"]])
    own = q.elements["a"]
    assert own.parts == pytest.approx({
        "fixed": 0.02, "envelopes": 0.0, "operators": 5e4 * 2e-6 + 2.5e4 * 1e-6, "send": 2.5e4 / 1e6,
        "receive": 0.5 * 5e4 / 1e6,
    })  # fmt: skip
    assert own.cpu_cores == pytest.approx(sum(own.parts.values()))
    assert (own.tuples_in_s, own.tuples_out_s) == pytest.approx((5e4, 2.5e4))
    half = BAND_QUANTILE * 1e-7 * 5e4
    assert (own.low, own.high) == pytest.approx((own.cpu_cores - half, own.cpu_cores + half))
    assert list(q.elements) == ["a", "c"]
    assert q.driver_cpu_cores == pytest.approx(0.1)


def test_fusing_saves_what_both_ends_of_an_exchange_cost() -> None:
    apart = PROFILE.predict({"source": 5e4})
    fused = PROFILE.predict({"source": 5e4}, fusion=[["a", "b", "c"]])
    saved = 0.04 + 2 * 2.5e4 * 1.5 / 1e6
    assert apart.cpu_cores - fused.cpu_cores == pytest.approx(saved)


def test_the_batch_takes_its_interval_at_the_highest_rate() -> None:
    for fusion in (None, [["a", "b"], ["c"]], [["a", "b", "c"]]):
        q = PROFILE.predict({"source": 5e4}, fusion=fusion, micro_batch_s=2.0)
        at = PROFILE.predict({"source": q.max_rate_tuples_s}, fusion=fusion, micro_batch_s=2.0)
        assert at.batch_time_s == pytest.approx(2.0, rel=1e-6)


def test_the_bottleneck_is_the_longest_stage() -> None:
    q = PROFILE.predict({"source": 5e4})
    assert q.bottleneck == max(q.elements, key=lambda name: q.elements[name].cpu_cores)


def test_replicas_shorten_a_stage_until_cores_run_out() -> None:
    one = PROFILE.predict({"source": 1e5})
    three = PROFILE.predict({"source": 1e5}, replicas={"a": 3}, cores=2)
    task_s = three.elements["a"].cpu_cores / 3
    assert three.stage_s["a"] == pytest.approx(2 * task_s)
    assert three.elements["a"].cpu_cores == pytest.approx(one.elements["a"].cpu_cores + 2 * 0.02)


def test_envelopes_are_counted_by_replica() -> None:
    own = replace(PROFILE, fixed=ps.costs.FixedCosts(0.0, 0.0, 1e-3, 1000))
    q = own.predict({"source": 5e3}, fusion=[["a", "b", "c"]], replicas={"a": 2})
    assert q.elements["a"].parts["envelopes"] == pytest.approx(1e-3 * 2 * 3)


def test_a_faster_node_shifts_the_curve() -> None:
    slow = PROFILE.predict({"source": 5e4})
    fast = PROFILE.predict({"source": 5e4}, node=ps.costs.Node("n", speed=2.0))
    mixed = PROFILE.predict({"source": 5e4}, node=ps.costs.Node("n", speed_by_class={"functor": 4.0}))
    assert fast.elements["a"].cpu_cores == pytest.approx(slow.elements["a"].cpu_cores / 2)
    assert mixed.elements["a"].parts["operators"] == pytest.approx(slow.elements["a"].parts["operators"] / 4)
    assert mixed.elements["c"].parts["operators"] == pytest.approx(slow.elements["c"].parts["operators"])


def test_the_speed_of_the_profiles_own_node_counts_too() -> None:
    own = replace(PROFILE, speed={"functor": 2.0, "aggregate": 1.0}, node="here")
    q = own.predict({"source": 5e4})
    assert q.elements["a"].parts["operators"] == pytest.approx(5e4 * 2e-6 / 2)
    assert own.predict({"source": 5e4}, node="here") == q


def test_a_measured_node_is_found_by_its_name() -> None:
    own = replace(PROFILE, speeds_by_node={"big": {"functor": 2.0, "aggregate": 2.0, "communication": 2.0}})
    slow, fast = own.predict({"source": 5e4}), own.predict({"source": 5e4}, node="big")
    assert fast.cpu_cores == pytest.approx(slow.cpu_cores / 2)


def test_neighbours_raise_cpu_by_the_learned_factor() -> None:
    own = replace(PROFILE, contention=0.25)
    q = own.predict({"source": 5e4}, neighbours_cores=2.0)
    assert q.elements["a"].cpu_cores == pytest.approx(1.5 * PROFILE.predict({"source": 5e4}).elements["a"].cpu_cores)


def test_two_sources_and_a_join_are_wired_by_order() -> None:
    join = replace(PROFILE.operator("a"), name="j", cpu=line(1e-6, 2), outputs={"j": line(0.1, 2)})
    profile = replace(PROFILE, operators=(join, replace(PROFILE.operator("c"), name="s")))
    q = profile.predict({"left": 1e4, "right": 5e3})
    assert q.elements["j"].tuples_in_s == pytest.approx(1.5e4)
    assert q.elements["s"].tuples_in_s == pytest.approx(1.5e3)


def test_a_source_in_the_profile_receives_nothing() -> None:
    source = replace(PROFILE.operator("a"), name="source", inputs=(), outputs={"source": line(1.0)})
    profile = replace(PROFILE, operators=(source, *PROFILE.operators))
    own = profile.predict({"source": 5e4}).elements["source"]
    assert own.parts["receive"] == 0.0
    assert own.parts["send"] == pytest.approx(0.05)


def test_nothing_costs_nothing() -> None:
    free = replace(PROFILE.operator("c"), cpu=line(0.0))
    profile = ps.Profile((free,))
    assert profile.predict({"source": 0.0}).max_rate_tuples_s == math.inf
    busy = replace(profile, fixed=ps.costs.FixedCosts(2.0))
    assert busy.predict({"source": 1.0}).max_rate_tuples_s == 0.0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rates": {}}, "rates of predict is a mapping with tuples/s for each source; got {}"),
    ({"rates": {"source": -1}}, "the rate of 'source' is a number of at least 0, in tuples/s; got -1"),
    ({"rates": {"source": 1, "other": 2}}, "there is no source 'other'; the sources are: source"),
    ({"fusion": [["a", "x"]]}, "the fusion names operator 'x', which the profile does not have; it has: a, b, c"),
    ({"fusion": [["a", "b"], ["b"]]}, "the fusion names operator 'b' twice"),
    ({"fusion": [["a", "c"]]}, "data would flow in a circle between the elements a, b"),
    ({"node": "big"}, "nobody measured the node 'big'; the profile has: its own node alone"),
    ({"node": {"functor": 2.0}}, "nobody measured how fast the node runs operators of class aggregate"),
    ({"node": 5}, "a node is one of ps.costs.nodes\\(...\\), its name, or a table of speeds"),
    ({"micro_batch_s": 0}, "micro_batch_s of Profile.predict is a number above 0; got 0"),
    ({"replicas": {"x": 2}}, "replicas names element 'x', which is none; the elements are: a, b, c"),
    ({"fusion": 5}, "fusion of Profile.predict is a list of lists of operators, or None; got 5"),
    ({"fusion": "ab"}, "fusion of Profile.predict is a list of lists of operators, or None; got 'ab'"),
    ({"fusion": [5]}, "fusion of Profile.predict is a list of lists of operators, or None; got \\[5\\]"),
    ({"fusion": [[["a"]]]}, "the fusion names operator \\['a'\\], which the profile does not have"),
    ({"replicas": 2}, "replicas of Profile.predict is a mapping of whole numbers by element, or None; got 2"),
    ({"cores": 0}, "cores of Profile.predict is a whole number of at least 1, or None; got 0"),
    ({"cores": "2"}, "cores of Profile.predict is a whole number of at least 1, or None; got '2'"),
    ({"replicas": {"a": 0}}, "an element has at least one replica; got 0 for 'a'"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED)
def test_what_cannot_be_predicted_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        PROFILE.predict(**{"rates": {"source": 5e4}, **given})


def test_a_whole_stream_operator_has_one_replica() -> None:
    own = replace(PROFILE, operators=(replace(PROFILE.operator("a"), scope="stream"),))
    with pytest.raises(
        InputError, match="element 'a' has one replica, since its operators need the whole stream; got 2"
    ):
        own.predict({"source": 1.0}, replicas={"a": 2})


def test_rates_that_lack_a_source_are_refused() -> None:
    join = replace(PROFILE.operator("a"), name="j", cpu=line(1e-6, 2), outputs={}, inputs=("l", "r"))
    with pytest.raises(InputError, match="the rates lack source 'r', which operator 'j' reads"):
        ps.Profile((join,)).predict({"l": 1.0})
    with pytest.raises(InputError, match="operator 'j' needs 2 unread streams before it; there are: l"):
        ps.Profile((replace(join, inputs=None),)).predict({"l": 1.0})


def in_file(folder: Path, text: str) -> ps.costs.Nodes:
    (folder / "nodes.toml").write_text(text)
    return ps.costs.nodes(folder / "nodes.toml")


def test_a_node_whose_speed_nobody_measured_or_gave_is_refused(tmp_path: Path) -> None:
    silent = in_file(tmp_path, '[[node]]\nname = "big"\ncores = 4')
    sentence = "node 'big': its speed for aggregate, functor is unknown, since nobody measured it and its file gives"
    with pytest.raises(InputError, match=sentence):
        PROFILE.predict({"source": 5e4}, node=silent)
    with pytest.raises(InputError, match=sentence):
        PROFILE.choose(5e4, silent)


def test_each_node_that_nobody_measured_has_its_sentence(tmp_path: Path) -> None:
    text = '[[node]]\nname = "a"\n[[node]]\nname = "b"\nspeed = 2\n[[node]]\nname = "c"\n'
    text += "speed_by_class = { functor = 2.0 }"
    with pytest.raises(InputError) as refused:
        PROFILE.choose(5e4, in_file(tmp_path, text))
    first, second = str(refused.value).splitlines()
    assert first.startswith("node 'a': its speed for aggregate, functor is unknown")
    assert second.startswith("node 'c': its speed for aggregate is unknown")
    assert "it has: functor; profile an application there" in second


@pytest.mark.parametrize("given", ["speed = 2.0", "speed_by_class = { functor = 2.0, aggregate = 2.0 }"])
def test_a_speed_that_the_file_gives_is_enough(tmp_path: Path, given: str) -> None:
    found = in_file(tmp_path, f'[[node]]\nname = "big"\n{given}')
    own = PROFILE.predict({"source": 5e4}, node=found).elements["a"].parts["operators"]
    assert own == pytest.approx(PROFILE.predict({"source": 5e4}).elements["a"].parts["operators"] / 2)
    assert PROFILE.choose(1e4, found).cpu_cores > 0


def test_classes_that_a_file_leaves_out_have_the_measured_speed(tmp_path: Path) -> None:
    """A node of a known name, and the profile's own."""
    nodes = in_file(tmp_path, '[[node]]\nname = "big"\nspeed_by_class = { functor = 4.0 }')
    there = replace(PROFILE, speeds_by_node={"big": {"functor": 2.0, "aggregate": 2.0, "communication": 2.0}})
    here = replace(PROFILE, node="big")
    alone = PROFILE.predict({"source": 5e4}).elements
    for profile, aggregate in ((there, 2.0), (here, 1.0)):
        q = profile.predict({"source": 5e4}, node=nodes).elements
        assert q["a"].parts["operators"] == pytest.approx(alone["a"].parts["operators"] / 4)
        assert q["c"].parts["operators"] == pytest.approx(alone["c"].parts["operators"] / aggregate)


def test_operators_without_a_class_need_the_speed_of_the_node(tmp_path: Path) -> None:
    plain = ps.Profile((ps.costs.OperatorCost("a", line(1e-6)),))
    with pytest.raises(InputError, match="node 'n': its speed for a is unknown"):
        plain.predict({"source": 5e4}, node=in_file(tmp_path, '[[node]]\nname = "n"'))
    assert plain.predict({"source": 5e4}, node=in_file(tmp_path, '[[node]]\nname = "n"\nspeed = 1')).cpu_cores > 0
