"""Policies by the names, with the settings, that users and commands give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from penstock.control.goals.goal import Goal, Price
from penstock.control.goals.payback import DEFAULT_PAYBACK
from penstock.control.mpc.policy import Mpc
from penstock.control.mpc.presets import ALPHAS, PAPER_TUPLE_S, Strategy, default_mpc, paper_strategy
from penstock.control.policy import Policy
from penstock.control.policy_parameters import ParameterValue
from penstock.control.policy_text import policy_text
from penstock.control.rivals.ds2 import Ds2
from penstock.control.rivals.flink_autoscaler import FlinkAutoscaler
from penstock.control.rivals.kubernetes_hpa import KubernetesHpa
from penstock.control.rivals.spark_batch_ratio import SparkBatchRatio
from penstock.control.rivals.spark_dynamic_allocation import SparkDynamicAllocation
from penstock.control.rivals.spl import Spl
from penstock.control.rivals.static import Static
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.rules.replica_bounds import Bounds, sped_up
from penstock.control.setting import Grid

_STRATEGIES: dict[str, Strategy] = {strategy.lower(): strategy for strategy in ALPHAS}
_PAPER_HORIZON = 2


def named_policy(
    text: str,
    goal: Goal,
    grid: Grid,
    speed_up: float = 1.0,
    *,
    price: Price | None = None,
    payback: str | float = DEFAULT_PAYBACK,
    pause_s: float = 0.0,
) -> Policy:
    """A policy over a grid of settings; of the paper's strategies only costs and weights are taken.

    Rivals' time constants, given ones too, are divided by `speed_up`.  Price, payback and pause are for `mpc`.
    Alpha of `th-node` and `th-power` follows how long a tuple takes, since the paper's is of its own tuples.

    >>> from penstock.control.goals.goal import throughput
    >>> named_policy("thresholds:high=0.7,low=0.5", throughput(), Grid((1, 2, 3))).name
    'thresholds 0.7/0.5'
    """
    asked = policy_text(text)
    made: Any
    if asked.name == "mpc":
        made = default_mpc(goal, grid, price=price, payback=payback, pause_s=pause_s)
        made = replace(made, **asked.parameters)
    elif asked.name in _STRATEGIES:
        made = _strategy(_STRATEGIES[asked.name], goal, grid, asked.parameters)
    else:
        made = replace(_rival(asked.name, Bounds(grid.replicas[0], grid.replicas[-1])), **asked.parameters)
        if asked.name != "spl":  # its 4 s are the paper's for a trace that is already 100 times as fast
            made = sped_up(made, speed_up)
    if asked.parameters and any(own.name == "name" for own in fields(made)):
        made = replace(made, name=asked.text)
    policy: Policy = made
    return policy


def _strategy(strategy: Strategy, goal: Goal, grid: Grid, parameters: Mapping[str, ParameterValue]) -> Mpc:
    policy = paper_strategy(
        strategy,
        "random_walk" if parameters.get("load") == "random_walk" else "real",
        switching=bool(parameters.get("switching", True)),
        horizon=int(parameters.get("horizon", _PAPER_HORIZON)),
        threshold_s=goal.threshold_s or 1.0,
    )
    if strategy.startswith("Th"):  # its alpha is of service times as long as the paper's
        policy = replace(policy, alpha_tuple_s=PAPER_TUPLE_S)
    by_power = strategy.endswith("Power")  # the others keep the highest frequency
    return replace(policy, grid=grid if by_power else replace(grid, frequencies_ghz=grid.frequencies_ghz[-1:]))


def _rival(name: str, bounds: Bounds) -> Any:
    rivals: dict[str, Policy] = {
        "static": Static(bounds.highest, bounds),
        "thresholds": Thresholds(bounds=bounds),
        "thresholds-0.95": Thresholds(0.95, bounds=bounds),
        "spl": Spl(bounds=bounds),
        "ds2": Ds2(bounds=bounds),
        "flink-autoscaler": FlinkAutoscaler(bounds=bounds),
        "kubernetes-hpa": KubernetesHpa(bounds=bounds),
        "spark-dynamic-allocation": SparkDynamicAllocation(bounds.highest, bounds=bounds),
        "spark-batch-ratio": SparkBatchRatio(bounds=bounds),
    }
    return rivals[name]
