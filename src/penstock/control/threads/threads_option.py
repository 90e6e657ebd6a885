"""Threads as users write them: a number, or a policy with bounds and parameters (`multilevel:1-16,as_printed=yes`)."""

from __future__ import annotations

import re
from typing import Any, cast

from penstock.control.policy_parameters import PolicyParameter
from penstock.control.policy_text import given_parameters
from penstock.errors import InputError
from penstock.plan.thread_setting import MOST_THREADS, POLICIES, ElasticThreads, ThreadPolicyName

_BOUNDS = re.compile(r"(\d+)-(\d+)")
_PERIOD = PolicyParameter("period_s", "1", above=True)
_PARAMETERS = {
    "elastic": (_PERIOD,),
    "elastic_operator": (_PERIOD, PolicyParameter("tolerance", "0.05"), PolicyParameter("decay_rate", "0.01")),
    "multilevel": (
        _PERIOD, PolicyParameter("sensitivity", "0.01"), PolicyParameter("satisfaction", "0.6"),
        PolicyParameter("as_printed", "no", "yes"),
    ),
}  # fmt: skip


def threads_of(option: int | str | ElasticThreads) -> int | ElasticThreads:
    """What a text means; anything else is given back.

    >>> threads_of("4"), threads_of("elastic:2-16").most, threads_of("elastic:2-16,period_s=0.5").period_s
    (4, 16, 0.5)
    """
    if not isinstance(option, str):
        return option
    if option.isdecimal():
        return int(option)
    policy, separator, rest = option.partition(":")
    if policy not in POLICIES or (separator and not rest):
        raise InputError(f"threads are a number, or {' or '.join(POLICIES)}, with bounds as in elastic:2-16 where "
                         f"wanted; got '{option}'")  # fmt: skip
    first, _, others = rest.partition(",")
    bounds = _BOUNDS.fullmatch(first)
    least, most = (int(bounds[1]), int(bounds[2])) if bounds else (1, MOST_THREADS)
    return ElasticThreads(
        least, most, cast(ThreadPolicyName, policy), **_parameters(policy, others if bounds else rest)
    )


def _parameters(policy: str, text: str) -> dict[str, Any]:
    if not text:
        return {}
    values, _, problems = given_parameters(f"thread policy '{policy}'", _PARAMETERS[policy], text)
    if problems:
        raise InputError("\n".join(problems))
    return dict(values)
