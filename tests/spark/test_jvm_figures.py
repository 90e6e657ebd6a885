"""What is made of the JVM's figures, without a JVM."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spark import jvm_figures
from penstock.spark.jvm_figures import JvmClock


def task(partition: int, cpu_ns: int, deserialize_ns: int = 0) -> dict[str, Any]:
    metrics = {"executorCpuTime": cpu_ns, "executorDeserializeCpuTime": deserialize_ns}
    return {"partitionId": partition, "taskMetrics": metrics}


def test_cpu_of_a_partition_is_that_of_all_its_attempts() -> None:
    first = {"status": "COMPLETE", "tasks": {"1": task(0, 10**9), "2": task(1, 2 * 10**9, 10**8)}}
    second = {"status": "FAILED", "tasks": {"3": task(0, 10**9), "4": {"partitionId": 1}}}
    stage = jvm_figures._merged([first, second])
    assert jvm_figures._cpu_s_by_partition(stage) == pytest.approx({0: 2.0, 1: 2.1})
    assert jvm_figures._merged([]) == {"tasks": []}


@pytest.mark.parametrize(
    ("status", "text", "belongs"),
    [
        ("COMPLETE", "<br/>id = x<br/>runId = run-1<br/>batch = 12", True),
        ("ACTIVE", "<br/>id = x<br/>runId = run-1<br/>batch = 12", False),  # its figures are not whole yet
        ("COMPLETE", "<br/>id = x<br/>runId = run-2<br/>batch = 12", False),
        ("COMPLETE", "<br/>id = x<br/>runId = run-1<br/>batch = 112", False),
        ("COMPLETE", "something else", False),
    ],
)
def test_a_stage_is_known_by_its_run_and_batch(status: str, text: str, belongs: bool) -> None:
    assert jvm_figures._belongs({"status": status, "description": text}, 12, "run-1") is belongs


def test_a_reading_costs_its_time_or_on_a_busy_machine_what_the_jvm_used() -> None:
    assert jvm_figures._cost_s(0.002, 1.0, 1.0) == 0.002
    assert jvm_figures._cost_s(0.5, 1.0, 1.06) == pytest.approx(0.06)
    assert jvm_figures._cost_s(0.5, 1.0, 3.0) == 0.5
    assert jvm_figures._cost_s(0.5, None, None) == 0.5


def session(master: str, pid: int) -> Any:
    gateway = SimpleNamespace(proc=SimpleNamespace(pid=pid))
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, _gateway=gateway))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_the_clock_reads_the_cpu_of_a_process_on_a_local_master_only() -> None:
    before = os.times()
    own = JvmClock(session("local[2]", os.getpid()))()
    after = os.times()
    assert own is not None
    assert before.user + before.system - 0.02 <= own <= after.user + after.system + 0.02
    assert JvmClock(session("spark://host:7077", os.getpid()))() is None
    assert JvmClock(session("local[2]", 2**22 + 1))() is None  # no such process
