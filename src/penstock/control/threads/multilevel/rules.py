"""The settings of multi-level elasticity: the paper's as printed, and ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from penstock.control.threads.level_search import DEFAULT_RULES, LevelRules


@dataclass(frozen=True, slots=True)
class MultiLevelRules:
    """What the paper sets or leaves open.

    `sensitivity` (SENS) is the least relative difference that makes a trend among groups; pieces go by `levels`. Thread
    counts that brought more than `satisfaction` of what the same efficiency would bring keep their queues; None always
    looks at queues again.
    `history` skips thread counts within the range that the placement has worked well for. `placement` is how queues are
    placed: by groups of like cost with a random subset of one group (the paper), or so that the pieces between queues
    cost about the same. `take_back`: a trial within a group that made no trend is undone; as printed it is kept, and
    history then hardly ever meets a placement that stayed. `whole_group_first`: a group is tried whole, and split where
    that is slower (3.1); else a search begins with half of it, which Figure 4 allows, too. `keep_best` ends with the
    best setting seen, not with the last one of the search.
    """

    sensitivity: float = 0.05
    satisfaction: float | None = 0.6
    history: bool = True
    placement: Literal["groups", "pieces"] = "pieces"
    take_back: bool = False
    whole_group_first: bool = True
    keep_best: bool = True
    bin_base: float = 10.0
    start_threads: int = 2
    levels: LevelRules = DEFAULT_RULES
    change_tolerance: float = 0.1
    seed: int = 1


OURS = MultiLevelRules(levels=replace(DEFAULT_RULES, trend=0.02))
# Section 3.1, Figures 4 and 7 as printed
PAPER = replace(OURS, placement="groups", keep_best=False, levels=LevelRules(gain=0.05, least_gain=0.05, give=0.0))


def with_settings(rules: MultiLevelRules, sensitivity: float | None, satisfaction: float | None) -> MultiLevelRules:
    """The rules with a user's; of pieces, `sensitivity` is the least gain of more queues or threads."""
    rules = replace(rules, satisfaction=satisfaction)
    if sensitivity is None:
        return rules
    levels = rules.levels if rules.placement == "groups" else replace(rules.levels, least_gain=sensitivity)
    return replace(rules, sensitivity=sensitivity, levels=levels)


def without_optimisations(rules: MultiLevelRules) -> MultiLevelRules:
    """Neither history nor satisfaction factor: every thread count looks at queues again."""
    return replace(rules, history=False, satisfaction=None, levels=replace(rules.levels, trend=None))
