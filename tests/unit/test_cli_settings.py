"""`--set`: what is understood, and every sentence about what is not."""

from __future__ import annotations

import pytest

from penstock.apps.vwap import vwap, vwap_per_ticker
from penstock.cli.settings import changed, settings_of
from penstock.control.configuration import default_configuration
from penstock.errors import InputError
from penstock.plan.pipeline import pipeline_of

PIPELINE = pipeline_of(vwap_per_ticker().graph)


def test_settings_change_the_configuration() -> None:
    settings = settings_of(["window.replicas=3", "block_rows = 1_000", "micro_batch_tuples=5000"], PIPELINE)
    configuration = changed(default_configuration(PIPELINE, 2), settings)
    assert configuration.element("window").replicas == 3
    assert set(configuration.element("window").route) == {0, 1, 2}
    assert (configuration.block_rows, configuration.micro_batch_tuples) == (1_000, 5_000)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("window", "--set takes ELEMENT.replicas=N, block_rows=N or micro_batch_tuples=N; got 'window'"),
        ("block_row=7", "micro_batch_tuples=N; got 'block_row=7'; did you mean 'block_rows'?"),
        ("window.replica=7", "got 'window.replica=7'; did you mean 'window.replicas'?"),
        ("replicas=7", "--set takes ELEMENT.replicas=N"),
        ("windo.replicas=7", "--set windo.replicas: there is no element 'windo'; there are: trades, window; "
                             "did you mean 'window'?"),
        ("x.block_rows=7", "--set takes ELEMENT.replicas=N"),
        ("block_rows=many", "--set block_rows is a whole number of at least 1; got 'many'"),
        ("block_rows=0", "--set block_rows is a whole number of at least 1; got '0'"),
        ("window.replicas=-2", "--set window.replicas is a whole number of at least 1; got '-2'"),
        ("window.replicas=", "--set window.replicas is a whole number of at least 1; got ''"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_setting_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        settings_of([text], PIPELINE)
    assert sentence in str(raised.value)


def test_an_element_over_the_whole_stream_has_one_replica() -> None:
    with pytest.raises(InputError, match=r"element 'window' has one replica, since .* whole stream; got 2"):
        settings_of(["window.replicas=2"], pipeline_of(vwap().graph))


def test_all_problems_are_told_at_once() -> None:
    texts = ["windo.replicas=2", "block_rows=x", "window.replicas=2", "window.replicas=3"]
    with pytest.raises(InputError) as raised:
        settings_of(texts, PIPELINE)
    first, second, third = str(raised.value).splitlines()
    assert "no element 'windo'" in first
    assert "got 'x'" in second
    assert third == "--set names 'window.replicas' more than once"
