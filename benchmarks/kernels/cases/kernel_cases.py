"""All cases of `python -m benchmarks kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from benchmarks.kernels.cases.functor_cases import functor_cases
from benchmarks.kernels.cases.join_cases import join_cases
from benchmarks.kernels.cases.time_cases import time_cases
from benchmarks.kernels.cases.vwap_cases import vwap_cases
from benchmarks.kernels.cases.window_cases import window_cases
from benchmarks.kernels.job import Case
from penstock.errors import InputError, did_you_mean


def all_cases() -> list[Case]:
    """Every case, in the order of the table."""
    return [*vwap_cases(), *functor_cases(), *window_cases(), *time_cases(), *join_cases()]


def chosen_cases(patterns: Sequence[str]) -> list[Case]:
    """The cases whose names match any pattern ('vwap_*'), or all of them without patterns."""
    cases = all_cases()
    names = [case.name for case in cases]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names)
            known = "filter, projection, vwap_*, tumbling_*, sliding_*, time_*, join_*"
            raise InputError(f"there is no case '{pattern}'; there are: {known}" + (f"; {hint}" if hint else ""))
    return [case for case in cases if not patterns or any(fnmatchcase(case.name, pattern) for pattern in patterns)]
