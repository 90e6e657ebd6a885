"""What every policy must do, tried on the twin: sentences for what it does not."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.control_step import ControlStep
from penstock.control.decision import Change, Decision, Hold
from penstock.control.goals.goal import throughput
from penstock.control.journal.replay import replay
from penstock.control.loop.loop import Loop, Record
from penstock.control.policy import Policy
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.replica_bounds import Bounds
from penstock.control.setting import Setting
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

_CAP_TUPLES = 24_000
_HIGHEST = 12
_SEED = 1
_LOADS = {
    "a steady load": [4200.0] * 60,
    "a load that doubles": [3000.0] * 30 + [6000.0] * 30,
    "a load that comes and goes": list(6000 + 5500 * np.sin(np.arange(60) / 5)),
    "no load at all": [0.0] * 20,
}


def policy_problems(policy: Policy) -> list[str]:
    """A sentence for each rule that a policy breaks, with the load under which it does."""
    missing = [part for part in ("name", "start", "decide") if not hasattr(policy, part)]
    if missing:
        return [f"has no {', '.join(missing)}; a policy has name, start() and decide(state, seen)"]
    found: dict[str, str] = {}  # the first load under which it breaks each rule
    for load, rates in _LOADS.items():
        for problem in _problems(policy, rates):
            found.setdefault(problem, load)
    return [f"under {load}, {problem}" for problem, load in found.items()]


def _problems(policy: Policy, rates: Sequence[float]) -> Iterator[str]:
    recorded = _Recorded(policy)
    try:
        records = _run(recorded, rates)
        if recorded.found:
            yield from recorded.found
            return
        again = _run(policy, rates)
        replayed = replay([record.seen for record in records], policy)
        recorded.policy.decide(recorded.policy.start(), _bare(records[0].seen))
    except Exception as error:
        yield f"decide raised {type(error).__name__}: {error} ({_place(error)})"
        return
    if [record.wanted for record in records] != [record.wanted for record in again]:
        yield "the same run gives other decisions the second time; keep everything in the state"
    elif [one.decision for one in replayed] != [record.wanted for record in records]:
        yield "a replay of the run gives other decisions; decide from state and step alone"


class _Recorded:
    """A policy whose answers are looked at on their way."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.name = policy, policy.name
        self.found: list[str] = []

    def start(self) -> Any:
        return self.policy.start()

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        before = _pickled(state)
        answer = self.policy.decide(state, seen)
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Change | Hold)):
            self.found.append(f"decide gives (state, Change(...) or Hold(...)); got {answer!r}")
            return state, Hold("no decision")
        if before is not None and _pickled(state) != before:
            self.found.append("decide changes the state that it is given; give a new one back")
        self.found += _decision_problems(answer[1], seen.setting)
        return answer


def _decision_problems(decision: Decision, current: Setting) -> list[str]:
    found = []
    if not decision.because:
        found.append("a decision has no reason; fill in because=")
    if isinstance(decision, Change):
        replicas = decision.setting.replicas
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 1:
            found.append(f"a setting has a whole number of replicas, at least 1; got {replicas!r}")
        elif decision.setting == current:
            found.append("a Change goes to the setting that it has already; use change_or_hold")
    return found


def _run(policy: Any, rates: Sequence[float]) -> list[Record]:
    arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.round(rates).astype(np.int64))
    start = Setting(_HIGHEST // 2, None, _CAP_TUPLES)
    plant = shape_plant(PlantShape(), arrivals, start, end_s=float(len(rates)), seed=_SEED)
    return list(Loop(policy, throughput(), application_rules(bounds=Bounds(1, _HIGHEST))).run(plant))


def _bare(step: ControlStep) -> ControlStep:
    """The same step where hardly anything could be measured, as on a source that does not say what waits."""
    return replace(
        step, micro_batch_s=None, overhead_s=None, service_s=None, latest_tuples_s=None, latency_mean_s=None,
        latency_p95_s=None, load_by_slot=(), elements=(), measured=False, timed=False,
    )  # fmt: skip


def _pickled(state: Any) -> bytes | None:
    """The state as bytes, None where it has no such form."""
    try:
        return pickle.dumps(state)
    except Exception:
        return None


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
