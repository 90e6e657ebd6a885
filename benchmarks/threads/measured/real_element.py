"""A real threaded element behind the port that policies see, fed with blocks as fast as it takes them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow as pa

from benchmarks.threads.measured.model_graph import SCHEMA, graph_of
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.thread_control import STEPS_PER_THREAD
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.host.idle_cores import IdleCores
from penstock.measure.element_observation import ElementObservation
from penstock.measure.thread_observation import observation_of
from penstock.simulate.element_model import ElementModel

_LONGEST_S = 20.0


class RealElement:
    """An element made after a model, with a source thread of its own; one `observe` lasts one period.

    That is for some steps of each thread at least, as on Spark.

    `change` makes it another model of the same graph, as a change of the workload does.
    """

    def __init__(
        self, model: ElementModel, *, max_level: int, period_s: float = 1.0, queued: frozenset[str] = frozenset()
    ) -> None:
        self.model, self.max_level, self._period_s, self._threads = model, max_level, period_s, 1
        self._graph, self.works = graph_of(model)
        self.element = ThreadedElement(
            self._graph, DeadLetters(), {}, threads=1, queued=queued, positioned=frozenset(),
            make=lambda operator, graph, letters: self.works[operator.name],
            max_threads=max_level, ordered=False,
        )  # fmt: skip
        values = np.arange(model.block_tuples, dtype=np.float64)
        self._block = Block(SCHEMA, (FixedColumn(values, pa.float64()),), model.block_tuples)
        self.fed_tuples = 0
        self._idle = IdleCores()
        self._ends = False
        self._failure: BaseException | None = None
        self._source = threading.Thread(target=self._feed, name="source", daemon=True)
        self._source.start()

    def observe(self, period_s: float | None = None) -> ElementObservation:
        """A period; one of another length is for a first impression."""
        self._idle.resume()
        if period_s is None:
            self._last_a_period()
        else:
            time.sleep(period_s)
        if self._failure is not None:
            raise self._failure
        seen = observation_of(self.element.observe(), self._graph)
        costs = {name: seen.operator_costs[name] for name in self.model.names}
        return ElementObservation(
            seen.period_s, seen.tuples, seen.throughput_tuples_s, seen.level, self.max_level, costs, seen.queued,
            feeds=self.model.feeds, idle_cores=self._idle.take(),
        )  # fmt: skip

    def _last_a_period(self) -> None:
        element, deadline_s = self.element, time.monotonic() + self._period_s + _LONGEST_S
        wanted = element.steps - element.in_flight + STEPS_PER_THREAD * max(self._threads, 1)
        time.sleep(self._period_s)
        while (
            self._period_s
            and element.steps - element.in_flight < wanted
            and time.monotonic() < deadline_s
            and self._failure is None
        ):
            time.sleep(self._period_s / 10)

    def apply(self, setting: ElementSetting) -> None:
        self._threads = setting.threads
        self.element.set(setting.threads, setting.queued)

    def change(self, model: ElementModel) -> None:
        """Gives operators the costs of another model."""
        _, works = graph_of(model)
        for name, work in works.items():
            self.works[name].flop, self.works[name].wait_s = work.flop, work.wait_s

    def close(self) -> None:
        self._ends = True
        self._source.join()
        self.element.close()

    def __enter__(self) -> RealElement:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _feed(self) -> None:
        try:
            while not self._ends:
                self.element.feed({"source": self._block})
                self.fed_tuples += self._block.rows
            self.element.drain()
        except BaseException as error:
            self._failure = error
