"""Policies: their names, the settings of each, and what a policy of one's own needs.

`ps.run(app, goal=..., policy=...)` takes a name (`"ds2"`), a name with settings (`"ds2:headroom=1.2"`), or an object
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

from penstock.arguments import TEXT, check_arguments
from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Decision, Expectation, Hold, change_or_hold
from penstock.control.policy import Policy
from penstock.control.policy_settings import POLICY_NAMES, SETTINGS_BY_POLICY, PolicySetting
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
    "PolicySetting",
    "names",
    "settings",
]


def names() -> tuple[str, ...]:
    """The policies that `policy=` takes by name, the default first.

    >>> names()[:3]
    ('mpc', 'static', 'thresholds')
    """
    return POLICY_NAMES


def settings(name: str) -> tuple[PolicySetting, ...]:
    """What a policy may be given behind its name, each with its default and its rule.

    >>> [f"{own.name}={own.default}" for own in settings("ds2")]
    ['interval_s=10', 'warm_up_s=30', 'headroom=1']
    """
    check_arguments("ps.policies.settings", name=(name, TEXT))
    return SETTINGS_BY_POLICY[policy_text(name).name]
