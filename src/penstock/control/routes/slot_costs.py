"""What a tuple of each slot costs: the CPU of replicas regressed on their tuples by slot.

    C_k = C w_k                                                                                        PROACTIVE, C_k
C_k is the cost of a tuple of slot k, C the mean cost of a tuple of the element, w_k the weight of the slot.  A
replica r that has n_k tuples of its slots k takes y_r = C * sum(w_k n_k).  Weights follow by steps of normalised
least squares: each takes a part of the error away, and changes no more than it must:
    w_k += pace * (y_r / C - sum(w_j n_j)) * n_k / sum(n_j ** 2)
Where slots run apart, as those with calls of Python do, each is timed: its weight is the mean of what was measured
first, and follows that later.  A route that went by weights on their way up would be as uneven as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.measure.observation import ReplicaObservation
from penstock.plan.configuration import ElementConfiguration

Floats = npt.NDArray[np.float64]
_PACE = 0.1  # of an error of 10 % in each micro-batch about 2 % are left in the weights of a replica
_TIMED_PACE = 0.3  # of a slot whose own CPU was measured
_LEAST = 0.02  # no tuple costs less, for the mean


class SlotCosts:
    """The weights of one element's slots: 1 for a tuple that costs as much as the mean."""

    def __init__(self, slots: int) -> None:
        self.weights: Floats = np.ones(slots)
        self._times = np.zeros(slots)  # a slot was timed

    def learn(self, counts: Sequence[int], own: ElementConfiguration, replicas: Sequence[ReplicaObservation]) -> None:
        """Takes one micro-batch in; if it is unknown who served which slot, nothing."""
        tuples = np.asarray(counts, np.float64)
        spent = _spent_s(own, replicas)
        if spent is None or len(counts) != len(own.route) or not tuples.sum():
            return
        mean_s = spent.sum() / tuples.sum()
        for replica, work in enumerate(_shares(tuples, own)):
            square = float(work @ work)
            if square:
                error = spent[replica] / mean_s - float(self.weights @ work)
                self.weights = np.maximum(self.weights + _PACE * error * work / square, _LEAST)
        self.weights *= tuples.sum() / float(self.weights @ tuples)

    def learn_timed(self, counts: Sequence[int], cpu_us: Sequence[int]) -> None:
        """Takes the measured CPU of each slot in; slots without tuples keep what is known of them."""
        tuples, spent = np.asarray(counts, np.float64), np.asarray(cpu_us, np.float64)
        seen = tuples > 0
        if len(tuples) != len(self.weights) or len(spent) != len(tuples) or not spent[seen].sum():
            return
        mean_us = spent[seen].sum() / tuples[seen].sum()
        measured = np.maximum(spent[seen] / tuples[seen] / mean_us, _LEAST)
        self._times[seen] += 1
        pace = np.maximum(1 / self._times[seen], _TIMED_PACE)
        self.weights[seen] += pace * (measured - self.weights[seen])

    def shares(self, counts: Sequence[int]) -> Floats:
        """How much of an element's work each slot has."""
        work = np.asarray(counts, np.float64) * self.weights
        shares: Floats = work / work.sum()
        return shares


def _spent_s(own: ElementConfiguration, replicas: Sequence[ReplicaObservation]) -> Floats | None:
    """CPU of each replica, or its time where CPU was not measured; None unless all of several are there."""
    by_number = {seen.replica: seen for seen in replicas}
    if own.replicas < 2 or set(by_number) != set(range(own.replicas)) or len(replicas) != own.replicas:
        return None
    seen = [by_number[number] for number in range(own.replicas)]
    spent = np.array([r.cpu_s for r in seen] if all(r.cpu_s > 0 for r in seen) else [r.busy_s for r in seen])
    return spent if spent.sum() > 0 else None


def _shares(tuples: Floats, own: ElementConfiguration) -> list[Floats]:
    """The tuples by slot of each replica; slots that are spread over all have a like part on each."""
    route, spread = np.array(own.route), np.zeros(len(own.route), np.bool_)
    spread[list(own.split)] = True
    return [np.where(spread, tuples / own.replicas, np.where(route == r, tuples, 0.0)) for r in range(own.replicas)]
