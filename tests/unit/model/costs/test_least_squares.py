"""Resource functions: the lowest polynomial that fits, several ports, covariance and bands."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import InputError
from penstock.model.costs.least_squares import fit, student
from penstock.model.costs.resource_function import BAND_QUANTILE, ResourceFunction, Term


def test_a_line_is_found_with_its_offset_and_without_higher_terms() -> None:
    found = fit([[r] for r in (1e3, 2e3, 5e3, 9e3)], [0.1 + 2e-5 * r for r in (1e3, 2e3, 5e3, 9e3)])
    assert found.degree == 1
    assert [term.coefficient for term in found.terms] == pytest.approx([0.1, 2e-5])
    assert found.variance([5e3]) == 0.0


def test_a_parabola_is_found_where_a_line_does_not_fit() -> None:
    rates = [1e3 * k for k in range(1, 9)]
    found = fit([[r] for r in rates], [0.01 + 1e-9 * r * r for r in rates])
    assert found.degree == 2
    assert found.at([4500.0]) == pytest.approx(0.01 + 1e-9 * 4500**2)


def test_noise_alone_does_not_raise_the_degree() -> None:
    chance = np.random.default_rng(3)
    rates = np.linspace(1e3, 1e4, 12)
    degrees = [fit([[r] for r in rates], 3e-5 * rates * chance.normal(1, 0.02, 12)).degree for _ in range(40)]
    assert degrees.count(1) >= 36


def test_three_points_never_give_a_curve_through_all_of_them() -> None:
    assert fit([[1.0], [2.0], [3.0]], [1.0, 4.0, 9.0]).degree == 1


def test_a_plane_over_two_ports_is_found_from_five_points_of_a_grid() -> None:
    grid = [(1e3, 1e3), (5e3, 1e3), (1e3, 5e3), (3e3, 3e3), (5e3, 5e3)]
    found = fit(grid, [0.02 + 1e-5 * a + 3e-5 * b for a, b in grid])
    assert found.at([2e3, 4e3]) == pytest.approx(0.02 + 0.02 + 0.12)


def test_the_band_holds_98_percent_of_new_measurements() -> None:
    chance = np.random.default_rng(7)
    rates = np.linspace(1e3, 1e4, 6)
    inside = 0
    for _ in range(2000):
        found = fit([[r] for r in rates], 0.05 + 3e-5 * rates + chance.normal(0, 0.005, 6), degree=1)
        low, high = found.band([7e3])
        inside += low <= 0.05 + 0.21 + chance.normal(0, 0.005) <= high
    assert 0.97 <= inside / 2000 <= 0.99


def test_the_band_is_the_normal_one_of_the_covariance() -> None:
    own = ResourceFunction((Term((0,), 0.1), Term((1,), 1e-5)), ((1e-4, 0.0), (0.0, 1e-14)))
    half = BAND_QUANTILE * (1e-4 + 1e-14 * 1e8) ** 0.5
    assert own.band([1e4]) == pytest.approx((0.2 - half, 0.2 + half))


def test_students_t_goes_down_to_the_normal_quantile() -> None:
    values = [student(freedom) for freedom in range(1, 200)]
    assert values == sorted(values, reverse=True)
    assert student(15) == pytest.approx(2.602, abs=0.005)
    assert student(10**6) == pytest.approx(BAND_QUANTILE, abs=1e-4)


def test_two_rates_are_too_few() -> None:
    with pytest.raises(InputError, match="needs points at 3 different rates at least; got 2: any line fits two points"):
        fit([[1.0], [2.0], [2.0]], [1.0, 2.0, 2.1])


def test_a_port_that_never_changes_cannot_be_told_from_the_offset() -> None:
    with pytest.raises(InputError, match="of 2 input ports needs 3 points that differ in every port"):
        fit([(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)], [1.0, 2.0, 3.0])


def test_relative_errors_let_small_values_count() -> None:
    rates, disturbed = [[1e4], [2e4], [4e4], [8e4]], [0.1, 0.2, 0.4, 1.2]  # the last is half as much again
    absolute, relative = (fit(rates, disturbed, degree=1, relative=own) for own in (False, True))

    def error(found: ResourceFunction) -> float:
        return sum((found.at(own) / value - 1) ** 2 for own, value in zip(rates, disturbed, strict=True))

    assert error(relative) < 0.7 * error(absolute)
    exact = fit(rates, [1e-5 * own[0] for own in rates], relative=True)
    assert exact.at([5e4]) == pytest.approx(0.5)
    assert fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 0.0], relative=True).at([5.0]) == 0.0


def test_rates_that_differ_by_less_than_a_measurement_are_one() -> None:
    with pytest.raises(InputError, match="3 different rates at least; got 2"):
        fit([[10_000.0], [10_060.0], [20_000.0], [20_010.0]], [0.1, 0.11, 0.2, 0.21])
    assert fit([(1e4, 5e3), (1e4, 6e3), (2e4, 5e3)], [0.15, 0.16, 0.25]).at([2e4, 6e3]) == pytest.approx(0.26)


def test_rates_that_differ_by_a_tuple_are_no_points_of_a_higher_degree() -> None:
    """A micro-batch of a join's sources is dealt out with one tuple more or less: three rates, not five."""
    rates = [[4_194_304.0], [2_097_152.0], [838_861.0], [2_097_151.5], [2_097_152.0]]
    cores = [0.052120762326269984, 0.026427490261053423, 0.012199191853590138, 0.0332942075265958, 0.02430928505747094]
    elements = [0.2249887657000034, 0.11754102310000265, 0.05493659999999581, 0.15570014609999647, 0.10058738409999983]
    assert fit(rates, cores, relative_to=elements).at([3e6]) == pytest.approx(0.038, rel=0.05)


def test_errors_relative_to_larger_measurements_do_not_follow_what_is_left_of_them() -> None:
    """What is left of a functor's element are thousandths, and its error a share of the whole element."""
    chance, rates = np.random.default_rng(5), [[2e5], [5e5], [1e6]]
    element, left = np.array([0.03, 0.06, 0.11]), np.array([0.001, 0.0025, 0.005])
    errors = np.zeros(2)
    for _ in range(300):
        measured = left + element * chance.normal(0, 0.02, 3)
        found = fit(rates, measured, degree=1, relative_to=element), fit(rates, measured, degree=1, relative=True)
        errors += [(own.at([7.5e5]) - 0.00375) ** 2 for own in found]
    assert errors[0] < 0.8 * errors[1]
