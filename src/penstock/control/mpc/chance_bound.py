"""Which settings the search of `mpc_chance` need not look at: some other one is cheaper, from wherever it comes."""

from __future__ import annotations

from typing import Any

from numba import njit

from penstock.control.mpc.problem import Floats

_ROUNDING = 1e-9


def _with_rounding(cost: float) -> float:
    """A bound a little higher than it is, so that sums in another order leave out nothing."""
    return cost + _ROUNDING * (1.0 + abs(cost))


with_rounding: Any = njit(nogil=True, cache=True)(_with_rounding)


def _farther_at_most(low: float, high: float, better: float, worse: float, gamma: float) -> float:
    """By how much the way to `better` costs more than that to `worse`, from where it does most: one axis.

    gamma * ((p - better)^2 - (p - worse)^2) is a straight line in p, so that the most is at an end of the axis.
    """
    at_low = (low - better) ** 2 - (low - worse) ** 2
    at_high = (high - better) ** 2 - (high - worse) ** 2
    return gamma * max(at_low, at_high)


farther_at_most: Any = njit(nogil=True, cache=True)(_farther_at_most)


def _room_of(
    u: int, best: int, still: Floats, moved: Floats, pn: Floats, pf: Floats, pc: Floats, gn: float, gf: float, gc: float
) -> tuple[float, float]:
    """What setting u may cost at most to be the next one of any setting: with the same replicas there, with others.

    Beyond that `best`, whose costs are known, is cheaper.
    """
    caps, frequencies = len(pc), len(pf)
    n, best_n = pn[u // (frequencies * caps)], pn[best // (frequencies * caps)]
    f, best_f = pf[u // caps % frequencies], pf[best // caps % frequencies]
    way = farther_at_most(pf[0], pf[-1], best_f, f, gf) + farther_at_most(
        pc[0], pc[-1], pc[best % caps], pc[u % caps], gc
    )
    stays = min(still[best], moved[best]) if n == best_n else moved[best]
    stays += way + gn * (n - best_n) ** 2
    moves = moved[best] + way + farther_at_most(pn[0], pn[-1], best_n, n, gn)
    return with_rounding(stays), with_rounding(moves)


room_of: Any = njit(nogil=True, cache=True)(_room_of)
