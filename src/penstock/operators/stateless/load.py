"""Load: work of a known size, for benchmarks."""

from __future__ import annotations

import time
from collections.abc import Sequence

from penstock.app.operators import Load
from penstock.block.block import Block
from penstock.block.emission import emitted
from penstock.block.position import Frontier
from penstock.kernels.flops import burn
from penstock.operators.protocol import Stateless

LONGEST_BLOCK_S = 0.01
_MOST_ROWS = 8192
_TRIAL_FLOP = 2_000_000


class LoadRuntime(Stateless):
    """Computes without the GIL, and waits as a call of a service would."""

    def __init__(self, operator: Load) -> None:
        self.operator = operator
        self.sum = 0.0  # what was computed, so that it has to be

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block, operator = inputs[0], self.operator
        if operator.flop_per_tuple:
            self.sum += burn(block.rows, operator.flop_per_tuple)
        wait_ms = operator.wait_ms_per_block + operator.wait_ms_per_tuple * block.rows
        if wait_ms:
            time.sleep(wait_ms / 1000)
        return (emitted(block, block.schema, block.columns, None),)


def flop_s() -> float:
    """Floating-point operations per second of one core, measured now; the best of three, as others may be at work."""
    burn(1, 2)
    taken_s = []
    for _ in range(3):
        begin_s = time.perf_counter()
        burn(1, _TRIAL_FLOP)
        taken_s.append(time.perf_counter() - begin_s)
    return _TRIAL_FLOP / min(taken_s)


def rows_within(flop_per_tuple: int, rate_flop_s: float, longest_s: float = LONGEST_BLOCK_S) -> int:
    """Tuples of a block that takes so long at most; one at least.

    >>> rows_within(1_000_000, 1e9), rows_within(1, 1e9)
    (10, 8192)
    """
    return max(1, min(_MOST_ROWS, int(longest_s * rate_flop_s / max(flop_per_tuple, 1))))
