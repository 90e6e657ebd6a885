"""`--set`: what is understood, and every sentence about what is not."""

from __future__ import annotations

import re

import pytest

from penstock.cli.demo.vwap import vwap, vwap_per_ticker
from penstock.cli.options.setting_forms import SETTING_FORMS
from penstock.cli.options.settings import changed, settings_of
from penstock.errors import InputError
from penstock.plan.configuration import check_configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.thread_setting import POLICIES, ElasticThreads

GRAPH = vwap_per_ticker().graph
DEFAULT = default_configuration(pipeline_of(GRAPH), 2)


def test_settings_change_the_configuration() -> None:
    settings = settings_of(["window.replicas=3", "block_rows = 1_000", "micro_batch_tuples=5000"], GRAPH)
    configuration = changed(DEFAULT, settings, GRAPH)
    assert configuration.element("window").replicas == 3
    assert set(configuration.element("window").route) == {0, 1, 2}
    assert (configuration.block_rows, configuration.micro_batch_tuples) == (1_000, 5_000)


def test_an_element_goes_by_the_name_of_any_of_its_operators() -> None:
    assert settings_of(["vwap.replicas=3"], GRAPH).replicas == {"window": 3}
    with pytest.raises(InputError, match="replicas of element 'window' are named more than once"):
        settings_of(["vwap.replicas=3", "window.replicas=2"], GRAPH)


def test_threads_are_fixed_or_found_by_a_policy() -> None:
    settings = settings_of(["trades.threads=elastic:2-16", "vwap.threads=4"], GRAPH)
    configuration = changed(DEFAULT, settings, GRAPH)
    assert configuration.element("trades").threads == ElasticThreads(2, 16)
    assert configuration.element("window").threads == 4
    assert configuration.element("window").replicas == 2
    assert settings_of(["window.threads=multilevel"], GRAPH).threads == {"window": ElasticThreads(policy="multilevel")}
    with pytest.raises(InputError, match="threads of element 'window' are named more than once"):
        settings_of(["vwap.threads=3", "window.threads=2"], GRAPH)


def test_operators_that_are_unfused_are_elements_with_replicas_of_their_own() -> None:
    settings = settings_of(["vwap.replicas=3", "unfused=vwap"], GRAPH)
    configuration = changed(DEFAULT, settings, GRAPH)
    assert [(e.name, e.replicas) for e in configuration.elements] == [("trades", 2), ("window", 2), ("vwap", 3)]
    check_configuration(configuration, pipeline_of(GRAPH, configuration.unfused))


def test_a_fusion_names_the_operators_of_each_element() -> None:
    settings = settings_of(["fusion=trades+window,vwap", "trades.replicas=3"], GRAPH)
    configuration = changed(default_configuration(pipeline_of(GRAPH), 2), settings, GRAPH)
    check_configuration(configuration, pipeline_of(GRAPH, configuration.fused))
    assert [(e.name, e.replicas) for e in configuration.elements] == [("quotes", 2), ("trades", 3), ("vwap", 2)]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["fusion=trades+windo"], "--set fusion: fusion names the operator 'windo', which application"),
        (["fusion=trades+vwap"], "cannot be one element: the path trades -> window -> vwap leaves it and comes back"),
        (["fusion=trades", "unfused=vwap"], "--set takes fusion=... or unfused=..., not both"),
    ],
)
def test_a_fusion_that_cannot_be_is_one_sentence(texts: list[str], sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        settings_of(texts, GRAPH)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("window", "--set takes OPERATOR.replicas=N, OPERATOR.threads=N|elastic|elastic_operator|multilevel (with "
                   "bounds: elastic:2-16; with settings: elastic:period_s=2), block_rows=N, "
                   "micro_batch_tuples=N, unfused=OPERATOR,... or fusion=OPERATOR+OPERATOR,OPERATOR,... (the elements)"
                   "; got 'window'"),
        ("window.thread=2", "got 'window.thread=2'; did you mean 'window.threads'?"),
        ("window.threads=some", "--set window.threads: threads are a number, or elastic or elastic_operator or "
                                "multilevel, with bounds as in elastic:2-16 where wanted; got 'some'"),
        ("window.threads=multilevel:4-16", "the threads of element 'window' by multilevel begin at 1, since "
                                           "without queues one does it all; got 4 to 16; did you mean elastic:4-16?"),
        ("window.threads=multilevel:1-4,sensitivty=0.1", "--set window.threads: thread policy 'multilevel' takes "
         "period_s=..., sensitivity=..., satisfaction=..., as_printed=...; got 'sensitivty=0.1'; did you mean"),
        ("window.threads=elastic:period_s=0", "period_s of thread policy 'elastic' is a number above 0; got '0'"),
        ("window.threads=multilevel:satisfaction=2", "satisfaction of element 'window' is from 0 to less than 1"),
        ("window.threads=0", "element 'window' has from 1 to 64 threads; got 0"),
        ("window.threads=elastic:9-3", "bounded within 1 to 64, the least first; got 9 to 3"),
        ("block_row=7", "(the elements); got 'block_row=7'; did you mean 'block_rows'?"),
        ("window.replica=7", "got 'window.replica=7'; did you mean 'window.replicas'?"),
        ("replicas=7", "--set takes OPERATOR.replicas=N"),
        ("windo.replicas=7", "--set windo.replicas: there is no operator 'windo'; there are: quotes, trades, window, "
                             "vwap, out; did you mean 'window'?"),
        ("unfused=vwa", "--set unfused: there is no operator 'vwa'; there are: trades, window, vwap, out; did"),
        ("x.block_rows=7", "--set takes OPERATOR.replicas=N"),
        ("block_rows=many", "--set block_rows is a whole number of at least 1; got 'many'"),
        ("block_rows=0", "--set block_rows is a whole number of at least 1; got '0'"),
        ("window.replicas=-2", "--set window.replicas is a whole number of at least 1; got '-2'"),
        ("window.replicas=", "--set window.replicas is a whole number of at least 1; got ''"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_setting_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        settings_of([text], GRAPH)
    assert sentence in str(raised.value)


def test_the_forms_name_every_policy_and_their_example_is_understood() -> None:
    words = re.split(r"[^\w:-]+", SETTING_FORMS)
    assert set(POLICIES) <= set(words)
    (bounded,) = [word for word in words if re.search(r":\d", word)]
    assert settings_of([f"window.threads={bounded}"], GRAPH).threads == {"window": ElasticThreads(2, 16)}


def test_an_element_over_the_whole_stream_has_one_replica() -> None:
    with pytest.raises(InputError, match=r"element 'window' has one replica, since .* whole stream; got 2"):
        settings_of(["window.replicas=2"], vwap().graph)


def test_all_problems_are_told_at_once() -> None:
    texts = ["windo.replicas=2", "block_rows=x", "window.replicas=2", "window.replicas=3"]
    with pytest.raises(InputError) as raised:
        settings_of(texts, GRAPH)
    assert [line.split(";")[0] for line in str(raised.value).splitlines()] == [
        "--set names 'window.replicas' more than once",
        "--set windo.replicas: there is no operator 'windo'",
        "--set block_rows is a whole number of at least 1",
        "--set window.replicas: the replicas of element 'window' are named more than once",
    ]


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("elastic:period_s=0.5", ElasticThreads(period_s=0.5)),
        ("elastic_operator:2-8,tolerance=0.1,decay_rate=0.02", ElasticThreads(
            2, 8, "elastic_operator", tolerance=0.1, decay_rate=0.02)),
        ("multilevel:1-8,as_printed=yes,sensitivity=0.1,satisfaction=0", ElasticThreads(
            1, 8, "multilevel", sensitivity=0.1, satisfaction=0.0, as_printed=True)),
    ],
)  # fmt: skip
def test_the_settings_of_the_papers_can_be_given_from_the_shell(text: str, threads: ElasticThreads) -> None:
    assert settings_of([f"window.threads={text}"], GRAPH).threads == {"window": threads}
