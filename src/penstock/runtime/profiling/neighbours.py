"""What neighbours on the same host add to the CPU of an application (MODEL, Figures 21 and 25)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.model.costs.learning.node_performance import learned_contention
from penstock.model.costs.learning.samples import Sample

NEIGHBOURS = 1
_LOOP = "import numpy\nown = numpy.zeros(10_000_000, numpy.uint8)\nwhile True:\n    own += 1\n"


@contextmanager
def neighbours(number: int = NEIGHBOURS) -> Iterator[None]:
    """So many processes, each of which writes 10 MB of memory again and again."""
    started = [subprocess.Popen([sys.executable, "-c", _LOOP]) for _ in range(number)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measured_contention(visit: Callable[[int], Sample], rounds: int) -> float:
    """The factor of one busy core, from visits alone and next to a neighbour in turns; `visit` takes its number."""
    alone, with_one = list[Sample](), list[Sample]()
    for number in range(rounds):
        alone.append(visit(2 * number))
        with neighbours():
            with_one.append(visit(2 * number + 1))
    return learned_contention(alone, with_one, NEIGHBOURS)
