"""A policy that runs a threaded element while it works."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import penstock as ps
from penstock.control.element_controller import ElementController
from penstock.control.element_setting import ElementSetting
from penstock.element.block import Block, block_of
from penstock.element.dead_letters import DeadLetters
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.measure.element_observation import ElementObservation
from tests.reference.threaded import within_time

SCHEMA = {"x": "int64"}


def waiting_element(wait_ms: float, **options: object) -> ThreadedElement:
    app = ps.Application("waiting")
    numbers = app.source("numbers", schema=SCHEMA)
    numbers.load("first", wait_ms_per_block=wait_ms).load("second", wait_ms_per_block=wait_ms).sink("out")
    return ThreadedElement(app.graph, DeadLetters(), {"out": "out"}, **options)  # type: ignore[arg-type]


def one_block() -> dict[str, Block]:
    table = pa.table({"x": pa.array([1, 2, 3], pa.int64())})
    return {"numbers": block_of(table, table.schema)}


class Climbing:
    """A policy that wakes a thread each period, puts a queue in front of 'second', and settles at four threads."""

    def start(self, observation: ElementObservation) -> tuple[int, ElementSetting]:
        return 1, ElementSetting(1, observation.queued)

    def decide(self, state: int, observation: ElementObservation) -> tuple[int, ElementSetting, str]:
        threads = min(state + 1, 4)
        return threads, ElementSetting(threads, observation.queued | {"second"}), f"saw {observation.level} threads"

    def settled(self, state: int) -> bool:
        return state == 4


def fed_while(element: ThreadedElement, controller: ElementController, steps: int) -> None:
    """Feeds the element until the controller has decided so many times."""

    def feed() -> None:
        while len(controller.journal) < steps:
            element.feed(one_block())
        element.drain()

    within_time(feed)


def test_a_policy_sets_threads_and_queues_while_blocks_come() -> None:
    with waiting_element(1, queued=["first"], threads=1) as element:
        with ElementController(element, Climbing(), period_s=0.02) as controller:
            assert not controller.settled
            fed_while(element, controller, 6)
            assert controller.settled
        figures = element.observe()
    steps = list(controller.journal)
    assert [step.setting.threads for step in steps][:5] == [1, 2, 3, 4, 4]
    assert [step.reason for step in steps][:4] == [f"saw {n} threads" for n in (1, 2, 3, 4)]
    assert (figures.threads, figures.queued) == (4, {"first", "second"})


def test_time_without_input_is_no_period() -> None:
    element = waiting_element(0, queued=["first"], threads=1)
    with element, ElementController(element, Climbing(), period_s=0.02) as controller:
        fed_while(element, controller, 2)
        time.sleep(0.05)
        steps = len(controller.journal)
        time.sleep(0.2)
        assert len(controller.journal) == steps
        fed_while(element, controller, steps + 2)


class Broken(Climbing):
    def decide(self, state: int, observation: ElementObservation) -> tuple[int, ElementSetting, str]:
        raise ZeroDivisionError("by a policy")


def test_a_policy_that_fails_is_told_when_the_controller_is_closed() -> None:
    with waiting_element(0) as element:
        controller = ElementController(element, Broken(), period_s=0.001)
        while controller._failure is None:
            element.feed(one_block())
        with pytest.raises(ZeroDivisionError, match="by a policy"):
            controller.close()
