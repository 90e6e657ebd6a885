"""The optimum of MPC by trying every trajectory."""

from __future__ import annotations

import itertools

from penstock.control.mpc_problem import BacklogProblem, TableProblem


def exhaustive(problem: TableProblem | BacklogProblem, settings: int) -> tuple[tuple[int, ...], float]:
    """The best trajectory and its cost."""
    trajectories = itertools.product(range(settings), repeat=problem.horizon)
    best = min(trajectories, key=problem.cost)
    return best, problem.cost(best)
