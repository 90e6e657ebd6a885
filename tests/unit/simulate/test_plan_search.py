"""The search finds partitions with low latency, with no more simulations than it may have."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from penstock import twin
from penstock.errors import InputError
from penstock.simulate.plan_search import POPULATION, SURVIVORS, _Draw, _genetic, _Judge

WORK_S = [0.9, 0.4, 1.6]
MERGE_S = 0.01
NODES = twin.Nodes((twin.Node("n", cores=24),))


def chain() -> twin.Model:
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(work), merge_s=MERGE_S)
        for n, work in enumerate(WORK_S)
    ]
    return twin.Model([twin.Source("s", twin.constant(0.05))], operators)


def best_s() -> float:
    """Of whole numbers of partitions: W / p + h p is least near sqrt(W / h)."""
    found = 0.0
    for work in WORK_S:
        near = int(sqrt(work / MERGE_S))
        found += min(work / p + MERGE_S * p for p in (near, near + 1))
    return found


def test_the_genetic_search_comes_near_the_closed_form() -> None:
    found = twin.search(chain(), NODES, simulations=300, seed=3)
    assert best_s() * (1 - 1e-9) <= found.objective_s <= best_s() * 1.01
    assert found.simulations <= 300


def test_what_it_says_is_what_a_simulation_gives() -> None:
    found = twin.search(chain(), NODES, simulations=80, seconds=500, seed=2)
    again = twin.simulate(chain(), NODES, found.partitions, seconds=500, warm_up_s=50, seed=2)
    assert again.latency.mean_s == pytest.approx(found.objective_s)
    assert {e.name: e.replicas for e in found.plan.elements} == found.partitions


def test_history_falls_and_ends_with_the_number_of_simulations() -> None:
    found = twin.search(chain(), NODES, simulations=120, method="random")
    simulations, best = zip(*found.history, strict=True)
    assert list(simulations) == sorted(simulations)
    assert simulations[-1] == 120
    assert list(best) == sorted(best, reverse=True)
    assert best[-1] == found.objective_s


def test_the_same_seed_finds_the_same() -> None:
    one, same = (twin.search(chain(), NODES, simulations=100, seed=5) for _ in range(2))
    assert (one.partitions, one.history) == (same.partitions, same.history)


@pytest.mark.parametrize("method", ["genetic", "random"])
def test_a_search_ends_when_there_are_no_more_candidates(method: str) -> None:
    few = twin.Model(chain().sources, chain().operators[:1])
    found = twin.search(few, twin.Nodes((twin.Node("n", cores=3),)), simulations=100, method=method)
    assert found.simulations <= 3
    assert found.partitions == {"o0": 3}
    beyond = twin.search(few, twin.Nodes((twin.Node("n"),)), simulations=100, method=method, start={"o0": 2})
    assert beyond.simulations == 2


def test_a_running_plan_is_a_start() -> None:
    plan = twin.search(chain(), NODES, simulations=40, seed=3).plan
    begun = twin.search(chain(), NODES, simulations=1, start=plan)
    assert begun.partitions == {own.name: own.replicas for own in plan.elements}


def test_a_good_start_is_never_lost() -> None:
    start = {f"o{n}": round(sqrt(work / MERGE_S)) for n, work in enumerate(WORK_S)}
    found = twin.search(chain(), NODES, simulations=40, start=start)
    assert found.objective_s <= best_s() * 1.002


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"goal": "latency"}, "goal is one of latency_mean, latency_p95; got 'latency'; did you mean 'latency_p95'?"),
        ({"method": "genetics"}, "method is one of genetic, random; got 'genetics'; did you mean 'genetic'?"),
        ({"start": {"oo0": 1}}, "start names operator 'oo0', which there is not; did you mean 'o0'?"),
        (
            {"start": {"o0": 0}},
            "start of twin.search is a ps.Configuration or a dict of partitions by operator, or None; got {'o0': 0}",
        ),
    ],
)
def test_a_mistake_has_its_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        twin.search(chain(), NODES, **given)  # type: ignore[arg-type]
    assert str(raised.value) == sentence


def tried(generations: int, start: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The candidates of a seeded search in which the start stays the best, and those next to it."""
    seen: list[tuple[int, ...]] = []

    def latency_s(candidate: tuple[int, ...]) -> float:
        seen.append(candidate)
        return float(sum(abs(own - other) for own, other in zip(candidate, start, strict=True)))

    judge = _Judge(latency_s, start, POPULATION + (generations - 1) * SURVIVORS, None)
    _genetic(judge, _Draw(np.random.default_rng(1), len(start), 40), start)
    return seen


def kept(candidate: tuple[int, ...], start: tuple[int, ...]) -> int:
    return sum(own == other for own, other in zip(candidate, start, strict=True))


def test_a_search_with_a_start_begins_with_varied_copies_of_it_and_the_whole_of_it_for_other_rates() -> None:
    start = tuple(range(3, 23))
    seen = tried(1, start)
    scaled = {tuple(min(round(own * factor), 40) for own in start) for factor in (0.5, 0.67, 0.8, 1.25, 1.5, 2.0)}
    assert {start, *scaled} <= set(seen)
    assert min(kept(candidate, start) for candidate in set(seen) - scaled) >= len(start) // 2


def test_newcomers_of_a_search_with_a_start_are_no_candidates_by_chance() -> None:
    """By chance half an operator of twenty would be as it was."""
    start = (20,) * 20
    later = tried(4, start)[POPULATION:]
    assert len(later) == 3 * SURVIVORS
    assert min(kept(candidate, start) for candidate in later) >= len(start) // 2
