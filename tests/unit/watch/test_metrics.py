"""Metrics for Prometheus, and a Grafana file that asks for those there are."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from penstock.cli.watch.metrics import metrics_address, serve_metrics
from penstock.errors import InputError
from penstock.watch.metrics import NAMES, RunMetrics
from penstock.watch.recorded.run_reader import RunReader
from tests.checkout import ROOT
from tests.reference.made_run import write_run


def scraped(folder: Path) -> str:
    reader = RunReader(write_run(folder))
    reader.open()
    registry = CollectorRegistry()
    registry.register(RunMetrics(reader))
    return generate_latest(registry).decode()


def test_every_listed_metric_is_there_with_its_labels(tmp_path: Path) -> None:
    text = scraped(tmp_path)
    found = {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}
    assert found == set(NAMES)
    for line in (
        "penstock_tuples_in_total 60000.0", 'penstock_latency_seconds{quantile="0.95"} 0.7',
        'penstock_replicas{element="window"} 2.0', 'penstock_state_bytes{operator="window"} 2000.0',
        "penstock_goal_broken_steps_total 3.0", 'penstock_decisions_total{kind="up"} 2.0',
        'penstock_decisions_total{kind="hold"} 27.0',
    ):  # fmt: skip
        assert line in text


def test_every_expression_of_the_grafana_file_names_a_listed_metric() -> None:
    body = json.loads((ROOT / "docs" / "grafana.json").read_text())
    expressions = [target["expr"] for panel in body["panels"] for target in panel["targets"]]
    named = [re.findall(r"penstock_\w+", expression) for expression in expressions]
    assert all(own and set(own) <= set(NAMES) for own in named)
    assert {name for own in named for name in own} == set(NAMES)


def test_metrics_are_served(tmp_path: Path) -> None:
    address = serve_metrics("0", write_run(tmp_path).parent)
    with urllib.request.urlopen(address, timeout=20) as answer:
        assert b"penstock_tuples_in_total 60000.0" in answer.read()


@pytest.mark.parametrize("text", ["", "x", "host:", "99999", "a:b"])
def test_an_address_that_is_none_is_told(text: str) -> None:
    with pytest.raises(InputError, match=r"--metrics is PORT or HOST:PORT; got"):
        metrics_address(text)
