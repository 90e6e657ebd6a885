"""The policies to compare, with the settings each rival is tried at."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.saso.oracle import Oracle
from penstock.connectors.trace.arrivals import Arrivals
from penstock.control.goals.goal import Goal
from penstock.control.goals.payback import DEFAULT_PAYBACK, PAYBACK_S
from penstock.control.mpc.policy import Mpc
from penstock.control.mpc.presets import default_mpc
from penstock.control.policy import Policy
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
from penstock.simulate.plant_shape import PlantShape

ORACLE_MARGINS = (0.94, 0.97, 1.0, 1.03, 1.06, 1.1, 1.15)


@dataclass(frozen=True, slots=True)
class Rival:
    """A policy as published, and the values of its settings that are tried to find its best."""

    policy: Any
    tried: tuple[tuple[str, tuple[float, ...]], ...] = ()
    follows_speed_up: bool = True

    def variants(self, speed_up: float, *, quick: bool) -> list[tuple[str, Policy]]:
        """Published setting first (named ''), then the grid; time constants divided by the speed-up."""
        named: list[tuple[str, Any]] = [("", self.policy)]
        choices = [[(name, value) for value in (values[::2] if quick else values)] for name, values in self.tried]
        for chosen in itertools.product(*choices) if choices else ():
            text = ", ".join(f"{name} {value:g}" for name, value in chosen)
            named.append((text, replace(self.policy, **dict(chosen))))
        factor = speed_up if self.follows_speed_up else 1.0
        return [(text, sped_up(policy, factor)) for text, policy in named]


def rivals(highest: int) -> list[Rival]:
    """All of them.  The SPL strategy's 4 s are the paper's for a trace that is already 100 times as fast."""
    bounds = Bounds(1, highest)
    few = tuple(range(max(highest // 3, 1), highest + 1, max(highest // 6, 1)))
    return [
        Rival(Static(highest, bounds), (("replicas", few),)),
        Rival(Thresholds(0.9, 0.8, bounds), (("high", (0.6, 0.7, 0.8, 0.9)), ("low", (0.4, 0.5, 0.6)))),
        Rival(Thresholds(0.95, 0.8, bounds)),
        Rival(
            Spl(bounds=bounds),
            (
                ("congestion", (0.02, 0.05, 0.1)), ("sensitivity", (0.3, 0.6, 0.9)), ("adaptation_s", (1.0, 2.0, 4.0)),
                ("rapid", (False, True)),
            ),
            follows_speed_up=False,
        ),
        Rival(
            Ds2(bounds=bounds),
            (("headroom", (1.1, 1.2, 1.35, 1.5, 1.75)), ("interval_s", (10.0, 300.0, 900.0)), ("warm_up_s", (30.0,))),
        ),
        Rival(
            FlinkAutoscaler(bounds=bounds),
            (
                ("target", (0.5, 0.6, 0.7, 0.8)), ("boundary", (0.1, 0.2, 0.3)), ("window_s", (180.0, 900.0)),
                ("scale_down_delay_s", (0.0, 600.0, 3600.0)), ("stabilisation_s", (60.0, 300.0)),
            ),
        ),
        Rival(
            KubernetesHpa(bounds=bounds),
            (("target", (0.5, 0.6, 0.7, 0.8)), ("stabilisation_s", (0.0, 300.0, 900.0)), ("tolerance", (0.05, 0.1))),
        ),
        Rival(SparkDynamicAllocation(highest, bounds=bounds), (("backlog_s", (0.5, 1.0, 2.0, 5.0)),)),
        Rival(
            SparkBatchRatio(bounds=bounds),
            (("up", (0.6, 0.7, 0.8, 0.9)), ("down", (0.3, 0.4, 0.5)), ("scaling_s", (15.0, 60.0))),
        ),
    ]  # fmt: skip


def our_policy(
    goal: Goal, grid: Grid, shape: PlantShape, *, confidence: float | None = None, payback: float | None = None
) -> Mpc:
    """MPC with its defaults: nothing is set but the goal, where its two settings are not given.

    It is told what a run has to learn or assume: how far apart micro-batches begin at least, what a change costs on
    average, how long replicas take to start.
    """
    pause_s = shape.reconfigure_s + shape.move_s / 2
    lead_steps = round(shape.start_s)
    own = default_mpc(
        goal, grid, pause_s=pause_s, interval_s=shape.interval_s, lead_steps=lead_steps,
        payback=DEFAULT_PAYBACK if payback is None else payback,
    )  # fmt: skip
    return own if confidence is None else replace(own, confidence=confidence)


def our_variants(goal: Goal, grid: Grid, shape: PlantShape, *, quick: bool) -> list[tuple[str, Policy]]:
    """MPC over a grid of its own two settings: what tuning on the load at hand, as the rivals have it, would win."""
    base = our_policy(goal, grid, shape)
    confidences, paybacks_s = ((0.7, 1.4), (5.0,)) if quick else ((0.5, 0.7, 1.0, 1.4, 2.0), (2.0, 5.0, 10.0))
    return [
        (f"confidence {confidence:g}, payback {payback_s:g} s", _tuned(base, confidence, payback_s))
        for confidence in confidences
        for payback_s in paybacks_s
    ]


def _tuned(base: Mpc, confidence: float, payback_s: float) -> Mpc:
    scale = payback_s / PAYBACK_S[DEFAULT_PAYBACK]
    n, f, c = base.weights.gammas
    weights = replace(
        base.weights, gammas=(scale * n, scale * f, scale * c), change=scale * base.weights.change
    )  # fmt: skip
    return replace(base, confidence=confidence, weights=weights)


def oracles(goal: Goal, grid: Grid, shape: PlantShape, arrivals: Arrivals) -> Sequence[tuple[str, Policy]]:
    """The future known, at several margins: the best of them is the oracle."""
    mpc = replace(our_policy(goal, grid, shape), confidence=0.0, least_margin=0.0, horizon=15)
    cheap = replace(mpc, weights=replace(mpc.weights, gammas=(0.005, 0.005, 0.0001), change=0.01))
    return [(f"margin {margin:g}", Oracle(cheap, shape, arrivals, margin)) for margin in ORACLE_MARGINS]
