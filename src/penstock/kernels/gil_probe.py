"""A sleep that tells when it ended, before the GIL is taken back."""

from __future__ import annotations

from typing import Any

from numba import njit, types

_usleep: Any = types.ExternalFunction("usleep", types.int32(types.uint32))
_clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.CPointer(types.int64)))  # type: ignore[no-untyped-call]
_MONOTONIC = 1
SINCE, HELD, CPU, WORDS = 2, 3, 4, 5  # of `moment`, in nanoseconds


@njit(nogil=True, cache=True)
def sleep_then_stamp(sleep_us, moment, clock):  # type: ignore[no-untyped-def]
    """Sleeps, and gives the nanoseconds of the monotonic clock at which it woke up; `moment` has `WORDS` int64.

    The calling thread waits for the GIL only afterwards: what the clock shows then, less this, is that wait. Until the
    next sleep it may have the GIL: since when is in `moment[SINCE]`, 0 while it sleeps; how long before, in `HELD`.
    What `clock` showed when it woke up, the CPU clock of another thread, is in `CPU`.
    """
    if moment[SINCE]:
        _clock_gettime(_MONOTONIC, moment.ctypes)
        moment[HELD] += moment[0] * 1_000_000_000 + moment[1] - moment[SINCE]
        moment[SINCE] = 0
    _usleep(sleep_us)
    _clock_gettime(clock, moment.ctypes)
    moment[CPU] = moment[0] * 1_000_000_000 + moment[1]
    _clock_gettime(_MONOTONIC, moment.ctypes)
    moment[SINCE] = moment[0] * 1_000_000_000 + moment[1]
    return moment[SINCE]
