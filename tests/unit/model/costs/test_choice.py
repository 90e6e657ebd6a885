"""The chooser: equal to trying every fusion, and its search nearly so."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.model.costs.choosing.choice import MOST_EXACT
from penstock.model.costs.task_groups import scope_of
from tests.reference.costs import line, one_way, partitions, random_profile
from tests.unit.model.costs.test_prediction import PROFILE

NODES = ps.costs.Nodes((ps.costs.Node("n", cores=3),))


def cheapest(profile: ps.Profile, rate: float, cores: int) -> tuple[float, float] | None:
    """Every fusion with every number of replicas, each predicted: the least CPU, then the shortest batch."""
    found = []
    for groups in partitions(profile.names):
        ordered = [sorted(group, key=profile.names.index) for group in groups]
        if not one_way(profile, ordered):
            continue
        choices = [range(1, 2 if scope_of(profile, group) == "stream" else cores + 1) for group in ordered]
        for counts in itertools.product(*choices):
            given = {group[0]: count for group, count in zip(ordered, counts, strict=True)}
            q = profile.predict({"s": rate}, fusion=ordered, replicas=given, cores=cores)
            if q.batch_time_s <= 1.0:
                found.append((round(q.cpu_cores, 9), round(q.batch_time_s, 9)))
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(12))
def test_the_exact_choice_is_that_of_trying_everything(seed: int) -> None:
    profile, rate = random_profile(seed, 4), 10 ** (4 + seed % 4 / 2)
    expected = cheapest(profile, rate, 3)
    if expected is None:
        with pytest.raises(InputError, match="no fusion sustains"):
            profile.choose(rate, NODES)
        return
    found = profile.choose(rate, NODES)
    assert (found.cpu_cores, found.batch_time_s) == pytest.approx(expected, rel=1e-6)
    again = profile.predict({"s": rate}, fusion=found.elements, replicas=found.replicas, cores=3)
    assert again.cpu_cores == pytest.approx(found.cpu_cores)


def test_a_rate_goes_to_the_streams_that_no_operator_emits() -> None:
    """A profile that says what its operators read has sources of other names than source, source2, ..."""
    named = tuple(replace(own, inputs=reads) for own, reads in zip(PROFILE.operators, (("s",), ("a",)), strict=False))
    found = replace(PROFILE, operators=named).choose(1e4, NODES)
    assert found.cpu_cores == pytest.approx(replace(PROFILE, operators=named).choose({"s": 1e4}, NODES).cpu_cores)


@pytest.mark.slow
def test_the_search_costs_at_most_exact_over_098_on_200_random_graphs() -> None:
    """From 4 operators to as many as are enumerated; a graph that sustains no rate would be an error."""
    for seed in range(200):
        profile = random_profile(seed, 4 + seed % (MOST_EXACT - 3), shape=("any", "tree", "chain")[seed % 3])
        rate = next(own for own in (1e5, 3e4, 1e4, 3e3) if sustains(profile, own))
        exact = profile.choose(rate, NODES)
        assert exact.exact
        assert profile.choose(rate, NODES, exact=False).cpu_cores <= exact.cpu_cores / 0.98


def sustains(profile: ps.Profile, rate: float) -> bool:
    try:
        profile.choose(rate, NODES, exact=False)
    except InputError:
        return False
    return True


def test_many_operators_are_searched() -> None:
    profile = random_profile(5, 20, shape="chain")
    found = profile.choose(1e4, ps.costs.Nodes((ps.costs.Node("n", cores=4),)))
    assert not found.exact
    assert sorted(name for group in found.elements for name in group) == sorted(profile.names)


def test_a_dear_stateless_operator_is_cut_from_a_whole_stream_window() -> None:
    """Fused with the window it has one replica; all apart pays every exchange: the best is neither."""
    operators = (
        ps.costs.OperatorCost("s", line(1e-7), {"s": line(1.0)}, (), scope="stream"),
        ps.costs.OperatorCost("window", line(1e-6), {"window": line(1.0)}, ("s",), scope="stream"),
        ps.costs.OperatorCost("dear", line(2e-5), {"dear": line(1.0)}, ("window",)),
        ps.costs.OperatorCost("cheap", line(1e-7), {}, ("dear",)),
    )
    profile = replace(PROFILE, operators=operators)
    found = profile.choose(6e4, NODES)
    assert found.elements == (("s", "window"), ("dear", "cheap"))
    assert found.replicas["dear"] > 1


def test_a_users_partition_is_respected() -> None:
    found = PROFILE.choose(1e4, NODES, together=[["b", "c"]])
    assert any({"b", "c"} <= set(group) for group in found.elements)


def test_replicas_go_to_the_faster_nodes_first() -> None:
    nodes = ps.costs.Nodes((ps.costs.Node("slow", cores=4, speed=0.5), ps.costs.Node("fast", cores=2, speed=2.0)))
    found = PROFILE.choose(3e5, nodes)
    assert set(found.hosts["a"]) == {"fast"}


def test_a_rate_is_dealt_out_to_several_sources_by_their_shares() -> None:
    join = replace(PROFILE.operator("a"), name="j", cpu=line(1e-6, 2), outputs={}, inputs=None)
    profile = ps.Profile((join,))
    assert profile.choose(1e4, NODES).cpu_cores == pytest.approx(0.01)
    shared = replace(profile, source_shares={"l": 2.0, "r": 1.0})
    assert shared.choose({"l": 1e4, "r": 0.0}, NODES).cpu_cores == pytest.approx(0.01)
    assert shared.choose(3e4, NODES).cpu_cores == pytest.approx(0.03)


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(InputError, match="no fusion sustains 10,000,000 tuples/s on 3 cores: the shortest batch"):
        PROFILE.choose(1e7, NODES)
    join = ps.Profile((replace(PROFILE.operator("a"), cpu=line(1e-6, 2), outputs={}, inputs=None),))
    with pytest.raises(InputError, match=r"no fusion sustains 30,000,000 tuples/s \(l 20,000,000, r 10,000,000\) on 3"):
        join.choose({"l": 2e7, "r": 1e7}, NODES)
    with pytest.raises(InputError, match="a rate is a number of at least 0"):
        PROFILE.choose(-1, NODES)
    with pytest.raises(InputError, match=r"nodes of Profile.choose is what ps.costs.nodes\(...\) gives; got 'x'"):
        PROFILE.choose(1, "x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"exact of Profile.choose is True or False"):
        PROFILE.choose(1, NODES, exact=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"together of Profile.choose is a list of lists of operators; got 5"):
        PROFILE.choose(1, NODES, together=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"together names operator 'x', which the profile does not have; it has: a, b"):
        PROFILE.choose(1, NODES, together=[["a", "x"]])
