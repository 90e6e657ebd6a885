"""Policies: their names, the parameters of each, and what a policy of one's own needs.

`ps.run(app, goal=..., policy=...)` takes a name (`"ds2"`), a name with parameters (`"ds2:headroom=1.2"`), or an object
like this one, which takes as many replicas as keep them busy for at most `share` of their time:

>>> from dataclasses import dataclass, replace
>>> from math import ceil
>>> @dataclass(frozen=True)
... class Busy:
...     share: float
...     name: str = "busy"
...
...     def start(self) -> None:
...         return None
...
...     def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
...         if seen.offered_ratio is None:
...             return state, Hold("nothing was served")
...         replicas = max(1, ceil(seen.offered_ratio * seen.setting.replicas / self.share))
...         return state, change_or_hold(seen.setting, replace(seen.setting, replicas=replicas), "busy share")
>>> step = ControlStep(
...     step=0, ended_at_s=1.0, period_s=1.0, setting=Setting(replicas=2), arrived_tuples=900.0, served_tuples=900.0,
...     backlog_tuples=0.0, busy_ratio=0.9, service_s=0.002,
... )
>>> Busy(0.6).decide(None, step)[1].setting.replicas
3

A policy keeps nothing but the state that it gives back, a value, so that a journal can be replayed.
"""

from __future__ import annotations

import warnings
from typing import Any

from penstock.arguments import TEXT, check_arguments
from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Decision, Expectation, Hold, change_or_hold
from penstock.control.policy import Policy
from penstock.control.policy_parameters import PARAMETERS_BY_POLICY, POLICY_NAMES, PolicyParameter
from penstock.control.policy_text import policy_text
from penstock.control.setting import Setting

__all__ = [
    "Policy",
    "ControlStep",
    "ElementLoad",
    "Setting",
    "Decision",
    "Change",
    "Hold",
    "Expectation",
    "change_or_hold",
    "PolicyParameter",
    "names",
    "parameters",
]


def names() -> tuple[str, ...]:
    """The policies that `policy=` takes by name, the default first.

    >>> names()[:3]
    ('mpc', 'static', 'thresholds')
    """
    return POLICY_NAMES


def parameters(name: str) -> tuple[PolicyParameter, ...]:
    """What a policy may be given behind its name, each with its default and its rule.

    >>> [f"{own.name}={own.default}" for own in parameters("ds2")]
    ['interval_s=10', 'warm_up_s=30', 'headroom=1']
    """
    check_arguments("ps.policies.parameters", name=(name, TEXT))
    return PARAMETERS_BY_POLICY[policy_text(name).name]


_OLD_NAMES = {"PolicySetting": "PolicyParameter", "settings": "parameters"}


def __getattr__(name: str) -> Any:
    if name not in _OLD_NAMES:
        raise AttributeError(f"module 'penstock.policies' has no attribute '{name}'")
    instead = _OLD_NAMES[name]
    sentence = f"penstock.policies.{name} is now penstock.policies.{instead}; the old name goes in 0.2"
    warnings.warn(sentence, DeprecationWarning, stacklevel=2)
    return globals()[instead]
