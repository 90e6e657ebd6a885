"""Which rates a profile runs at, and when it is good enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import InputError
from penstock.model.costs.learning.samples import ElementSample, Sample
from penstock.runtime.profiling.rate_plan import HIGHEST_RATE, checked_rates, doubtful, next_probe, rates_below
from tests.unit.model.costs.test_learned_profile import profile


def sample(tuples: int, wall_s: float, cpu_s: float) -> Sample:
    element = ElementSample(cpu_s, cpu_s, cpu_s, cpu_s, 1, {}, {}, {}, {})
    return Sample(float(tuples), wall_s, None, None, {"e": element})


def linear(rate: int) -> Sample:
    return sample(rate, 0.5 + 5e-6 * rate, 0.02 + 1e-6 * rate)  # on a machine that others use, too


def test_probes_go_up_until_a_micro_batch_is_half_full() -> None:
    probes, rate = [], 2000
    while rate is not None:
        probes.append((rate, linear(rate)))
        rate = next_probe(rate, probes[-1][1])
    rates = rates_below(probes)
    assert len(rates) == 5
    assert rates[-1] == pytest.approx(580_000, rel=0.01)  # 0.2 s + 0.02 s + 1 us each = 0.8 s
    assert rates[0] == pytest.approx(rates[-1] / 10, rel=0.01)


def test_nothing_goes_beyond_the_largest_micro_batch() -> None:
    cheap = [(HIGHEST_RATE, sample(HIGHEST_RATE, 0.1, 0.01))]
    assert next_probe(*cheap[0]) is None
    assert rates_below(cheap)[-1] == HIGHEST_RATE


def test_a_first_probe_that_is_full_already_gives_lower_rates() -> None:
    assert rates_below([(2000, sample(2000, 8.0, 8.0))])[-1] <= 500


@pytest.mark.parametrize("rates", ["10", [0], ["x"], 5, [1, float("nan"), 3], [1, 2, 10**9]])
def test_what_is_no_rate_is_refused(rates: Any) -> None:
    with pytest.raises(InputError, match=r"rates of ps\.profile is a list of numbers"):
        checked_rates(rates)


def test_two_rates_are_refused() -> None:
    with pytest.raises(InputError, match="a profile needs points at 3 different rates at least; got 2"):
        checked_rates([10, 20, 20])
    assert checked_rates([30.0, 10, 20]) == (10, 20, 30)


def test_wide_bands_are_doubtful() -> None:
    good = profile()
    assert doubtful(good, {"numbers": 1e5}) == {}
    operators = tuple(replace(o, cpu=replace(o.cpu, noise=0.1)) for o in good.operators if o.name == "half")
    rough = replace(good, operators=tuple(operators[0] if o.name == "half" else o for o in good.operators))
    assert list(doubtful(rough, {"numbers": 1e5})) == ["half"]
