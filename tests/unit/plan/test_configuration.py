"""The Configuration: changing, checking, writing down."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.errors import InputError
from penstock.plan.configuration import (
    ElementConfiguration,
    check_configuration,
    configuration_from_json,
    configuration_to_json,
    default_configuration,
    even_route,
)
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.thread_setting import ElasticThreads

PIPELINE = pipeline_of(vwap_per_ticker().graph)


def test_slots_are_dealt_out_evenly_in_runs() -> None:
    route = even_route(3, 512)
    assert sorted(route) == list(route)
    assert {route.count(r) for r in range(3)} <= {170, 171}


def test_another_number_of_replicas_gives_another_route() -> None:
    changed = default_configuration(PIPELINE, 2).with_replicas("window", 4)
    assert changed.element("window") == ElementConfiguration("window", 4, even_route(4))
    assert changed.element("trades").replicas == 2


@pytest.mark.parametrize(
    ("name", "replicas", "sentence"),
    [("windo", 2, "did you mean 'window'"), ("window", 0, "at least one replica")],
)
def test_replicas_that_cannot_be(name: str, replicas: int, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        default_configuration(PIPELINE, 2).with_replicas(name, replicas)


def test_an_element_that_needs_the_whole_stream_stays_one_replica() -> None:
    configuration = default_configuration(pipeline_of(vwap().graph), 2)
    with pytest.raises(InputError, match="need the whole stream; got 2"):
        check_configuration(configuration.with_replicas("window", 2), pipeline_of(vwap().graph))


def test_configurations_that_do_not_fit_are_refused() -> None:
    good = default_configuration(PIPELINE, 2)
    with pytest.raises(InputError, match="has the elements trades, window; got trades"):
        check_configuration(replace(good, elements=good.elements[:1]), PIPELINE)
    with pytest.raises(InputError, match="names replicas from 0 to 1; got 0 to 3"):
        check_configuration(good.with_element(ElementConfiguration("window", 2, even_route(4))), PIPELINE)
    with pytest.raises(InputError, match="the split slots of element 'window' are among its 512 slots; got 512"):
        check_configuration(good.with_element(replace(good.element("window"), split=(512,))), PIPELINE)
    with pytest.raises(InputError, match="are from 1 to 1,099,511,627,776; got 0 and"):
        check_configuration(replace(good, block_rows=0), PIPELINE)
    with pytest.raises(InputError, match="are from 1 to 1,099,511,627,776; got 32768 and 1180591620717411303424"):
        check_configuration(replace(good, micro_batch_tuples=2**70), PIPELINE)
    with pytest.raises(InputError, match="an element has at most 65,536 replicas; got 100000 for 'window'"):
        check_configuration(good.with_replicas("window", 100_000), PIPELINE)


def test_a_configuration_survives_being_written_down() -> None:
    configuration = replace(default_configuration(PIPELINE, 3), block_rows=100, micro_batch_tuples=5)
    configuration = configuration.with_element(replace(configuration.element("window"), split=(7,)))
    assert configuration_from_json(configuration_to_json(configuration)) == configuration
    configuration = configuration.with_threads("window", ElasticThreads(2, 8)).with_threads("trades", 3)
    assert configuration_from_json(json.loads(json.dumps(configuration_to_json(configuration)))) == configuration


def test_threads_stay_when_replicas_change_or_an_element_is_cut() -> None:
    configuration = default_configuration(PIPELINE, 2).with_threads("window", ElasticThreads())
    assert configuration.with_replicas("window", 3).element("window").threads == ElasticThreads()
    cut = configuration.with_unfused(vwap_per_ticker().graph, ["vwap"])
    assert [e.threads for e in cut.elements] == [1, ElasticThreads(), ElasticThreads()]


@pytest.mark.parametrize(
    ("threads", "sentence"),
    [
        (0, "element 'window' has from 1 to 64 threads; got 0"),
        (True, "got True"),
        (
            ElasticThreads(5, 4),
            "the threads of element 'window' are bounded within 1 to 64, the least first; got 5 to 4",
        ),
        (ElasticThreads(policy="magic"), "found by one of elastic, elastic_operator, multilevel; got 'magic'"),  # type: ignore[arg-type]
        (ElasticThreads(period_s=0.0), "a period of element 'window' takes more than 0 s; got 0.0"),
    ],
)
def test_threads_that_cannot_be(threads: int | ElasticThreads, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_configuration(default_configuration(PIPELINE, 2).with_threads("window", threads), PIPELINE)
