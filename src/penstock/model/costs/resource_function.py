"""A resource function: CPU in cores, or tuples/s of an output, as a polynomial of the input rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

BAND_QUANTILE = NormalDist().inv_cdf(0.99)  # both sides together leave 2 % outside: a 98 % band


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient times a product of powers of the input rates; a port beyond the end of `powers` has power 0.

    >>> Term((2,), 0.5).basis([3.0])
    9.0
    """

    powers: tuple[int, ...]
    coefficient: float

    def basis(self, rates: Sequence[float]) -> float:
        """The product of powers alone."""
        return math.prod(rate**power for rate, power in zip(rates, self.powers, strict=False) if power)


@dataclass(frozen=True, slots=True)
class ResourceFunction:
    """A sum of terms over the rates of the input ports, in tuples/s (MODEL, Equations 1 and 2).

    `covariance` is that of the coefficients, in the order of the terms; empty where the function is exact.
    `noise` is the standard deviation of one measurement around the function.

    >>> cost = ResourceFunction((Term((0,), 0.01), Term((1,), 2e-6)))
    >>> round(cost.at([50_000]), 6)
    0.11
    >>> print(cost, "|", ResourceFunction((Term((0,), 0.01), Term((1,), -2e-6))))
    0.01 + 2e-06 r | 0.01 - 2e-06 r
    """

    terms: tuple[Term, ...]
    covariance: tuple[tuple[float, ...], ...] = ()
    noise: float = 0.0

    @property
    def ports(self) -> int:
        return max((len(term.powers) for term in self.terms), default=0)

    @property
    def degree(self) -> int:
        return max((sum(term.powers) for term in self.terms), default=0)

    def at(self, rates: Sequence[float]) -> float:
        """The value at some rates; never below 0."""
        return max(sum(term.coefficient * term.basis(rates) for term in self.terms), 0.0)

    def variance(self, rates: Sequence[float]) -> float:
        """The variance of a prediction: that of the coefficients, and that of a measurement."""
        basis = [term.basis(rates) for term in self.terms]
        own = sum(basis[i] * basis[j] * value for i, row in enumerate(self.covariance) for j, value in enumerate(row))
        return max(own, 0.0) + self.noise**2

    def band(self, rates: Sequence[float]) -> tuple[float, float]:
        """Between which values 98 % of measurements are expected."""
        half = BAND_QUANTILE * math.sqrt(self.variance(rates))
        return max(self.at(rates) - half, 0.0), self.at(rates) + half

    def __str__(self) -> str:
        return " + ".join(_term_text(term) for term in self.terms).replace("+ -", "- ") or "0"


def _term_text(term: Term) -> str:
    several = len(term.powers) > 1
    factors = [
        f"r{port + 1 if several else ''}" + (f"^{power}" if power > 1 else "")
        for port, power in enumerate(term.powers)
        if power
    ]
    return " ".join([f"{term.coefficient:.4g}", *factors])
