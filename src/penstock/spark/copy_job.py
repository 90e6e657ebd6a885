"""A portion of a copy as a Spark job: one task on each host that slots go to."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from pyspark.sql import SparkSession

from penstock.element.state.extents import Integers
from penstock.spark.copies import Portion
from penstock.spark.element_worker import element_worker
from penstock.spark.host_job import on_each_host


def run_copy(
    session: SparkSession, directory: str, epoch: int, unfused: tuple[str, ...], portion: Portion
) -> dict[str, Integers]:
    """Runs a portion and gives, by host, the slots that have arrived."""
    slots = [own.tolist() for own in portion.slots_by_host.values()]
    function = functools.partial(_copied, directory, epoch, unfused, portion.element.number, portion.batch, slots)
    done = on_each_host(session, list(portion.slots_by_host), function)
    return {host: np.frombuffer(own, np.int64) for host, own in done.items()}


def _copied(
    directory: str,
    epoch: int,
    unfused: tuple[str, ...],
    number: int,
    batch: int,
    slots: Sequence[Sequence[int]],
    host: int,
) -> bytes:
    """Copies on a host; gives the slots that are there now."""
    worker = element_worker(directory, unfused, number, freezes=True)
    return worker.copy(np.array(slots[host], np.int64), batch, epoch).astype(np.int64).tobytes()
