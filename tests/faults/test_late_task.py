"""A task that outlives its driver must not pass for one of the next driver's."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import sinks
from penstock.errors import StaleAttemptError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.executors import worker
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from tests.spark.applications import prices


class LateContext:
    """What Spark tells a task: batch 0, and an attempt number that the next driver has not come to yet."""

    @staticmethod
    def get() -> LateContext:
        return LateContext()

    def getLocalProperty(self, name: str) -> str | None:
        return "0" if name == "streaming.sql.batchId" else None

    def partitionId(self) -> int:
        return 0

    def taskAttemptId(self) -> int:
        return 500


def test_a_task_of_an_earlier_driver_is_refused_though_it_reads_the_new_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "TaskContext", LateContext)
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path / "host"))
    graph, checkpoint = prices(sinks.discard(), 10).graph, Checkpoint(tmp_path)
    checkpoint.fix(graph, slots=512, now_s=0.0, durable=False, dumps=dumps_for_workers)
    checkpoint.write_plan(BatchPlan(0, 2, None, default_configuration(pipeline_of(graph), 1)))
    with pytest.raises(StaleAttemptError, match="a task of driver 1 came too late: batch 0 is driver 2's"):
        list(worker.run_element(str(tmp_path), 1, (), 1, iter([])))
    assert list(worker.run_element(str(tmp_path), 2, (), 1, iter([])))
