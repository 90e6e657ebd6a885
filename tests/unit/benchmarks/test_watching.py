"""Waiting for micro-batches of a run so long that it has forgotten its first Observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.spark.watching import later_than, newest_batch, taken_by, watch_batches, watch_for
from penstock.measure.observation import Observation
from penstock.watch.run_result import RunResult
from penstock.watch.summary import summary_of

_MOST = 4


class ForgetfulHandle:
    """Makes one micro-batch of 10 tuples per wait, and has the newest four alone."""

    def __init__(self, batches: int) -> None:
        self.result = RunResult()
        for _ in range(batches):
            self.wait()

    def observe(self) -> Observation | None:
        return self.result.observations[-1] if self.result.observations else None

    def wait(self, timeout_s: float | None = None) -> bool:
        own = self.result.observations
        number = own[-1].batch + 1 if own else 0
        own.append(Observation(number, float(number), 1.0, 10, 1))
        if len(own) > _MOST:
            self.result.earlier = summary_of(own[:-_MOST], self.result.earlier)
            del own[:-_MOST]
        return False


def _silent(text: str) -> None:
    pass


def batches_of(watch: Callable[..., list[Observation]], *given: Any) -> list[int]:
    return [own.batch for own in watch(*given)]


def test_micro_batches_are_counted_by_number_and_not_by_what_is_left_of_them() -> None:
    handle: Any = ForgetfulHandle(50)
    assert newest_batch(handle) == 49
    assert batches_of(watch_batches, handle, 3, _silent, "three") == [50, 51, 52]
    assert batches_of(watch_for, handle, 0.0, _silent, "some") == [53, 54, 55]
    assert batches_of(later_than, handle, 54) == [55]


def test_tuples_of_forgotten_micro_batches_count() -> None:
    handle: Any = ForgetfulHandle(50)
    assert taken_by(handle, newest_batch(handle)) == 500
    assert taken_by(handle, 47) == 480
    assert taken_by(ForgetfulHandle(0), -1) == 0  # type: ignore[arg-type]
