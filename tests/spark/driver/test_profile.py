"""Profiles on Spark: what is learned is stored, predicts what was measured, and goes on where it was cut short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.calibration import calibrated
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.profile import FixedCosts, OperatorCost
from penstock.model.costs.resource_function import ResourceFunction, Term
from penstock.model.costs.store import CostStore
from penstock.spark.profiling.communication_run import calibration_points
from tests.unit.model.costs.test_node_performance import shifted

OVERHEAD = Overhead(FixedCosts(0.0, 0.005, 1e-4), Communication((8.0,), (1e7,), (0.5,), (0.5,)))
RATES = [2_000, 8_000, 20_000]


def application() -> ps.Application:
    app = ps.Application("profiled")
    quotes = app.source("quotes", ps.sources.trace(rate_tuples_s=1000.0, keys=20))
    trades = quotes.functor("trades", where="ttype = 'Trade'", emit={"k": "ticker", "p": "price"})
    window = ps.sliding(count=4, per_group=True)
    trades.aggregate("window", by="k", window=window, emit={"k": "any(k)", "m": "max(p)"}).sink("out")
    return app


def test_a_profile_is_learned_stored_and_resumed(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COSTS", str(tmp_path / "costs.sqlite"))
    CostStore().keep_overhead("rack-1", OVERHEAD)
    told: list[str] = []

    def cut_short(text: str, share: float) -> None:
        told.append(text)
        if text.startswith("round 1: 2,000"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ps.profile(application(), RATES, seconds=0.3, session=session, progress=cut_short, node="rack-1")
    assert "round 1: 20,000 tuples/s" in told
    again: list[str] = []
    found = ps.profile(
        application(), RATES, seconds=0.3, session=session, progress=lambda text, share: again.append(text),
        node="rack-1", contention=True,
    )  # fmt: skip
    assert "with a neighbour" in again
    assert 0 <= found.contention < 10
    overhead = CostStore().overhead("rack-1")
    assert overhead is not None
    assert overhead.contention == found.contention
    assert "round 1: 20,000 tuples/s" not in again  # the store has it
    assert {own.name for own in found.operators} == {"quotes", "trades", "window", "out"}
    q = found.predict({"quotes": 10_000.0})
    assert q.elements["trades"].tuples_out_s == pytest.approx(q.elements["window"].tuples_in_s)
    assert 0 < q.elements["trades"].tuples_out_s < 10_000
    assert all(own.cpu_cores > 0 for own in q.elements.values())
    assert q.max_rate_tuples_s > 10_000
    ps.Profile.load(_saved(found, tmp_path))
    assert [e.operators for e in ps.plan_of(application()).elements]
    _check_stand_in(found)


def _check_stand_in(found: ps.Profile) -> None:
    """A second machine is imitated: what was measured, as one twice as fast would have measured it.

    The functor's cost is given: a few thousand tuples cost less than what a busy machine adds to them.
    """
    found = replace(found, operators=tuple(_known(own) for own in found.operators))
    CostStore().keep(found, "rack-1")
    operators = tuple(shifted(own, 2.0) for own in found.operators)
    CostStore().keep_overhead("rack-2", OVERHEAD)
    CostStore().keep(replace(found, operators=operators), "rack-2")
    own = CostStore().profile(facts_of(application().graph), "rack-1")
    assert own is not None
    assert own.speeds_by_node["rack-2"]["functor"] == pytest.approx(2.0)
    parts = [own.predict({"quotes": 2e4}, node=name).elements["trades"].parts["operators"] for name in (None, "rack-2")]
    assert parts[1] < parts[0]


def _known(own: OperatorCost) -> OperatorCost:
    cpu = ResourceFunction((Term((0,), 0.001), Term((1,), 1e-6)))
    return replace(own, cpu=cpu) if own.name == "trades" else own


def _saved(found: ps.Profile, folder: Path) -> Path:
    found.save(folder / "p.json")
    return folder / "p.json"


def test_communication_is_learned(session: SparkSession) -> None:
    points = calibration_points(session, lambda text, share: None, columns=(4,), seconds=0.05, warms_up=False)
    assert {point.role for point in points} == {"fused", "sends", "receives"}
    assert all(24 <= point.bytes_per_tuple <= 48 for point in points)
    found = calibrated(points)
    assert found.communication.send(1e6, 32.0) + found.communication.receive(1e6, 32.0) > 0
