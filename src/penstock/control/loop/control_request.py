"""What a user asks of control: a goal, prices, payback, limits, a policy; checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.arguments import is_number
from penstock.control.goals.goal import Goal, Price
from penstock.control.goals.limits import Limits
from penstock.control.goals.payback import DEFAULT_PAYBACK, payback_problem
from penstock.control.loop.named_policies import named_policy
from penstock.control.mpc.live import LiveMpc
from penstock.control.mpc.policy import Mpc
from penstock.control.policy import Policy
from penstock.control.policy_text import policy_problems
from penstock.control.setting import Grid
from penstock.errors import InputError

DEFAULT_POLICY = "mpc"
NO_LIMITS, DEFAULT_PRICE = Limits(), Price()
ASSUMED_PAUSE_S = 0.2  # of a change, and learned from then on


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """All of it; `passive`: say what would be done, and do nothing."""

    goal: Goal
    price: Price = DEFAULT_PRICE
    limits: Limits = NO_LIMITS
    policy: str | Policy = DEFAULT_POLICY
    passive: bool = False
    payback: str | float = DEFAULT_PAYBACK


def control_request(
    goal: Goal | None,
    *,
    price: Price | None = None,
    limits: Limits | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    passive: bool = False,
    payback: str | float | None = None,
) -> ControlRequest | None:
    """The request, None where there is no goal; all problems are reported together."""
    problems = [
        *_price_problems(price),
        *_limits_problems(limits),
        *_policy_problems(policy),
        *_payback_problems(payback, policy),
        *_unused_price(price, policy),
    ]
    if goal is None:
        given = {"price": price is not None, "limits": limits is not None, "policy": policy != DEFAULT_POLICY,
                 "passive": passive, "payback": payback is not None}  # fmt: skip
        problems += [
            f"{name} says how to reach a goal, and there is none; give one, such as throughput() or latency(p95_ms=500)"
            for name, is_given in given.items()
            if is_given
        ]
    else:
        problems += _goal_problems(goal)
    if not isinstance(passive, bool):
        problems.append(f"passive is True or False; got {passive!r}")
    if problems:
        raise InputError("\n".join(problems))
    if goal is None:
        return None
    readily = DEFAULT_PAYBACK if payback is None else payback
    return ControlRequest(goal, price or DEFAULT_PRICE, limits or NO_LIMITS, policy, passive, readily)


def _price_problems(price: object) -> tuple[str, ...]:
    if price is None:
        return ()
    if isinstance(price, Price):
        return price.problems()
    hint = f"; did you mean Price(core_hour={price:g})?" if is_number(price) else ""
    return (f"a price is Price(core_hour=..., kwh=...); got {price!r}{hint}",)


def _limits_problems(limits: object) -> tuple[str, ...]:
    if limits is None:
        return ()
    if isinstance(limits, Limits):
        return limits.problems()
    return (f"limits are Limits(...), such as Limits(max_replicas=8); got {limits!r}",)


def _goal_problems(goal: object) -> tuple[str, ...]:
    if isinstance(goal, Goal):
        return goal.problems()
    return (f"a goal is ps.throughput() or ps.latency(p95_ms=...); got {goal!r}",)


def _policy_problems(policy: str | Policy) -> list[str]:
    if isinstance(policy, str):
        return policy_problems(policy)
    missing = [name for name in ("name", "start", "decide") if not hasattr(policy, name)]
    if not missing:
        return []
    return [f"a policy has name, start() and decide(state, seen); {type(policy).__name__} has no {', '.join(missing)}"]


def _payback_problems(payback: str | float | None, policy: str | Policy) -> list[str]:
    if payback is None:
        return []
    name = policy if isinstance(policy, str) else type(policy).__name__
    if name.partition(":")[0] != DEFAULT_POLICY:
        return [f"payback is for policy '{DEFAULT_POLICY}', whose weights follow from it; got policy '{name}'"]
    problem = payback_problem(payback)
    return [] if problem is None else [problem]


def _unused_price(price: object, policy: str | Policy) -> list[str]:
    if price is None or _policy_problems(policy):
        return []
    name = policy if isinstance(policy, str) else type(policy).__name__
    if name.partition(":")[0] == DEFAULT_POLICY:
        return []
    return [f"price is for policy '{DEFAULT_POLICY}', whose weights follow from it; got policy '{name}'"]


def policy_of(
    request: ControlRequest, grid: Grid, *, speed_up: float = 1.0, pause_s: float = ASSUMED_PAUSE_S
) -> Policy:
    """The policy over a grid of settings, as it sits in the loop of a running query.

    `speed_up`: rivals' time constants are divided by it.  `pause_s`: service lost by a change, as far as is known.
    """
    policy = request.policy
    if isinstance(policy, str):
        policy = named_policy(
            policy, request.goal, grid, speed_up, price=request.price, payback=request.payback, pause_s=pause_s
        )
        if isinstance(policy, Mpc):
            policy = replace(policy, allowed_imbalance=request.limits.max_imbalance)
    return LiveMpc(policy) if isinstance(policy, Mpc) else policy
