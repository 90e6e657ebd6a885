"""Which rates a profile runs at, and when what was learned is good enough: decisions alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.arguments import is_number, shown
from penstock.errors import InputError
from penstock.model.costs.learning.samples import Sample
from penstock.model.costs.least_squares import check_points
from penstock.model.costs.profile import Profile

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the highest rate
FIRST_RATE, HIGHEST_RATE = 2_000, 8_388_608
_GROWTH = 4
_FULL_S = 0.8  # of a micro-batch's second: more would be saturated
_BUSY_CORES = 0.85
_FIXED_S = 0.2  # of a micro-batch, besides its stages, at most
_GOOD_BAND = 0.03  # half of a 98 % band, relative to the prediction
_GOOD_CORES = 0.01


def checked_rates(rates: Sequence[float] | None) -> tuple[int, ...] | None:
    """What a caller gave, lowest first; InputError for what is no rate, and for fewer than three."""
    if rates is None:
        return None
    if isinstance(rates, str | bytes) or not isinstance(rates, Sequence) or not all(_is_rate(own) for own in rates):
        raise InputError(
            f"rates of ps.profile is a list of numbers from 1 to {HIGHEST_RATE}, in tuples/s; got {shown(rates)}"
        )
    found = tuple(sorted({round(own) for own in rates}))
    check_points([(float(own),) for own in found], "a profile")
    return found


def _is_rate(value: object) -> bool:
    return is_number(value) and 1 <= float(value) <= HIGHEST_RATE


def busiest_cores(sample: Sample) -> float:
    """The CPU of the element that has most to do."""
    return max((own.busiest_cpu_s for own in sample.elements.values()), default=0.0)


def filled_s(sample: Sample) -> float:
    """How long a micro-batch takes where nobody else uses the cores: no longer than its stages have CPU to use."""
    return min(sample.wall_s, _FIXED_S + sum(own.busiest_cpu_s for own in sample.elements.values()))


def next_probe(rate: int, sample: Sample) -> int | None:
    """A higher rate to try on the way to the highest one; None where this one is high enough."""
    if rate >= HIGHEST_RATE or filled_s(sample) >= _FULL_S / 2 or busiest_cores(sample) >= _BUSY_CORES / 2:
        return None
    return min(rate * _GROWTH, HIGHEST_RATE)


def rates_below(probes: Sequence[tuple[int, Sample]]) -> tuple[int, ...]:
    """The rates of a profile: shares of the highest one, at which a micro-batch takes about its second.

    The highest rate goes on from the last two probes in a straight line.
    """
    (low, before), (high, last) = probes[-2] if len(probes) > 1 else (0, None), probes[-1]
    limits = [_rate_within(low, high, None if before is None else filled_s(before), filled_s(last), _FULL_S)]
    cores = None if before is None else busiest_cores(before)
    limits.append(_rate_within(low, high, cores, busiest_cores(last), _BUSY_CORES))
    highest = max(min(*limits, HIGHEST_RATE), 10)
    return tuple(sorted({max(round(highest * share), 1) for share in SHARES}))


def _rate_within(low: int, high: int, before: float | None, last: float, limit: float) -> float:
    """The rate at which a line through two probes reaches a limit; between a quarter and four times the last."""
    slope = (last - (before or 0.0)) / (high - low)
    reached = high + (limit - last) / slope if slope > 0 else high * _GROWTH
    return min(max(reached, high / _GROWTH), high * _GROWTH)


def doubtful(profile: Profile, highest: Mapping[str, float]) -> dict[str, float]:
    """Elements whose 98 % band is too wide at the highest rates or at half of them, and how wide it is."""
    found: dict[str, float] = {}
    for share in (0.5, 1.0):
        predicted = profile.predict({name: rate * share for name, rate in highest.items()})
        for name, own in predicted.elements.items():
            half = (own.high - own.low) / 2
            if half > max(_GOOD_BAND * own.cpu_cores, _GOOD_CORES):
                found[name] = max(found.get(name, 0.0), half / own.cpu_cores if own.cpu_cores else 1.0)
    return found
