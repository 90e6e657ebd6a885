"""The situations that break today's autoscalers, each with what a good policy must do in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.saso.loads import Load
from benchmarks.saso.metrics import Saso, measure
from benchmarks.saso.policies import our_policy, rivals
from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals
from penstock.control.goals.goal import throughput
from penstock.control.loop.loop import Loop, Record
from penstock.control.plant import Plant
from penstock.control.policy import Policy
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.setting import Grid, Setting
from penstock.simulate.plant_shape import Floats, PlantShape, even_keys, zipf_keys
from penstock.simulate.shape_plant import shape_plant

SEED = 5
_SHOWN = ("thresholds 0.9/0.8", "ds2", "flink autoscaler", "kubernetes hpa")
_CAP_TUPLES = 24_000
_HOT_SHARE = 0.28  # beside what every slot has
_USEFUL_WITH_HOT_KEY = math.ceil(1 / _HOT_SHARE)  # with so many, one has the hot key and nothing else
_SPEED_UP = 60.0  # a second stands for a minute, so that rivals made for hours have their chance within minutes
Verdict = Callable[[Sequence[Record]], bool]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load and a plant, the question it asks, and how the answer is judged."""

    name: str
    question: str
    load: Load
    shape: PlantShape
    verdict: Verdict
    start: int = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """All policies in one scenario; `passes` is MPC's verdict, `passes_by_policy` that of each."""

    scenario: Scenario
    results: tuple[Saso, ...]
    records: dict[str, list[Record]] = field(default_factory=dict)

    @property
    def passes_by_policy(self) -> dict[str, bool]:
        return {name: bool(self.scenario.verdict(records)) for name, records in self.records.items()}

    @property
    def passes(self) -> bool:
        return self.passes_by_policy["mpc"]


def run_scenario(scenario: Scenario) -> Outcome:
    """MPC with its guard, and the published rivals."""
    goal, grid = throughput(), Grid(tuple(range(1, 13)), caps_tuples=(_CAP_TUPLES,))
    policies: list[Policy] = [our_policy(goal, grid, scenario.shape)]
    policies += [r.variants(scenario.load.speed_up, quick=True)[0][1] for r in rivals(12) if r.policy.name in _SHOWN]
    results, records = [], {}
    for policy in policies:
        guard = Guard() if policy.name == "mpc" else None

        def plant() -> Plant:
            start = Setting(scenario.start, None, _CAP_TUPLES)
            return shape_plant(scenario.shape, scenario.load.arrivals, start, end_s=scenario.load.end_s, seed=SEED)

        result, own = measure(plant, Loop(policy, goal, application_rules(guard)), grid)
        results.append(result)
        records[policy.name] = own
    return Outcome(scenario, tuple(results), records)


def scenarios() -> list[Scenario]:
    """All eight; times in seconds, rates in tuples/s; twelve replicas serve 12,000."""
    plain = PlantShape()
    return [
        Scenario(
            "cold spike", "from 1 replica to the maximum: how long behind?",
            _pieces("cold spike", [(40, 600), (60, 9500), (60, 600)]), plain, _spike_is_met, start=1,
        ),
        Scenario(
            "outage", "caught up after an outage, does it give back what it took?",
            _pieces("outage", [(200, 5000)]), replace(plain, outages_s=((60.0, 80.0),)), _outage_is_over,
        ),
        Scenario(
            "key drift", "do routes follow the keys, rather than replicas?",
            _pieces("key drift", [(200, 5500)]), replace(plain, shares=_drifting_keys(128)), _routes_follow,
        ),
        Scenario(
            "service time", "twice the work per tuple for a while",
            _pieces("service time", [(200, 4000)]),
            replace(plain, service_factor=lambda t: 2.0 if 60 <= t < 130 else 1.0), _cost_is_followed,
        ),
        Scenario(
            "hot key", "no replicas beyond what the heaviest key lets be used",
            _pieces("hot key", [(200, 3500)]), replace(plain, shares=_hot_key(128, _HOT_SHARE)),
            lambda rs: _replicas(rs, 120, 200).max() <= _USEFUL_WITH_HOT_KEY,
        ),
        Scenario(
            "bursts", "windows that fire every 4 s: the busy metric lies",
            _pieces("bursts", [(200, 4500)]), replace(plain, fires_every_s=4.0, shares=even_keys(128)),
            lambda rs: _replicas(rs, 60, 200).mean() <= 8 and _changes(rs, 60) <= 14 and _keeps_up(rs),
        ),
        Scenario(
            "full service", "a service behind takes no more: pressing harder is useless",
            _pieces("full service", [(60, 3500), (140, 6500)]), replace(plain, limit_tuples_s=lambda t: 5000.0),
            lambda rs: _replicas(rs, 120, 200).mean() <= 8 and _served_tuples_s(rs, 120) >= 4500,
        ),
        Scenario(
            "daily wave", "a slow wave: no change that does not pay",
            _wave("daily wave", 400, 4500, 2200, noise=0.08), plain,
            lambda rs: _changes(rs, 0) <= 25 and behind_s(rs) <= 4,
        ),
    ]  # fmt: skip


def _spike_is_met(records: Sequence[Record]) -> bool:
    """Enough replicas within ten seconds of its begin at 40 s, few again 40 s after its end, seldom behind."""
    up, back = _replicas(records, 40, 50).max() >= 10, _replicas(records, 140, 160).mean() <= 3
    return bool(up and back and behind_s(records) <= 15)


def _outage_is_over(records: Sequence[Record]) -> bool:
    """By 70 s after the outage nothing waits, and replicas are as before it."""
    more = _replicas(records, 150, 200).mean() - _replicas(records, 30, 60).mean()
    return bool(more <= 0.75 and _backlog(records, 150) <= 5000)


def _routes_follow(records: Sequence[Record]) -> bool:
    return _imbalance(records, 20) <= 1.25 and bool(_replicas(records, 20, 200).mean() <= 9) and behind_s(records) <= 8


def _cost_is_followed(records: Sequence[Record]) -> bool:
    up, back = _replicas(records, 80, 130).mean() >= 8.2, _replicas(records, 150, 200).mean() <= 6.5
    return bool(up and back and behind_s(records) <= 12)


def _pieces(name: str, pieces: Sequence[tuple[float, float]]) -> Load:
    """Seconds and rate of each piece, with a little jitter by the second."""
    rates = np.concatenate([np.full(int(seconds), rate) for seconds, rate in pieces])
    return _by_second(name, rates, noise=0.03)


def _wave(name: str, seconds: int, mean: float, height: float, noise: float) -> Load:
    rates = mean + height * np.sin(2 * np.pi * np.arange(seconds) / seconds)
    return _by_second(name, rates, noise)


def _by_second(name: str, rates: Floats, noise: float) -> Load:
    noisy = rates * np.exp(np.random.default_rng(SEED).normal(0, noise, len(rates)))
    arrivals: Arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.round(noisy).astype(np.int64))
    return Load(name, arrivals, float(len(rates)), _SPEED_UP)


def _drifting_keys(slots: int) -> Callable[[float], Floats]:
    """The heavy keys of the begin grow light while others grow heavy."""
    before, after = zipf_keys(slots, 0.9, 1)(0.0), zipf_keys(slots, 0.9, 2)(0.0)

    def shares(time_s: float) -> Floats:
        part = min(max((time_s - 40) / 100, 0.0), 1.0)
        return np.asarray((1 - part) * before + part * after)

    return shares


def _hot_key(slots: int, share: float) -> Callable[[float], Floats]:
    """One slot grows from its usual share to a large one between 40 s and 60 s."""

    def shares(time_s: float) -> Floats:
        own = share * min(max((time_s - 40) / 20, 0.0), 1.0)
        rest = np.full(slots, (1 - own) / slots)
        rest[17] += own
        return rest

    return shares


def mean_replicas(records: Sequence[Record], begin_s: float, end_s: float) -> float:
    return float(_replicas(records, begin_s, end_s).mean())


def _within(records: Sequence[Record], begin_s: float, end_s: float) -> list[Record]:
    return [r for r in records if begin_s <= r.seen.ended_at_s <= end_s] or list(records[-1:])


def _replicas(records: Sequence[Record], begin_s: float, end_s: float) -> Floats:
    return np.array([float(r.seen.setting.replicas) for r in _within(records, begin_s, end_s)])


def _backlog(records: Sequence[Record], from_s: float) -> float:
    return max(r.seen.queued_tuples for r in _within(records, from_s, np.inf))


def _imbalance(records: Sequence[Record], from_s: float) -> float:
    return float(np.mean([r.seen.imbalance for r in _within(records, from_s, np.inf)]))


def _changes(records: Sequence[Record], from_s: float) -> int:
    return sum(r.requested is not None for r in _within(records, from_s, np.inf))


def _served_tuples_s(records: Sequence[Record], from_s: float) -> float:
    own = _within(records, from_s, np.inf)
    return sum(r.seen.served_tuples for r in own) / sum(r.seen.period_s for r in own)


def _keeps_up(records: Sequence[Record]) -> bool:
    """At the end no more waits than two firings' worth."""
    return min(r.seen.backlog_tuples for r in records[-5:]) <= 8 * records[-1].seen.rate_tuples_s


def behind_s(records: Sequence[Record]) -> float:
    """Seconds in which more than two seconds' arrivals were waiting."""
    return sum(r.seen.period_s for r in records if r.seen.backlog_tuples > 2 * r.seen.rate_tuples_s > 0)
