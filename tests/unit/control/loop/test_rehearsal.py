"""A rehearsal of control: the first decision of a run compiles and loads nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock as ps
from penstock.control.control_step import ControlStep
from penstock.control.decision import Hold
from penstock.control.loop.control_request import control_request
from penstock.control.loop.rehearsal import made_up_step, rehearse
from penstock.control.setting import Setting

_SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher

import penstock as ps
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.loop.control_request import control_request, policy_of
from penstock.control.loop.rehearsal import made_up_step, rehearse
from penstock.control.setting import Setting


def compiled():
    modules = [own for name, own in sys.modules.items() if name.startswith(("penstock.control", "penstock.model"))]
    kernels = {id(k): k for own in modules for k in vars(own).values() if isinstance(k, Dispatcher)}
    return sum(len(kernel.signatures) for kernel in kernels.values())


request = control_request(ps.latency(p95_ms=500), limits=Limits(max_replicas=16))
if sys.argv[1] == "rehearsed":
    rehearse(request)
policy = policy_of(request, grid_within(request.limits, 16, 1 << 23))
state, before = policy.start(), compiled()
for number in range(1, 8):
    state, _ = policy.decide(state, made_up_step(number, Setting(2, None, 8192)))
print(before, compiled())
"""


def _counted(way: str) -> tuple[int, int]:
    done = subprocess.run([sys.executable, "-c", _SCRIPT, way], check=True, capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    return before, after


@pytest.mark.slow
def test_after_a_rehearsal_decisions_compile_nothing() -> None:
    before, after = _counted("rehearsed")
    assert before == after > 0
    cold, warm = _counted("cold")
    assert cold < warm


class Own:
    """A policy of a user's."""

    name = "own"

    def start(self) -> None:
        raise AssertionError

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Hold]:
        raise AssertionError


def test_policies_of_users_and_rivals_are_not_called() -> None:
    requests = [control_request(ps.throughput(), policy=policy) for policy in (Own(), "ds2", "mpc")]
    assert [rehearse(request) > 0 for request in requests if request is not None] == [False, False, True]


def test_a_made_up_step_falls_behind() -> None:
    seen = made_up_step(3, Setting(2, None, 256))
    assert seen.served_ratio < 1
    assert seen.backlog_tuples > 0
