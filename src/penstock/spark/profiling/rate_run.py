"""An application that runs for a profile: micro-batches of a given size, back to back, each measured whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from types import TracebackType

from pyspark.sql import SparkSession

from penstock.app.graph import Graph
from penstock.errors import PenstockError
from penstock.host.directories import scratch_folder
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.spark.driver.start import launch
from penstock.state.checkpoint.checkpoint import Checkpoint

_SETTLING = 2  # micro-batches after a change that still compile, fork or rebuild something
LEAST_BATCHES = 4
_SAME_SIZE = 0.05
_PATIENCE_S = 180.0
_POLL_S = 0.1
Tell = Callable[[float], None]  # the share of a visit that is over


class RateRun:
    """A running application whose sources have no schedule; a micro-batch of n tuples stands for n tuples/s."""

    def __init__(self, graph: Graph, configuration: Configuration, session: SparkSession) -> None:
        scratch = scratch_folder()
        try:
            self._handle = launch(
                graph, Checkpoint(scratch.path), LetterBox(None), scratch=scratch, session=lambda: session,
                configuration=configuration, measures_all=True,
            )  # fmt: skip
        except BaseException:
            scratch.remove()
            raise

    def __enter__(self) -> RateRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._handle.stop()
        except PenstockError:
            if error is None:
                raise

    def visit(self, configuration: Configuration, tuples: int, seconds: float, tell: Tell) -> list[Observation]:
        """Runs micro-batches of so many tuples for some seconds, and gives what was measured of those that settled.

        There are four at least, however long they take.
        """
        self._handle.apply(replace(configuration, micro_batch_tuples=tuples))
        before, began_s = self._newest(), time.monotonic()
        names = {element.name for element in configuration.elements}
        while True:
            self._handle.wait(_POLL_S)
            elapsed_s = time.monotonic() - began_s
            seen = [o for o in list(self._handle.result.observations) if o.batch > before]
            found = _alike([o for o in seen if set(o.replicas_by_element) == names and o.tuples_in], tuples)
            tell(min(elapsed_s / seconds, 1.0))
            if elapsed_s >= seconds and len(found) >= LEAST_BATCHES:
                return found
            if elapsed_s > seconds + _PATIENCE_S:
                raise PenstockError(
                    f"micro-batches of {tuples:,} tuples take too long to be profiled: {len(found)} of them in "
                    f"{elapsed_s:.0f} s; give lower rates"
                )

    def _newest(self) -> int:
        newest = self._handle.observe()
        return -1 if newest is None else newest.batch


def _alike(seen: list[Observation], tuples: int) -> list[Observation]:
    """The micro-batches of one size, without those that settled."""
    sized = [o for o in seen if o.tuples_in <= tuples * (1 + _SAME_SIZE)][_SETTLING:]
    if not sized:
        return []
    size = median(o.tuples_in for o in sized[len(sized) // 2 :])
    return [o for o in sized if abs(o.tuples_in - size) <= _SAME_SIZE * size]
