"""What is made of the JVM's figures, without a JVM."""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spark.driver import jvm_figures
from penstock.spark.driver.jvm_figures import JvmClock, JvmReading, reading_of


def test_the_newest_stages_of_a_batch_are_those_of_its_elements() -> None:
    text = "1500000;12;{addBatch=30, walCommit=4};7:0=9 ;7:0=1000000000 ;8:0=7 ;7:0=2000000000 1=500000000 "
    reading, listened_s = reading_of(text)
    assert reading.of(7, elements=2) == [{0: 1.0}, {0: 2.0, 1: 0.5}]
    assert reading.of(8, elements=1) == [{0: 7e-9}]
    assert (reading.spark_batch, reading.spark_ms_by_phase) == (12, {"addBatch": 30.0, "walCommit": 4.0})
    assert listened_s == pytest.approx(0.0015)


def test_what_spark_has_not_told_yet_is_left_out() -> None:
    assert reading_of("0;;")[0] == JvmReading()
    assert reading_of("0;3;{};5:0=7 ")[0].of(5, elements=2) == reading_of("0;3;{}")[0].of(5, elements=2) == []


def test_a_call_costs_its_time_or_on_a_busy_machine_what_the_jvm_used() -> None:
    assert jvm_figures._cost_s(0.002, 1.0, 1.5) == 0.002
    assert jvm_figures._cost_s(0.5, 1.0, 1.06) == pytest.approx(0.06)
    assert jvm_figures._cost_s(0.5, None, None) == 0.5
    assert jvm_figures._cost_s(-0.1, 1.0, 1.5) == 0.0


def session(master: str, pid: int) -> Any:
    gateway = SimpleNamespace(proc=SimpleNamespace(pid=pid))
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, _gateway=gateway))


@pytest.mark.skipif(sys.platform != "linux", reason="a clock of Linux")
def test_the_clock_reads_the_cpu_of_a_process_on_a_local_master_only() -> None:
    before_s = time.process_time()
    own_s = JvmClock(session("local[2]", os.getpid()))()
    assert own_s is not None
    assert before_s <= own_s <= time.process_time()
    assert JvmClock(session("spark://host:7077", os.getpid()))() is None
    assert JvmClock(session("local[2]", 2**22 + 1))() is None  # no such process
