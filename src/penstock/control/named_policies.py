"""Policies by the names that commands know."""

from __future__ import annotations

from penstock.control.goal import Goal
from penstock.control.mpc_presets import ALPHAS, default_mpc, paper_strategy
from penstock.control.policy import Policy
from penstock.control.rivals.bounds import Bounds, sped_up
from penstock.control.rivals.ds2 import Ds2
from penstock.control.rivals.flink_autoscaler import FlinkAutoscaler
from penstock.control.rivals.kubernetes_hpa import KubernetesHpa
from penstock.control.rivals.spark_batch_ratio import SparkBatchRatio
from penstock.control.rivals.spark_dynamic_allocation import SparkDynamicAllocation
from penstock.control.rivals.spl import Spl
from penstock.control.rivals.static import Static
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.setting import Grid
from penstock.errors import InputError, did_you_mean

RIVALS = (
    "static", "thresholds", "spl", "ds2", "flink-autoscaler", "kubernetes-hpa", "spark-dynamic-allocation",
    "spark-batch-ratio",
)  # fmt: skip
POLICY_NAMES = ("mpc", *RIVALS, *(name.lower() for name in ALPHAS))


def named_policy(name: str, goal: Goal, grid: Grid, speed_up: float = 1.0) -> Policy:
    """A policy over a grid of settings; rivals' time constants are divided by `speed_up`.

    >>> from penstock.control.goal import throughput
    >>> named_policy("thresholds", throughput(), Grid((1, 2, 3))).name
    'thresholds 0.9/0.8'
    """
    if name == "mpc":
        return default_mpc(goal, grid)
    for strategy in ALPHAS:
        if name == strategy.lower():
            return paper_strategy(strategy, horizon=2, threshold_s=goal.threshold_s or 1.0)
    bounds = Bounds(grid.replicas[0], grid.replicas[-1])
    rivals: dict[str, Policy] = {
        "static": Static(bounds.highest, bounds),
        "thresholds": Thresholds(bounds=bounds),
        "spl": Spl(bounds=bounds),
        "ds2": sped_up(Ds2(bounds=bounds), speed_up),
        "flink-autoscaler": sped_up(FlinkAutoscaler(bounds=bounds), speed_up),
        "kubernetes-hpa": sped_up(KubernetesHpa(bounds=bounds), speed_up),
        "spark-dynamic-allocation": sped_up(SparkDynamicAllocation(bounds.highest, bounds=bounds), speed_up),
        "spark-batch-ratio": sped_up(SparkBatchRatio(bounds=bounds), speed_up),
    }
    if name not in rivals:
        hint = did_you_mean(name, POLICY_NAMES)
        raise InputError(
            f"there is no policy '{name}'; there are: {', '.join(POLICY_NAMES)}" + (f"; {hint}" if hint else "")
        )
    return rivals[name]
